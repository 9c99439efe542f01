//! The contract, line by line and from the outside: streams, tables, commands, HTTP. Nothing here knows how the program does it.

mod absent;
mod accept;
mod answers;
mod buyers;
mod cancels;
mod commands;
mod dead_letters;
mod envelopes;
mod expiry;
mod inventory;
mod names;
mod parcels;
mod payments;
mod plans;
mod rejections;
mod renewals;
mod repeats;
mod replay;
mod replies;
mod reports;
mod reviews;
mod slots;
mod statements;
mod streams;
mod told;
mod warehouses;
mod why;

use std::time::Duration;

use async_nats::jetstream::consumer::PullConsumer;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Ground, Launch, Program, Shop, Told, order, wait_until};

const PATIENCE: Duration = Duration::from_secs(30);

/// For [`Shop::in_one_batch`].
const PATIENT: &str = "database.lock_timeout_ms = 20000";

/// A running program on ground of its own, and the world around it.
struct Stage {
    shop: Shop,
    program: Program,
    launch: Launch,
    ground: Ground,
}

impl Stage {
    async fn open() -> Self {
        Self::open_with("").await
    }

    /// With lines of configuration.
    async fn open_with(config: &str) -> Self {
        let ground = Box::pin(Ground::new()).await;
        let launch = Launch::new(&ground).config(config);
        Self::on(ground, launch).await
    }

    /// Started like this.
    async fn on(ground: Ground, launch: Launch) -> Self {
        let program = launch.ready(&["run"]).await;
        let shop = Shop::open(&ground).await;
        // A lane that takes its turn tells again what it finds untold, under a new version: here it finds nothing.
        let turns = "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
                     WHERE datname = current_database() AND locktype = 'advisory' AND granted";
        wait_until("every turn to be taken", PATIENCE, async || shop.number(turns).await == 4).await;
        Self { shop, program, launch, ground }
    }

    /// Ends the program and starts it again after `meanwhile`.
    async fn restart(&mut self, meanwhile: impl AsyncFnOnce(&Shop)) {
        assert_eq!(self.program.terminate().await, Some(0));
        meanwhile(&self.shop).await;
        self.program = self.launch.ready(&["run"]).await;
    }

    /// Starts the program, which has ended, in another way.
    async fn restart_with(&mut self, launch: Launch) {
        self.launch = launch;
        self.program = self.launch.ready(&["run"]).await;
    }

    /// Everything is decided and told, and the invariants hold.
    async fn close(&self) {
        self.shop.settled().await;
        self.shop.audit().await;
    }
}

impl Shop {
    /// Publishes an order's event and waits for its answer.
    async fn ask(&self, subject: &str, body: Value) -> Told {
        let id = body["event_id"].as_str().unwrap().to_owned();
        self.say(subject, body).await;
        self.answer_to(&id).await
    }

    /// Has these orders' events decided in one batch: while somebody holds the row that an order before them needs, they gather. Wants a patient
    /// `database.lock_timeout_ms`.
    async fn in_one_batch(&self, messages: Vec<(String, Value)>) {
        let id = format!("{:016x}", fastrand::u64(..));
        self.count("LOCKED", "main", 1000).await;
        let mut holder = self.db.begin().await.unwrap();
        sqlx::query("SELECT FROM stock WHERE sku = 'LOCKED' FOR UPDATE").execute(&mut *holder).await.unwrap();
        self.say("order.created.gate", order(&id, &id, "LOCKED")).await;
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%stock%'";
        wait_until("the gate to be closed", PATIENCE, async || self.number(waiting).await > 0).await;
        let count = messages.len();
        self.say_many(messages).await;
        wait_until("the messages to be in the program's hands", PATIENCE, async || {
            let consumer: PullConsumer = self.js.get_consumer_from_stream("lastunit-orders", "ORDERS").await.unwrap();
            let info = consumer.cached_info();
            info.num_pending == 0 && info.num_ack_pending > count
        })
        .await;
        holder.commit().await.unwrap();
        self.settled().await;
    }

    /// Lets an order's hold end now.
    async fn end_hold(&self, order_ref: &str) {
        for update in [
            "UPDATE reservation SET expires_at = clock_timestamp() WHERE order_ref = $1 AND state = 'held'",
            "UPDATE slot_hold SET expires_at = clock_timestamp() WHERE order_ref = $1 AND state = 'held'",
            "UPDATE sales_order SET expires_at = clock_timestamp() WHERE order_ref = $1 AND state = 'held'",
        ] {
            sqlx::query(update).bind(order_ref).execute(&self.db).await.unwrap();
        }
    }

    /// What was told of an order, in order.
    async fn told_of(&self, order_ref: &str) -> Vec<Told> {
        let told = self.stream("RESERVATIONS").await;
        told.into_iter().filter(|told| told.body["order_ref"] == order_ref).collect()
    }

    /// The words of the dead letters and the ids of the events in them.
    async fn dead(&self) -> Vec<(String, String)> {
        let word = |told: &Told| told.header("Lastunit-Reason").unwrap().to_owned();
        let id = |told: &Told| told.body["event_id"].as_str().unwrap_or_default().to_owned();
        self.stream("DEAD").await.iter().map(|told| (word(told), id(told))).collect()
    }

    /// One text out of the database.
    async fn text(&self, query: &'static str) -> Option<String> {
        sqlx::query_scalar(query).fetch_one(&self.db).await.unwrap()
    }
}

/// A body without its own id, instant and end, of which it is only checked that they are what they must be.
fn plain(told: &Told) -> Value {
    let mut body = told.body.clone();
    let fields = body.as_object_mut().unwrap();
    let id = fields.remove("event_id").unwrap();
    assert!(uuid::Uuid::parse_str(id.as_str().unwrap()).is_ok(), "{id}");
    instant(&fields.remove("occurred_at").unwrap());
    let end = fields.remove("expires_at");
    assert_eq!(end.is_some(), told.what() == "held", "{body}");
    if let Some(end) = end {
        instant(&end);
    }
    body
}

fn instant(value: &Value) -> OffsetDateTime {
    OffsetDateTime::parse(value.as_str().unwrap(), &Rfc3339).unwrap()
}

/// A line as answers have it, of which nothing has shipped.
fn line(sku: &str, warehouse: &str, qty: i64, state: &str) -> Value {
    json!({ "sku": sku, "warehouse": warehouse, "qty": qty, "shipped_qty": 0, "returned_qty": 0, "state": state })
}

/// The status and the body of a page of the program's.
async fn page(program: &Program, path: &str) -> (u16, String) {
    let stdout = program.stdout();
    let address = stdout.lines().find_map(|line| line.strip_prefix("lastunit ready http://")).unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
