//! A consumer whose messages are decided in stream order, one copy at a time: a count and a receipt do not commute.
//!
//! The copy that holds the turn pulls. What a copy before it had in its hands comes again only when the broker has waited for it long enough,
//! and newer messages would come first. So a copy that begins gathers until it has all of that, puts it in order, and only then goes on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::PullConsumer;
use tokio_util::sync::CancellationToken;

use super::acknowledge::{acknowledge, give_back, keep, reply, split};
use super::pull::{Deliveries, Delivery, Gaps, open};
use super::shared::measure;
use super::{Desk, REOPEN_AFTER};
use crate::config::Database;
use crate::engine::Turn;
use crate::store::turn::{Session, TurnOf};
use crate::topology::ConsumerFile;

/// Takes the turn, pulls and decides in order until `stop`.
pub async fn run(desk: Desk, file: ConsumerFile, database: Database, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match hold_turn(&desk, &file, &database, &stop).await {
            Ok(()) => {}
            Err(error) => {
                tracing::warn!(consumer = %file.durable, error = format!("{error:#}"), "the turn was given up");
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(REOPEN_AFTER) => {}
        }
    }
}

/// One turn: ends when reading has to start over, and fails when the session is lost.
async fn hold_turn(
    desk: &Desk,
    file: &ConsumerFile,
    database: &Database,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let mut session = Session::open(database).await?;
    while !session.take(TurnOf::Inventory).await? {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(REOPEN_AFTER) => {}
        }
    }
    loop {
        let reading = stop.child_token();
        let opened = session.during(open(desk, file, Gaps::EndReading, &reading)).await?;
        let opened = opened.map_err(|error| anyhow::anyhow!(error))?;
        let ended = work(desk, file, &mut session, opened, stop).await;
        reading.cancel();
        ended?;
        if stop.is_cancelled() {
            return Ok(());
        }
        tokio::time::sleep(REOPEN_AFTER).await;
    }
}

async fn work(
    desk: &Desk,
    file: &ConsumerFile,
    session: &mut Session,
    (mut deliveries, consumer): (Deliveries, PullConsumer),
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let ended = decide_all(desk, file, session, &mut deliveries, consumer, stop).await;
    // What is not decided goes to whoever has the turn next, and at once.
    give_back(&split(deliveries.take_all()).1).await;
    ended
}

async fn decide_all(
    desk: &Desk,
    file: &ConsumerFile,
    session: &mut Session,
    deliveries: &mut Deliveries,
    consumer: PullConsumer,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let gathered = session.during(gather_in_flight(deliveries, consumer, file, stop)).await??;
    for batch in in_batches(gathered, desk.limits.messages) {
        decide(desk, file, session, batch, stop).await?;
    }
    while let Some(batch) = session.during(deliveries.next_batch()).await? {
        decide(desk, file, session, batch, stop).await?;
    }
    Ok(())
}

/// Waits until everything that somebody had in his hands has come again, and puts it in order with what came besides.
async fn gather_in_flight(
    deliveries: &mut Deliveries,
    mut consumer: PullConsumer,
    file: &ConsumerFile,
    stop: &CancellationToken,
) -> anyhow::Result<Vec<Delivery>> {
    // Asked before the pull, so that nothing of what it counts is ours: `open` got this information before it began to read.
    let before = consumer.cached_info().clone();
    let last = before.delivered.stream_sequence;
    let mut gathered: BTreeMap<u64, Delivery> = BTreeMap::new();
    let mut missing = before.num_ack_pending;
    // What its holder acknowledged late never comes: now and then the broker is asked how much is still out. However long that takes, nothing
    // newer may be decided before.
    let patience = file.config.ack_wait + file.config.ack_wait / 4;
    let mut until = tokio::time::Instant::now() + patience;
    while missing > 0 && !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep_until(until) => {
                missing = consumer.info().await?.num_ack_pending.saturating_sub(gathered.len());
                until = tokio::time::Instant::now() + patience;
            }
            batch = deliveries.next_batch() => {
                for delivery in batch.ok_or_else(|| anyhow::anyhow!("reading ended before all was gathered"))? {
                    if delivery.sequence <= last && !gathered.contains_key(&delivery.sequence) {
                        missing = missing.saturating_sub(1);
                        until = tokio::time::Instant::now() + patience;
                    }
                    gathered.insert(delivery.sequence, delivery);
                }
            }
        }
    }
    Ok(gathered.into_values().collect())
}

fn in_batches(mut deliveries: Vec<Delivery>, size: usize) -> Vec<Vec<Delivery>> {
    let mut batches = Vec::new();
    while deliveries.len() > size {
        let rest = deliveries.split_off(size);
        batches.push(std::mem::replace(&mut deliveries, rest));
    }
    batches.push(deliveries);
    batches.retain(|batch| !batch.is_empty());
    batches
}

async fn decide(
    desk: &Desk,
    file: &ConsumerFile,
    session: &mut Session,
    batch: Vec<Delivery>,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let (items, ackers) = split(batch);
    if stop.is_cancelled() {
        give_back(&ackers).await;
        return Ok(());
    }
    let mut turn = Turn::Held(session.connection());
    let settled = tokio::select! {
        settled = desk.engine.settle(&mut turn, items, stop) => settled,
        () = keep(&ackers, file.config.ack_wait.max(Duration::from_millis(30))) => return Ok(()),
    };
    let settled = match settled {
        Ok(settled) => settled,
        Err(lost) => {
            give_back(&ackers).await;
            return Err(lost.into());
        }
    };
    measure(file, ackers.len(), begun);
    if settled.told {
        desk.outbox.notify_waiters();
    }
    let answering = async {
        reply(&desk.jetstream.client(), settled.replies).await;
        acknowledge(ackers, settled.verdicts).await;
    };
    Ok(session.during(answering).await?)
}
