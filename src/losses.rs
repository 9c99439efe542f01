//! What the broker has lost: streams and consumers as they are, beside what is remembered of them.
//!
//! The memory is in the database, so that a loss is also noticed that happened while nobody ran. An outbound stream whose tail was lost
//! and which has grown past it before anybody looked is found by the relay, which knows each place that it was acknowledged.

use async_nats::jetstream::Context;
use sqlx::PgConnection;

use crate::store::broker::{self, Known, Loss, LossKind, Remembered};
use crate::topology::Topology;

/// How far apart the instants may be that are told of one consumer: after its first restart nats-server 2.9 tells when it had written
/// it down, and not any more when it had made it.
const SAME: time::Duration = time::Duration::SECOND;

/// Compares what is there with what is remembered, notes what was lost, and returns all losses that nobody has made good. What is not there at
/// all is noticed when it has been made again.
///
/// # Errors
/// The broker's or the database's own.
pub async fn look(
    connection: &mut PgConnection,
    topology: &Topology,
    jetstream: &Context,
) -> anyhow::Result<Vec<Loss>> {
    // Remembered first, seen then: what is acknowledged in between is no loss.
    let remembered = broker::remembered(connection).await?;
    let mut seen = topology.census(jetstream).await?;
    for seen in &mut seen {
        let Some(before) = remembered.iter().find(|before| before.name == seen.name) else { continue };
        let (kind, detail) = if is_another(before, seen) {
            (LossKind::MadeAnew, made_anew(topology, &before.name))
        } else {
            seen.made_at = before.made_at;
            if seen.last_seq >= before.last_seq {
                continue;
            }
            (LossKind::TailLost, tail_lost(seen.last_seq, before.last_seq))
        };
        let now = (Some(seen.made_at), seen.last_seq);
        broker::lost(connection, (&before.name, before.epoch), now, kind, &detail).await?;
    }
    broker::meet_many(connection, &seen).await?;
    Ok(broker::losses(connection).await?)
}

/// Whether what is seen was made after what is remembered. A stream that has messages from before it was made was not: nats-server 2.9 forgets
/// when it made a stream that is changed after a restart, and tells the instant of that restart from the next one on.
fn is_another(before: &Remembered, seen: &Known) -> bool {
    let apart = before.made_at - seen.made_at;
    if is_consumer(&seen.name) {
        return apart.abs() > SAME;
    }
    !apart.is_zero() && seen.oldest_at.is_none_or(|oldest| oldest >= seen.made_at)
}

fn is_consumer(name: &str) -> bool {
    name.contains('/')
}

fn made_anew(topology: &Topology, name: &str) -> String {
    if topology.is_told(name) {
        "it was made anew, and what had been told in it is gone: `lastunit replay --since T` tells it again".to_owned()
    } else if is_consumer(name) {
        format!("it was made anew, and everything is delivered again, once: then {ACKNOWLEDGE}")
    } else {
        format!(
            "it was made anew, and what was not yet taken from it is gone: whoever published it must do so again; then {ACKNOWLEDGE}"
        )
    }
}

const ACKNOWLEDGE: &str = "`lastunit streams acknowledge`";

/// The sentence about a stream that ends at `last_seq` where it is known to have ended at `before`.
pub(crate) fn tail_lost(last_seq: i64, before: i64) -> String {
    format!(
        "what came after its message {last_seq} is gone, up to {before}: `lastunit replay --since T` tells again what lastunit told, other \
         publishers must publish again; {ACKNOWLEDGE} ends this without"
    )
}
