//! What the broker is told of deliveries.

use std::time::Duration;

use async_nats::jetstream::AckKind;
use async_nats::jetstream::message::Acker;
use tokio::time::MissedTickBehavior;

use super::pull::Delivery;
use crate::engine::{Item, Reply, Verdict};

/// Splits deliveries into what is decided and how to acknowledge it.
pub(super) fn split(deliveries: Vec<Delivery>) -> (Vec<Item>, Vec<Acker>) {
    deliveries.into_iter().map(|delivery| (delivery.item, delivery.acker)).unzip()
}

/// Tells the broker what became of each message. A failure is not repeated: the message comes again and is recognised.
pub(super) async fn acknowledge(ackers: Vec<Acker>, verdicts: Vec<Verdict>) {
    let mut failed = None;
    for (acker, verdict) in ackers.iter().zip(verdicts) {
        let told = match verdict {
            Verdict::Ack => acker.ack().await,
            Verdict::Term => acker.ack_with(AckKind::Term).await,
            Verdict::Nak(delay) => acker.ack_with(AckKind::Nak(Some(delay))).await,
        };
        failed = told.err().or(failed);
    }
    if let Some(error) = failed {
        tracing::warn!(error = %error, "some acknowledgements were not sent; those messages come again and are recognised");
    }
}

/// Gives deliveries back at once.
pub(super) async fn give_back(ackers: &[Acker]) {
    for acker in ackers {
        if acker.ack_with(AckKind::Nak(None)).await.is_err() {
            return;
        }
    }
}

/// Sends direct replies. They are a courtesy: whoever misses one has the event.
pub(super) async fn reply(client: &async_nats::Client, replies: Vec<Reply>) {
    for reply in replies {
        if let Err(error) = client.publish(reply.to, reply.body).await {
            tracing::warn!(error = %error, "a direct reply was not sent");
        }
    }
}

/// Keeps deliveries ours while they are worked on: tells the broker so several times in each `ack_wait`. Never ends.
pub(super) async fn keep(ackers: &[Acker], ack_wait: Duration) {
    let mut ticks = tokio::time::interval(ack_wait / 3);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        for acker in ackers {
            if acker.ack_with(AckKind::Progress).await.is_err() {
                break;
            }
        }
    }
}
