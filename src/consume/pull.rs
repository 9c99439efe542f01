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
    /// What has arrived and is in no batch yet.
    next: Option<Delivery>,
}

impl Deliveries {
    /// Waits until something has arrived. False when reading has ended and nothing is left.
    pub async fn arrived(&mut self) -> bool {
        if self.next.is_none() {
            self.next = self.receiver.recv().await;
        }
        self.next.is_some()
    }

    /// What has arrived, up to the limits.
    pub fn take(&mut self) -> Vec<Delivery> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(delivery) = self.next.take().or_else(|| self.receiver.try_recv().ok()) {
            bytes += delivery.bytes;
            let full = batch.len() >= self.limits.messages || bytes > self.limits.bytes;
            if full && !batch.is_empty() {
                self.next = Some(delivery);
                break;
            }
            batch.push(delivery);
        }
        batch
    }

    /// Everything that has arrived and is in no batch, for giving it back.
    pub fn take_all(&mut self) -> Vec<Delivery> {
        let mut all: Vec<Delivery> = self.next.take().into_iter().collect();
        while let Ok(delivery) = self.receiver.try_recv() {
            all.push(delivery);
        }
        all
    }

    /// Waits until something has arrived, and takes it. None when reading has ended and nothing is left.
    pub async fn next_batch(&mut self) -> Option<Vec<Delivery>> {
        self.arrived().await.then(|| self.take())
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
        // Counted from before the pull: what went elsewhere meanwhile is a gap too, also right at the beginning.
        last_delivery: (gaps == Gaps::EndReading).then_some(consumer.cached_info().delivered.consumer_sequence),
        sender,
    };
    tokio::spawn(reader.read(messages, stop.clone()));
    Ok((Deliveries { receiver, limits: desk.limits, next: None }, consumer))
}

struct Reader {
    consumer: Arc<str>,
    family: Arc<str>,
    topology: Arc<crate::topology::Topology>,
    /// The place of the last delivery, where each must follow the one before.
    last_delivery: Option<u64>,
    sender: mpsc::Sender<Delivery>,
}

impl Reader {
    async fn read(mut self, mut messages: async_nats::jetstream::consumer::pull::Stream, stop: CancellationToken) {
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
            if let Some(last) = &mut self.last_delivery {
                if *last + 1 != place {
                    tracing::warn!(consumer = %self.consumer, delivery = place, "a delivery was lost; reading starts over");
                    return count_rebuilt();
                }
                *last = place;
            }
            if self.sender.send(delivery).await.is_err() {
                return;
            }
        }
    }

    /// The delivery, and its place among the consumer's deliveries. None for what is no stream message at all.
    fn understand(&self, message: async_nats::jetstream::Message) -> Option<(Delivery, u64)> {
        let (sequence, place, received_at) = match message.info() {
            Ok(info) => (info.stream_sequence, info.consumer_sequence, info.published.truncate_to_microsecond()),
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
