//! A consumer that all copies share: each decides what it pulled, side by side with the others.
//!
//! Two batches are under way at once: while one writes, the next takes its locks. They pass a turnstile in stream order, so that the outcome is
//! that of one after the other.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::acknowledge::{acknowledge, give_back, keep, reply, split};
use super::pull::{Deliveries, Delivery, Gaps, open};
use super::{Desk, REOPEN_AFTER};
use crate::engine::{Pass, Turn, Turnstile};
use crate::ops::metrics as names;
use crate::store::Pool;
use crate::topology::ConsumerFile;

/// How many batches are under way at once.
const UNDER_WAY: usize = 2;

/// Pulls and decides until `stop`; then finishes what it has begun, gives the rest back, and returns when the broker has been told.
pub async fn run(desk: Desk, file: ConsumerFile, pool: Pool, stop: CancellationToken) {
    let counter = Arc::new(Counter { desk, file, pool, turnstile: Turnstile::default(), stop });
    let under_way = TaskTracker::new();
    while !counter.stop.is_cancelled() {
        match open(&counter.desk, &counter.file, Gaps::Expected, &counter.stop).await {
            Ok((deliveries, _)) => counter.serve(deliveries, &under_way).await,
            Err(error) => {
                tracing::warn!(consumer = %counter.file.durable, error = %error, "the consumer cannot be opened yet");
            }
        }
        tokio::select! {
            () = counter.stop.cancelled() => {}
            () = tokio::time::sleep(REOPEN_AFTER) => {}
        }
    }
    under_way.close();
    under_way.wait().await;
}

/// Where batches are decided.
struct Counter {
    desk: Desk,
    file: ConsumerFile,
    pool: Pool,
    turnstile: Turnstile,
    stop: CancellationToken,
}

impl Counter {
    async fn serve(self: &Arc<Self>, mut deliveries: Deliveries, under_way: &TaskTracker) {
        let places = Arc::new(Semaphore::new(UNDER_WAY));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            if !deliveries.arrived().await {
                return;
            }
            // A batch gathers until the moment when it can begin.
            let pass = self.turnstile.enter().await;
            let batch = deliveries.take();
            if self.stop.is_cancelled() {
                give_back(&split(batch).1).await;
                continue;
            }
            let counter = self.clone();
            under_way.spawn(async move {
                counter.decide(batch, pass).await;
                drop(place);
            });
        }
    }

    async fn decide(&self, batch: Vec<Delivery>, pass: Pass) {
        let begun = Instant::now();
        let (items, ackers) = split(batch);
        let mut turn = Turn::Shared { pool: &self.pool, turnstile: &self.turnstile, pass: Some(pass) };
        let settled = tokio::select! {
            settled = self.desk.engine.settle(&mut turn, items, &self.stop) => settled,
            () = keep(&ackers, self.file.config.ack_wait) => return,
        };
        measure(&self.file, ackers.len(), begun);
        // A shared turn cannot be lost.
        let Ok(settled) = settled else { return };
        if settled.told {
            self.desk.outbox.notify_waiters();
        }
        reply(&self.desk.jetstream.client(), settled.replies).await;
        acknowledge(ackers, settled.verdicts).await;
    }
}

/// Records a batch.
#[allow(clippy::cast_precision_loss, reason = "a batch is far below 2^52 messages")]
pub(super) fn measure(file: &ConsumerFile, messages: usize, begun: Instant) {
    metrics::histogram!(names::BATCH_MESSAGES, "stream" => file.family.clone()).record(messages as f64);
    metrics::histogram!(names::BATCH_SECONDS).record(begun.elapsed().as_secs_f64());
}
