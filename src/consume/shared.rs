//! A consumer that all copies share: each decides what it pulled, side by side with the others.

use std::time::Instant;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::acknowledge::{acknowledge, give_back, keep, reply, split};
use super::pull::{Deliveries, Delivery, Gaps, open};
use super::unreadable::lay_to_rest;
use super::{Desk, REOPEN_AFTER};
use crate::engine::Turn;
use crate::ops::metrics as names;
use crate::store::Pool;
use crate::topology::ConsumerFile;

/// Pulls and decides until `stop`; then finishes what it has begun, gives the rest back, and returns when the broker has been told.
pub async fn run(desk: Desk, file: ConsumerFile, pool: Pool, stop: CancellationToken) {
    let acknowledgements = TaskTracker::new();
    while !stop.is_cancelled() {
        let opened = async {
            lay_to_rest(&desk, &file, &mut Turn::Shared(&pool), &stop).await?;
            open(&desk, &file, Gaps::Expected, &stop).await.map_err(|error| anyhow::anyhow!(error))
        };
        match opened.await {
            Ok((deliveries, _)) => work(&desk, &file, &pool, deliveries, &acknowledgements, &stop).await,
            Err(error) => tracing::warn!(consumer = %file.durable, error = %error, "the consumer cannot be opened yet"),
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(REOPEN_AFTER) => {}
        }
    }
    acknowledgements.close();
    acknowledgements.wait().await;
}

async fn work(
    desk: &Desk,
    file: &ConsumerFile,
    pool: &Pool,
    mut deliveries: Deliveries,
    acknowledgements: &TaskTracker,
    stop: &CancellationToken,
) {
    while let Some(batch) = deliveries.next_batch().await {
        if stop.is_cancelled() {
            give_back(&split(batch).1).await;
            continue;
        }
        decide(desk, file, pool, batch, acknowledgements, stop).await;
    }
}

async fn decide(
    desk: &Desk,
    file: &ConsumerFile,
    pool: &Pool,
    batch: Vec<Delivery>,
    acknowledgements: &TaskTracker,
    stop: &CancellationToken,
) {
    let begun = Instant::now();
    let (items, ackers) = split(batch);
    let mut turn = Turn::Shared(pool);
    let settled = tokio::select! {
        settled = desk.engine.settle(&mut turn, items, stop) => settled,
        () = keep(&ackers, file.config.ack_wait) => return,
    };
    measure(file, ackers.len(), begun);
    // A shared turn cannot be lost.
    let Ok(settled) = settled else { return };
    if settled.told {
        desk.outbox.notify_waiters();
    }
    let client = desk.jetstream.client();
    acknowledgements.spawn(async move {
        reply(&client, settled.replies).await;
        acknowledge(ackers, settled.verdicts).await;
    });
}

/// Records a batch.
#[allow(clippy::cast_precision_loss, reason = "a batch is far below 2^52 messages")]
pub(super) fn measure(file: &ConsumerFile, messages: usize, begun: Instant) {
    metrics::histogram!(names::BATCH_MESSAGES, "stream" => file.family.clone()).record(messages as f64);
    metrics::histogram!(names::BATCH_SECONDS).record(begun.elapsed().as_secs_f64());
}
