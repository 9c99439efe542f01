//! The world around the program: producers that publish, and a reader of everything that is told.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::{self, consumer};
use futures::StreamExt;
use serde_json::{Value, json};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::{Ground, wait_until};

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// Producers and readers of one test.
pub struct Shop {
    /// The broker.
    pub js: jetstream::Context,
    /// The database, to look at.
    pub db: PgPool,
}

/// A message that was told.
#[derive(Debug, Clone)]
pub struct Told {
    /// Its place in the stream.
    pub sequence: u64,
    /// Its subject.
    pub subject: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body as it is.
    pub raw: Vec<u8>,
    /// Its body; null where it is no JSON.
    pub body: Value,
}

impl Told {
    /// What it tells of an order: `held`, `rejected`, …
    pub fn what(&self) -> &str {
        self.subject.split('.').nth(1).unwrap_or_default()
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(async_nats::HeaderValue::as_str)
    }
}

/// A stock row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Figures {
    /// On the shelf.
    pub on_hand: i64,
    /// Promised.
    pub reserved: i64,
    /// How often told.
    pub version: i64,
}

/// A one-line order for one unit.
pub fn order(event_id: &str, order_ref: &str, sku: &str) -> Value {
    json!({ "event_id": event_id, "order_ref": order_ref, "lines": [{ "sku": sku, "qty": 1 }] })
}

impl Shop {
    /// Opens on the test's ground.
    pub async fn open(ground: &Ground) -> Self {
        let client = async_nats::connect(ground.nats.url()).await.unwrap();
        let db = PgPoolOptions::new().max_connections(4).connect_lazy(&ground.database_url).unwrap();
        Self { js: jetstream::new(client), db }
    }

    /// Publishes and waits until the broker has it.
    pub async fn say(&self, subject: &str, body: Value) {
        self.say_raw(subject, HeaderMap::new(), body.to_string().into_bytes()).await;
    }

    /// Publishes bytes with headers and waits until the broker has them.
    pub async fn say_raw(&self, subject: &str, headers: HeaderMap, body: Vec<u8>) {
        let ack = self.js.publish_with_headers(subject.to_owned(), headers, body.into()).await.unwrap();
        ack.await.unwrap();
    }

    /// Publishes many without waiting for one before the next.
    pub async fn say_many(&self, messages: impl IntoIterator<Item = (String, Value)>) {
        let mut acks = Vec::new();
        for (subject, body) in messages {
            acks.push(self.js.publish(subject, body.to_string().into()).await.unwrap());
        }
        for ack in acks {
            ack.await.unwrap();
        }
    }

    /// Puts units on a shelf by a stock-take, and waits until they are there.
    pub async fn count(&self, sku: &str, warehouse: &str, on_hand: i64) {
        let id = format!("count-{:016x}", fastrand::u64(..));
        self.say(
            &format!("inventory.counted.{warehouse}"),
            json!({ "event_id": id, "lines": [{ "sku": sku, "on_hand": on_hand }] }),
        )
        .await;
        wait_until(&format!("{on_hand} of {sku} in {warehouse}"), PATIENCE, async || {
            self.figures(sku, warehouse).await.is_some_and(|figures| figures.on_hand == on_hand)
        })
        .await;
    }

    /// The stock row, if there is one.
    pub async fn figures(&self, sku: &str, warehouse: &str) -> Option<Figures> {
        sqlx::query_as("SELECT on_hand, reserved, version FROM stock WHERE sku = $1 AND warehouse = $2")
            .bind(sku)
            .bind(warehouse)
            .fetch_optional(&self.db)
            .await
            .unwrap()
    }

    /// One value out of the database.
    pub async fn number(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&self.db).await.unwrap()
    }

    /// Everything a stream holds now.
    pub async fn stream(&self, name: &str) -> Vec<Told> {
        let stream = self.js.get_stream(name).await.unwrap();
        let config = pull::Config {
            deliver_policy: DeliverPolicy::All,
            ack_policy: AckPolicy::None,
            inactive_threshold: Duration::from_mins(1),
            ..Default::default()
        };
        let consumer: consumer::PullConsumer = stream.create_consumer(config).await.unwrap();
        let mut left = consumer.cached_info().num_pending;
        let mut told = Vec::new();
        while left > 0 {
            let mut batch = consumer.fetch().max_messages(10_000).messages().await.unwrap();
            let before = left;
            while let Some(message) = batch.next().await {
                let message = message.unwrap();
                told.push(Told {
                    sequence: message.info().unwrap().stream_sequence,
                    subject: message.subject.to_string(),
                    headers: message.headers.clone().unwrap_or_default(),
                    raw: message.payload.to_vec(),
                    body: serde_json::from_slice(&message.payload).unwrap_or(Value::Null),
                });
                left = left.saturating_sub(1);
            }
            if left == before {
                break;
            }
        }
        told
    }

    /// What was told of orders in answer to this event.
    pub async fn answers_to(&self, event_id: &str) -> Vec<Told> {
        let told = self.stream("RESERVATIONS").await;
        told.into_iter().filter(|told| told.body["in_reply_to"] == event_id).collect()
    }

    /// Waits for the answer to this event.
    pub async fn answer_to(&self, event_id: &str) -> Told {
        wait_until(&format!("an answer to {event_id}"), PATIENCE, async || !self.answers_to(event_id).await.is_empty())
            .await;
        self.answers_to(event_id).await.remove(0)
    }

    /// Waits until a stream holds at least as many messages, and returns them.
    pub async fn wait_for(&self, stream: &str, count: usize) -> Vec<Told> {
        wait_until(&format!("{count} messages in {stream}"), PATIENCE, async || {
            let mut stream = self.js.get_stream(stream).await.unwrap();
            stream.info().await.unwrap().state.messages >= count as u64
        })
        .await;
        self.stream(stream).await
    }

    /// Waits until the consumers have taken and acknowledged everything, the outbox is empty, and the latest figures have followed.
    pub async fn settled(&self) {
        wait_until("everything to be decided and told", PATIENCE, async || {
            self.acknowledged("ORDERS", "lastunit-orders").await
                && self.acknowledged("INVENTORY", "lastunit-inventory").await
                && self.number("SELECT count(*) FROM outbox WHERE sent_at IS NULL").await == 0
                && self.last_event_id("STOCK").await == self.last_event_id("STOCK_LATEST").await
        })
        .await;
    }

    /// The id of the last message of a stream, if it has any.
    async fn last_event_id(&self, stream: &str) -> Option<String> {
        let mut stream = self.js.get_stream(stream).await.unwrap();
        let last = stream.info().await.unwrap().state.last_sequence;
        let message = stream.get_raw_message(last).await.ok()?;
        message.headers.get("ce-id").map(ToString::to_string)
    }

    async fn acknowledged(&self, stream: &str, durable: &str) -> bool {
        let consumer: Result<consumer::PullConsumer, _> = self.js.get_consumer_from_stream(durable, stream).await;
        consumer.is_ok_and(|consumer| {
            let info = consumer.cached_info();
            info.num_pending == 0 && info.num_ack_pending == 0
        })
    }
}
