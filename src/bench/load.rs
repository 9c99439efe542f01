//! Orders published, answers read.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use async_nats::jetstream;
use async_nats::jetstream::context::PublishAckFuture;
use futures::StreamExt;
use hdrhistogram::Histogram;
use serde::Deserialize;
use sqlx::PgPool;
use uuid::Uuid;

use super::tap::Tap;

/// How many publications may be unacknowledged at once.
const WINDOW: usize = 4_000;
/// How long answers may take to come.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

/// Orders for a number of SKUs, as fast as they go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rush {
    pub name: &'static str,
    pub skus: usize,
    pub units_each: u64,
}

/// Orders at an even pace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub per_second: usize,
    pub seconds: u64,
}

/// Latencies from publication to answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Latency {
    pub per_second: usize,
    pub orders: u64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

/// The producers' and the readers' side.
pub(super) struct Load {
    pub(super) js: jetstream::Context,
    client: async_nats::Client,
    pub(super) nats: String,
    db: PgPool,
}

#[derive(Deserialize)]
struct Answer<'a> {
    in_reply_to: Option<&'a str>,
}

impl Load {
    pub async fn connect(nats: &str, database: &str) -> anyhow::Result<Self> {
        let client = async_nats::ConnectOptions::new().subscription_capacity(1_000_000).connect(nats).await?;
        let js = jetstream::ContextBuilder::new().max_ack_inflight(2 * WINDOW).build(client.clone());
        Ok(Self { js, client, nats: nats.to_owned(), db: PgPool::connect_lazy(database)? })
    }

    /// Orders per second, from the first publication to the last answer.
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52 orders")]
    pub async fn rush(&self, rush: Rush, orders: usize) -> anyhow::Result<f64> {
        let prefix = Uuid::new_v4().simple().to_string();
        let skus: Vec<String> = (0..rush.skus).map(|n| format!("{prefix}-{n}")).collect();
        self.stock(&skus, rush.units_each).await?;
        let messages: Vec<String> = (0..orders).map(|n| order(&Uuid::new_v4(), &skus[n % skus.len()])).collect();

        let mut answers = Tap::open(&self.nats, "reservation.>").await?;
        let begun = Instant::now();
        let reading = async {
            for _ in 0..orders {
                answers.next().await?;
            }
            anyhow::Ok(begun.elapsed())
        };
        let reading = async { tokio::time::timeout(PATIENCE, reading).await.context("some orders were not answered")? };
        let (published, read) = tokio::join!(self.publish(messages), reading);
        published?;
        Ok(orders as f64 / read?.as_secs_f64())
    }

    /// Publishes as fast as the broker acknowledges.
    async fn publish(&self, messages: Vec<String>) -> anyhow::Result<()> {
        let mut producer = Producer::new(&self.js);
        for message in messages {
            producer.publish(message).await?;
        }
        producer.finish().await
    }

    /// Puts units on shelves by stock-takes and waits until they are there.
    pub(super) async fn stock(&self, skus: &[String], units: u64) -> anyhow::Result<()> {
        for chunk in skus.chunks(500) {
            let lines: Vec<_> = chunk.iter().map(|sku| serde_json::json!({ "sku": sku, "on_hand": units })).collect();
            let body = serde_json::json!({ "event_id": Uuid::new_v4().to_string(), "lines": lines });
            self.js.publish("inventory.counted.main", body.to_string().into()).await?.await?;
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let there: i64 = sqlx::query_scalar("SELECT count(*) FROM stock WHERE sku = ANY ($1)")
                .bind(skus)
                .fetch_one(&self.db)
                .await?;
            if usize::try_from(there)? == skus.len() {
                return Ok(());
            }
            if Instant::now() > until {
                bail!("the stock-take was not decided in time");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Latency of orders that come at an even pace, over 100 SKUs.
    pub async fn pace(&self, pace: Pace) -> anyhow::Result<Latency> {
        let prefix = Uuid::new_v4().simple().to_string();
        let skus: Vec<String> = (0..100).map(|n| format!("{prefix}-{n}")).collect();
        self.stock(&skus, 1_000_000).await?;
        let orders = pace.per_second * usize::try_from(pace.seconds)?;
        let published: Arc<Mutex<HashMap<String, Instant>>> = Arc::default();
        let mut answers = self.client.subscribe("reservation.>").await?;
        let known = published.clone();
        let reading = async {
            let mut histogram = Histogram::<u64>::new(3)?;
            while histogram.len() < orders as u64 {
                let next = tokio::time::timeout(PATIENCE, answers.next()).await;
                let Ok(Some(answer)) = next else { bail!("some orders were not answered") };
                let answer: Answer<'_> = serde_json::from_slice(&answer.payload)?;
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(at) = answer.in_reply_to.and_then(|event| known.remove(event)) {
                    histogram.record(u64::try_from(at.elapsed().as_micros())?)?;
                }
            }
            anyhow::Ok(histogram)
        };
        let publishing = async {
            let mut ticks = tokio::time::interval(Duration::from_micros(1_000_000 / pace.per_second as u64));
            let mut producer = Producer::new(&self.js);
            for n in 0..orders {
                ticks.tick().await;
                let event = Uuid::new_v4();
                let body = order(&event, &skus[n % skus.len()]);
                published.lock().unwrap_or_else(PoisonError::into_inner).insert(event.to_string(), Instant::now());
                producer.publish(body).await?;
            }
            producer.finish().await
        };
        let (histogram, sent) = tokio::join!(reading, publishing);
        sent?;
        Ok(Latency::of(pace.per_second, &histogram?))
    }
}

/// A producer that leaves a bounded number of its messages unacknowledged.
pub(super) struct Producer<'a> {
    js: &'a jetstream::Context,
    waiting: VecDeque<PublishAckFuture>,
}

impl<'a> Producer<'a> {
    pub(super) fn new(js: &'a jetstream::Context) -> Self {
        Self { js, waiting: VecDeque::with_capacity(WINDOW) }
    }

    async fn publish(&mut self, order: String) -> anyhow::Result<()> {
        self.publish_to("order.created.web", order).await
    }

    pub(super) async fn publish_to(&mut self, subject: &'static str, message: String) -> anyhow::Result<()> {
        if self.waiting.len() >= WINDOW
            && let Some(oldest) = self.waiting.pop_front()
        {
            oldest.await?;
        }
        self.waiting.push_back(self.js.publish(subject, message.into()).await?);
        Ok(())
    }

    pub(super) async fn finish(self) -> anyhow::Result<()> {
        for ack in self.waiting {
            ack.await?;
        }
        Ok(())
    }
}

impl Latency {
    #[allow(clippy::cast_precision_loss, reason = "microseconds far below 2^52")]
    fn of(per_second: usize, histogram: &Histogram<u64>) -> Self {
        let milliseconds = |microseconds: u64| microseconds as f64 / 1_000.0;
        Self {
            per_second,
            orders: histogram.len(),
            p50_ms: milliseconds(histogram.value_at_quantile(0.5)),
            p99_ms: milliseconds(histogram.value_at_quantile(0.99)),
            max_ms: milliseconds(histogram.max()),
        }
    }
}

fn order(event: &Uuid, sku: &str) -> String {
    let order = Uuid::new_v4().simple();
    format!(r#"{{"event_id":"{event}","order_ref":"{order}","lines":[{{"sku":"{sku}","qty":1}}]}}"#)
}
