//! Reads `STOCK`, and queues what channels should show by it. Copies share the consumer; what comes twice, late or out of order is older than what is
//! queued, and changes nothing.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::{self, Message};
use futures::StreamExt as _;
use serde::Deserialize;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::queue::queue;
use crate::domain::{Qty, Sku, StockKey, Warehouse};
use crate::store::points::{Figures, Publishing};
use crate::store::{Fault, Pool};
use crate::topology::ConsumerFile;

/// Messages that are queued together, of those that have arrived.
const BATCH: usize = 2_000;
/// How long one pull request stands at the broker.
const EXPIRES: Duration = Duration::from_secs(20);
/// How often the broker says that it is there while it has nothing to deliver.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// How long to wait before what failed is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// What listens.
#[derive(Debug, Clone)]
pub struct Ear {
    /// The broker.
    pub jetstream: jetstream::Context,
    /// The durable consumer of `STOCK`.
    pub consumer: ConsumerFile,
    /// The database.
    pub pool: Pool,
    /// The channels that are told stock.
    pub publishing: Arc<[Publishing]>,
    /// Rung when something was queued.
    pub queued: Arc<Notify>,
}

/// Listens until `stop`.
pub async fn run(ear: Ear, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = ear.listen(&stop).await {
            tracing::warn!(consumer = %ear.consumer.durable, error = %error, "the consumer has to be opened again");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

impl Ear {
    async fn listen(&self, stop: &CancellationToken) -> Result<(), async_nats::Error> {
        let (durable, stream) = (self.consumer.durable.as_str(), self.consumer.stream.as_str());
        let consumer: PullConsumer = self.jetstream.get_consumer_from_stream(durable, stream).await?;
        let requests = consumer.stream().max_messages_per_batch(2 * BATCH).expires(EXPIRES).heartbeat(HEARTBEAT);
        let mut arrived = requests.messages().await?.ready_chunks(BATCH);
        loop {
            let chunk = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                chunk = arrived.next() => chunk,
            };
            let Some(chunk) = chunk else { return Ok(()) };
            let mut messages = Vec::with_capacity(chunk.len());
            let mut ended = None;
            for message in chunk {
                match message {
                    Ok(message) => messages.push(message),
                    Err(error) => ended = Some(error),
                }
            }
            if !self.take(&messages, stop).await {
                return Ok(());
            }
            for message in &messages {
                message.ack().await?;
            }
            if let Some(error) = ended {
                return Err(error.into());
            }
        }
    }

    /// Queues what messages tell, as often as it takes. False when it was asked to stop first.
    async fn take(&self, messages: &[Message], stop: &CancellationToken) -> bool {
        let figures: Vec<Figures> = messages.iter().filter_map(|message| figures(&message.payload)).collect();
        while !figures.is_empty() {
            let queued = async { queue(&mut *self.pool.acquire().await?, &figures, &self.publishing).await };
            match queued.await {
                Ok(0) => break,
                Ok(_) => {
                    self.queued.notify_waiters();
                    break;
                }
                Err(error) if error.fault() == Fault::Again => {}
                Err(error) => {
                    tracing::warn!(error = %error, "what channels should show was not queued; it is tried again");
                    tokio::select! {
                        () = stop.cancelled() => return false,
                        () = tokio::time::sleep(PAUSE) => {}
                    }
                }
            }
        }
        true
    }
}

#[derive(Deserialize)]
struct Changed {
    sku: String,
    warehouse: String,
    version: i64,
    available: Qty,
}

/// What a message tells; none where somebody else published it there.
fn figures(body: &[u8]) -> Option<Figures> {
    let Changed { sku, warehouse, version, available } = serde_json::from_slice(body).ok()?;
    let key = StockKey { sku: Sku::new(&sku).ok()?, warehouse: Warehouse::new(&warehouse).ok()? };
    Some(Figures { key, version, available })
}
