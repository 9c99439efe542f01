//! The world around the program: producers that publish, and a reader of everything that is told.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::{self, consumer};
use lastunit::broker::{From, Reading};
use lastunit::config::Database;
use serde_json::{Value, json};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::{Ground, wait_until};

/// How long anything may take before a test fails.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Producers and readers of one test.
#[derive(Clone)]
pub struct Shop {
    /// The broker.
    pub js: jetstream::Context,
    /// The database, to look at.
    pub db: PgPool,
    /// Where it is.
    pub database: Database,
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
        Self::open_at(ground, &ground.nats.url()).await
    }

    /// Opens on the test's database and another broker than its own.
    pub async fn open_at(ground: &Ground, nats: &str) -> Self {
        let addresses: Vec<&str> = nats.split(',').collect();
        let client = async_nats::connect(addresses).await.unwrap();
        let db = PgPoolOptions::new().max_connections(4).connect_lazy(&ground.database_url).unwrap();
        let database = Database { url: ground.database_url.clone().into(), ..Database::default() };
        Self { js: jetstream::new(client), db, database }
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
        self.count_many(&[(sku, on_hand)], warehouse).await;
    }

    /// Puts units of several SKUs on shelves by one stock-take, and waits until it is decided.
    pub async fn count_many<S: AsRef<str>>(&self, figures: &[(S, i64)], warehouse: &str) {
        let subject = format!("inventory.counted.{warehouse}");
        let id = format!("count-{:016x}", fastrand::u64(..));
        let line = |(sku, on_hand): &(S, i64)| json!({ "sku": sku.as_ref(), "on_hand": on_hand });
        let lines: Vec<Value> = figures.iter().map(line).collect();
        self.say(&subject, json!({ "event_id": id, "lines": lines })).await;
        wait_until(&format!("the stock-take {id}"), PATIENCE, async || {
            let decided: i64 = sqlx::query_scalar("SELECT count(*) FROM processed_event WHERE event_id = $1")
                .bind(&id)
                .fetch_one(&self.db)
                .await
                .unwrap();
            decided == 1
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
        self.stream_after(name, 0).await
    }

    /// Everything a stream holds now after this place.
    pub async fn stream_after(&self, name: &str, place: u64) -> Vec<Told> {
        let mut reading = Reading::open(&self.js, name, From::After(place), None).await.unwrap();
        let mut told = Vec::new();
        loop {
            let window = reading.next().await.unwrap();
            if window.is_empty() {
                return told;
            }
            told.extend(window.into_iter().map(|(sequence, message)| Told {
                sequence,
                subject: message.subject.to_string(),
                headers: message.headers.clone().unwrap_or_default(),
                raw: message.payload.to_vec(),
                body: serde_json::from_slice(&message.payload).unwrap_or(Value::Null),
            }));
        }
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

    /// Waits until the consumers have taken and acknowledged everything, the outbox is empty, and `STOCK_LATEST`
    /// has what `STOCK` has.
    pub async fn settled(&self) {
        wait_until("everything to be decided and told", PATIENCE, async || {
            self.acknowledged("ORDERS", "lastunit-orders").await
                && self.acknowledged("PAYMENTS", "lastunit-payments").await
                && self.acknowledged("INVENTORY", "lastunit-inventory").await
                && self.acknowledged("SHIPMENTS", "lastunit-shipments").await
                && self.number("SELECT count(*) FROM outbox WHERE sent_at IS NULL").await == 0
                && self.latest_is_sourced().await
        })
        .await;
    }

    /// Whether the last message of STOCK is the last one that `STOCK_LATEST` has from it.
    async fn latest_is_sourced(&self) -> bool {
        let (Ok(stock), Ok(latest)) = (self.js.get_stream("STOCK").await, self.js.get_stream("STOCK_LATEST").await)
        else {
            return false;
        };
        let last = stock.cached_info().state.last_sequence;
        let sourced = latest.get_raw_message(latest.cached_info().state.last_sequence).await;
        let sourced = sourced.ok().and_then(|message| {
            let source = message.headers.get("Nats-Stream-Source")?.as_str().to_owned();
            source.split(' ').nth(1)?.parse().ok()
        });
        stock.cached_info().state.messages == 0 || sourced == Some(last)
    }

    /// Whether everything in the stream was acknowledged. A broker counts a message as pending for its consumer a moment after it has
    /// acknowledged the message to its producer: so what was delivered is compared with what is there.
    async fn acknowledged(&self, stream: &str, durable: &str) -> bool {
        let Ok(stream) = self.js.get_stream(stream).await else { return false };
        let state = &stream.cached_info().state;
        let consumer: Result<consumer::PullConsumer, _> = stream.get_consumer(durable).await;
        consumer.is_ok_and(|consumer| {
            let info = consumer.cached_info();
            let all_delivered = state.messages == 0 || info.delivered.stream_sequence >= state.last_sequence;
            all_delivered && info.num_pending == 0 && info.num_ack_pending == 0
        })
    }
}
