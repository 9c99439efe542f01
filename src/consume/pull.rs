//! Reads a durable consumer into a bounded channel, each message understood on the way.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::Acker;
use futures::StreamExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Desk, Limits};
use crate::engine::Item;
use crate::messages::Message;
use crate::ops::metrics as names;
use crate::topology::ConsumerFile;

/// How long one pull request stands at the broker.
const EXPIRES: Duration = Duration::from_secs(20);
/// How often the broker says that it is there while it has nothing to deliver; twice without, and the consumer is opened again.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// How many batches are read ahead of the one that is being decided.
const AHEAD: usize = 2;

/// A message in our hands: what it asks, and how to tell the broker what became of it.
pub(super) struct Delivery {
    pub item: Item,
    pub acker: Acker,
    pub sequence: u64,
    bytes: usize,
}

/// Whether deliveries must follow one another without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// Other copies pull from the same consumer.
    Expected,
    /// We alone pull: a gap is a delivery that was lost on the way and will come again, late.
    EndReading,
}

/// Deliveries, in batches.
pub(super) struct Deliveries {
    receiver: mpsc::Receiver<Delivery>,
    limits: Limits,
    /// What did not fit into the batch before.
    left: Option<Delivery>,
}

impl Deliveries {
    /// What has arrived, up to the limits; waits only for the first. None when reading has ended and nothing is left.
    pub async fn next_batch(&mut self) -> Option<Vec<Delivery>> {
        let mut arrived = Vec::new();
        match self.left.take() {
            Some(left) => arrived.push(left),
            None => arrived.push(self.receiver.recv().await?),
        }
        let mut bytes: usize = arrived.iter().map(|delivery| delivery.bytes).sum();
        while arrived.len() < self.limits.messages {
            let Ok(delivery) = self.receiver.try_recv() else { break };
            if bytes + delivery.bytes > self.limits.bytes {
                self.left = Some(delivery);
                break;
            }
            bytes += delivery.bytes;
            arrived.push(delivery);
        }
        Some(arrived)
    }
}

/// Opens the consumer and reads it until `stop`, or until it has to be opened again.
///
/// # Errors
/// A consumer that is not there, or a broker that does not answer.
pub(super) async fn open(
    desk: &Desk,
    file: &ConsumerFile,
    gaps: Gaps,
    stop: &CancellationToken,
) -> Result<(Deliveries, PullConsumer), async_nats::Error> {
    let consumer: PullConsumer =
        desk.jetstream.get_consumer_from_stream(file.durable.as_str(), file.stream.as_str()).await?;
    let messages = consumer
        .stream()
        .max_messages_per_batch(desk.limits.messages * AHEAD)
        .expires(EXPIRES)
        .heartbeat(HEARTBEAT)
        .messages()
        .await?;
    let (sender, receiver) = mpsc::channel(desk.limits.messages * AHEAD);
    let reader = Reader {
        consumer: file.durable.as_str().into(),
        family: file.family.as_str().into(),
        topology: desk.topology.clone(),
        gaps,
        sender,
    };
    tokio::spawn(reader.read(messages, stop.clone()));
    Ok((Deliveries { receiver, limits: desk.limits, left: None }, consumer))
}

struct Reader {
    consumer: Arc<str>,
    family: Arc<str>,
    topology: Arc<crate::topology::Topology>,
    gaps: Gaps,
    sender: mpsc::Sender<Delivery>,
}

impl Reader {
    async fn read(self, mut messages: async_nats::jetstream::consumer::pull::Stream, stop: CancellationToken) {
        let mut last_delivery: Option<u64> = None;
        loop {
            let next = tokio::select! {
                () = stop.cancelled() => return,
                next = messages.next() => next,
            };
            let message = match next {
                Some(Ok(message)) => message,
                Some(Err(error)) => {
                    tracing::warn!(consumer = %self.consumer, error = %error, "the consumer has to be opened again");
                    return count_rebuilt();
                }
                None => return count_rebuilt(),
            };
            let Some((delivery, place)) = self.understand(message) else { continue };
            if self.gaps == Gaps::EndReading && last_delivery.is_some_and(|last| last + 1 != place) {
                tracing::warn!(consumer = %self.consumer, delivery = place, "a delivery was lost; reading starts over");
                return count_rebuilt();
            }
            last_delivery = Some(place);
            if self.sender.send(delivery).await.is_err() {
                return;
            }
        }
    }

    /// The delivery, and its place among the consumer's deliveries. None for what is no stream message at all.
    fn understand(&self, message: async_nats::jetstream::Message) -> Option<(Delivery, u64)> {
        let (sequence, place, received_at) = match message.info() {
            Ok(info) => (info.stream_sequence, info.consumer_sequence, info.published),
            Err(error) => {
                tracing::error!(consumer = %self.consumer, error = %error, "a delivery without stream information");
                return None;
            }
        };
        let (message, acker) = message.split();
        let subject = self.topology.contracted(message.subject.as_str()).unwrap_or(message.subject.as_str());
        let bytes = message.payload.len();
        let item = Item::of_message(Message {
            stream: self.family.clone(),
            sequence: i64::try_from(sequence).unwrap_or(i64::MAX),
            received_at,
            consumer: self.consumer.clone(),
            subject: subject.into(),
            headers: message.headers,
            payload: message.payload,
        });
        Some((Delivery { item, acker, sequence, bytes }, place))
    }
}

fn count_rebuilt() {
    metrics::counter!(names::CONSUMER_REBUILT).increment(1);
}
