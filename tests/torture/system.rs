//! The system: two copies of the program, their servers behind proxies, a producer.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream;
use futures::FutureExt;
use serde_json::Value;
use sqlx::{Postgres, Transaction};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::books::Books;
use crate::fair::Fair;
use crate::faults::{Blow, Blows, Fault};
use crate::messages::{Messages, RESOURCES, SKUS, Said};
use crate::support::{Flow, Ground, Launch, PATIENCE, Program, Proxy, Shop, wait_until};

/// Seconds instead of quarters of a minute.
const SETTINGS: &str = "
[hold]
min_s = 1
default_s = 3
max_s = 8
[payments]
window_s = 3
[waiting]
max_s = 5
[sweeper]
max_interval_ms = 200
[database]
turn_timeout_ms = 1000
idle_in_transaction_timeout_ms = 1000
lock_timeout_ms = 300
[nats]
ping_every_ms = 500
[streams]
stalled_after_ms = 10000
";

/// Messages are published so many at a time, so often.
const TOGETHER: usize = 4;
const EVERY: Duration = Duration::from_millis(20);
/// What comes in a stream between the moment it is measured and the moment it is limited fits into so many bytes: beyond a limit that is below what
/// it holds, a stream drops its oldest messages.
const ROOM: i64 = 256 * 1024;
/// How long the broker may take before a message is published again, under the same id.
const ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(500);

/// By how many seconds the clock of a copy that is started again is wrong, in turn.
const CLOCKS: [i64; 3] = [0, 600, -600];

/// What was done.
#[derive(Default)]
pub struct Tally {
    messages: AtomicU64,
    orders: AtomicU64,
    kills: AtomicU64,
    restarts: AtomicU64,
    rests: AtomicU64,
    faults: Mutex<BTreeMap<String, u64>>,
    seen: Mutex<String>,
}

impl Tally {
    fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn note(&self, fault: Fault) {
        let name = format!("{fault:?}");
        let name = name.split('(').next().unwrap_or_default().to_owned();
        *self.faults.lock().unwrap().entry(name).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.faults.lock().unwrap();
        for (fault, times) in faults.iter() {
            write!(f, "{fault} {times}, ")?;
        }
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "messages {}, orders {}, faults {}, kills {}, restarts {}, rests {}",
            read(&self.messages),
            read(&self.orders),
            faults.values().sum::<u64>(),
            read(&self.kills),
            read(&self.restarts),
            read(&self.rests)
        )?;
        write!(f, "; seen: {}", self.seen.lock().unwrap())
    }
}

pub struct System {
    begun: Instant,
    copies: [Program; 2],
    launch: Launch,
    postgres: Proxy,
    broker: Proxy,
    shop: Shop,
    ground: Ground,
    blows: Blows,
    messages: Messages,
    books: Books,
    fair: Fair,
    tally: Arc<Tally>,
    locked: Option<Transaction<'static, Postgres>>,
}

impl System {
    pub async fn start(seed: u64, tally: Arc<Tally>) -> Self {
        let ground = Ground::own().await;
        let postgres = Proxy::before(&ground.database_url).await;
        let broker = Proxy::before(&ground.nats.url()).await;
        let launch = Launch::impatient(&ground)
            .env("DATABASE_URL", postgres.url(&ground.database_url))
            .env("NATS_URL", broker.url(&ground.nats.url()))
            .config(SETTINGS);
        let (fair, launch) = Fair::open(&ground, launch).await;
        let copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
        let shop = Shop::open(&ground).await;
        let mut system = Self {
            begun: Instant::now(),
            copies,
            launch,
            postgres,
            broker,
            shop,
            ground,
            blows: Blows::new(seed),
            messages: Messages::new(seed),
            books: Books::default(),
            fair,
            tally,
            locked: None,
        };
        sqlx::query("INSERT INTO slot_resource (resource) SELECT unnest($1::text[])")
            .bind(RESOURCES.as_slice())
            .execute(&system.shop.db)
            .await
            .unwrap();
        for said in Messages::opening() {
            let id = format!("open-{}", said.subject);
            publish(&system.producer(), &id, &said).await;
        }
        system.at_rest().await;
        system
    }

    fn producer(&self) -> jetstream::Context {
        jetstream::ContextBuilder::new().timeout(ACKNOWLEDGE_WITHIN).build(self.shop.js.client())
    }

    /// Load and faults for a time.
    pub async fn under_load(&mut self, time: Duration) {
        let until = Instant::now() + time;
        let stop = CancellationToken::new();
        let messages = std::mem::replace(&mut self.messages, Messages::new(0));
        let load: JoinHandle<(Messages, Vec<String>)> =
            tokio::spawn(say(self.producer(), messages, self.tally.clone(), stop.clone()));
        while Instant::now() < until {
            let blow = self.blows.next();
            self.strike(blow).await;
            tokio::time::sleep(blow.pause).await;
            for (n, copy) in self.copies.iter_mut().enumerate() {
                assert_eq!(copy.ended(), None, "copy {n} ended by itself:\n{}", tail(&copy.stderr()));
            }
        }
        stop.cancel();
        let (messages, owed) = load.await.unwrap();
        self.messages = messages;
        owed.into_iter().for_each(|event| self.books.owe(event));
    }

    /// Everything comes to rest and is checked.
    pub async fn at_rest(&mut self) {
        for copy in &mut self.copies {
            copy.ready(PATIENCE).await;
            wait_until("the copy to be ready", PATIENCE, async || copy.get("/readyz").await.0 == 200).await;
        }
        self.settle().await;
        // Only now is nothing held any more that was not held before. A hold that ends in the middle of the checks would be none of their business.
        let shop = self.shop.clone();
        wait_until("every hold to end", PATIENCE, async || {
            let held = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM sales_order WHERE state = 'held'");
            held.fetch_one(&shop.db).await.is_ok_and(|held| held == 0)
        })
        .await;
        self.settle().await;
        self.fair.check(&self.shop).await;
        self.books.check(&self.shop).await;
        Tally::add(&self.tally.rests);
        self.resolve_with_room().await;
        let unkept = "SELECT min(id) FROM review_item WHERE resolved_at IS NULL
            AND id NOT IN (SELECT review_id FROM waiting_message WHERE review_id IS NOT NULL)";
        if let Some(id) = sqlx::query_scalar::<_, Option<i64>>(unkept).fetch_one(&self.shop.db).await.unwrap() {
            let code = self.resolve(id).await;
            assert_eq!(code, Some(0), "review {id}, with which nothing is kept");
        }
        let seen: String = sqlx::query_scalar(include_str!("seen.sql")).fetch_one(&self.shop.db).await.unwrap();
        *self.tally.seen.lock().unwrap() = seen;
    }

    /// A person makes room for the oldest message that is kept for want of units, and resolves its review: it is applied, or, if it is a parcel whose
    /// order has been cancelled since, refused. It is checked with all the rest when everything comes to rest again.
    async fn resolve_with_room(&mut self) {
        let oldest = "SELECT id, kind, subject -> 'rows' FROM review_item WHERE resolved_at IS NULL
            AND kind IN ('written_off_below_reserved', 'transferred_below_reserved', 'shipped_elsewhere') ORDER BY id LIMIT 1";
        let oldest: Option<(i64, String, Value)> = sqlx::query_as(oldest).fetch_optional(&self.shop.db).await.unwrap();
        let Some((id, kind, rows)) = oldest else { return };
        for row in rows.as_array().unwrap() {
            let [sku, warehouse] = ["sku", "warehouse"].map(|field| row[field].as_str().unwrap());
            let said = Messages::room(&format!("room-{id}-{sku}"), sku, warehouse);
            publish(&self.producer(), &format!("room-{id}-{sku}"), &said).await;
        }
        self.settle().await;
        let code = self.resolve(id).await;
        let is_parcel = kind == "shipped_elsewhere";
        assert!(code == Some(0) || (is_parcel && code == Some(1)), "{kind} {id} with room: {code:?}");
        let resolved = "SELECT count(resolved_at) FROM review_item WHERE id = $1";
        let resolved: i64 = sqlx::query_scalar(resolved).bind(id).fetch_one(&self.shop.db).await.unwrap();
        assert_eq!(resolved, 1, "{kind} {id} stayed open although there was room");
    }

    /// Resolves a review through the program. Returns its exit code.
    async fn resolve(&self, id: i64) -> Option<i32> {
        let ended = self.launch.run(&["reviews", "resolve", &id.to_string(), "--note", "looked at"]).await;
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        ended.code
    }

    /// Waits until everything is decided and told.
    async fn settle(&self) {
        if AssertUnwindSafe(self.shop.settled()).catch_unwind().await.is_err() {
            let logs: Vec<String> = self.copies.iter().map(|copy| tail(&copy.stderr())).collect();
            panic!("it does not settle: {}\n{}", self.unsettled().await, logs.join("\n---\n"));
        }
    }

    /// What is not at rest.
    async fn unsettled(&self) -> String {
        let untold: Vec<(String, i64)> =
            sqlx::query_as("SELECT stream, count(*) FROM outbox WHERE sent_at IS NULL GROUP BY stream")
                .fetch_all(&self.shop.db)
                .await
                .unwrap_or_default();
        let mut said = format!("untold {untold:?}");
        let consumers = [
            ("ORDERS", "lastunit-orders"),
            ("PAYMENTS", "lastunit-payments"),
            ("INVENTORY", "lastunit-inventory"),
            ("SHIPMENTS", "lastunit-shipments"),
        ];
        for (stream, durable) in consumers {
            let consumer: Result<jetstream::consumer::PullConsumer, _> =
                self.shop.js.get_consumer_from_stream(durable, stream).await;
            said += &match consumer {
                Ok(consumer) => {
                    let info = consumer.cached_info();
                    format!(", {durable}: pending {}, unacknowledged {}", info.num_pending, info.num_ack_pending)
                }
                Err(error) => format!(", {durable}: {error}"),
            };
        }
        said
    }

    async fn strike(&mut self, blow: Blow) {
        println!("{:7.1} s  {blow:?}", self.begun.elapsed().as_secs_f64());
        self.begin(blow.fault).await;
        tokio::time::sleep(blow.lasts / 2).await;
        if let Some(within) = blow.within {
            self.begin(within).await;
            tokio::time::sleep(blow.lasts / 4).await;
            self.end(within).await;
        }
        tokio::time::sleep(blow.lasts / 2).await;
        self.end(blow.fault).await;
    }

    async fn begin(&mut self, fault: Fault) {
        self.tally.note(fault);
        match fault {
            Fault::KillCopy(copy) => {
                self.copies[copy].kill().await;
                Tally::add(&self.tally.kills);
            }
            Fault::TerminateCopy(copy) => {
                // Before it says its first word it does not listen either.
                let program = &self.copies[copy];
                wait_until("the copy to have begun", PATIENCE, async || !program.stderr().is_empty()).await;
                let code = self.copies[copy].terminate().await;
                assert_eq!(code, Some(0), "copy {copy} ended badly:\n{}", tail(&self.copies[copy].stderr()));
            }
            Fault::PauseCopy(copy) => self.copies[copy].pause(),
            Fault::KillNats => {
                self.ground.nats.kill().await.unwrap();
                Tally::add(&self.tally.kills);
            }
            Fault::StopNats => self.ground.nats.stop().await.unwrap(),
            Fault::PauseNats => self.ground.nats.pause().unwrap(),
            Fault::CutNats => self.broker.cut(),
            Fault::HoldNats => weather(&self.broker, Flow::Hold),
            Fault::SwallowNats => weather(&self.broker, Flow::Swallow),
            Fault::KillPostgres => {
                self.ground.postgres().kill().await.unwrap();
                Tally::add(&self.tally.kills);
            }
            Fault::StopPostgres => self.ground.postgres().stop_immediate().await.unwrap(),
            Fault::PausePostgres => self.ground.postgres().pause().unwrap(),
            Fault::CutPostgres => self.postgres.cut(),
            Fault::HoldPostgres => weather(&self.postgres, Flow::Hold),
            Fault::SwallowPostgres => weather(&self.postgres, Flow::Swallow),
            Fault::CutCommits(times) => self.postgres.cut_answers_to_commit(times),
            Fault::EndSessions => self.end_sessions("true").await,
            Fault::EndTurns => self.end_sessions("pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')").await,
            Fault::LockRow(sku) => self.lock_row(SKUS[sku]).await,
            Fault::FillStream(stream) => self.resize(stream, None).await,
        }
    }

    async fn end(&mut self, fault: Fault) {
        match fault {
            Fault::KillCopy(copy) | Fault::TerminateCopy(copy) => self.start_again(copy).await,
            Fault::PauseCopy(copy) => self.copies[copy].resume(),
            Fault::KillNats | Fault::StopNats => {
                self.ground.nats.restart().await.unwrap();
                Tally::add(&self.tally.restarts);
            }
            Fault::PauseNats => self.ground.nats.resume().unwrap(),
            Fault::HoldNats => weather(&self.broker, Flow::Pass),
            Fault::SwallowNats => {
                // What comes after a gap is no conversation any more.
                self.broker.cut();
                weather(&self.broker, Flow::Pass);
            }
            Fault::KillPostgres | Fault::StopPostgres => {
                self.ground.postgres().restart().await.unwrap();
                Tally::add(&self.tally.restarts);
            }
            Fault::PausePostgres => self.ground.postgres().resume().unwrap(),
            Fault::HoldPostgres => weather(&self.postgres, Flow::Pass),
            Fault::SwallowPostgres => {
                self.postgres.cut();
                weather(&self.postgres, Flow::Pass);
            }
            Fault::CutCommits(_) => self.postgres.cut_answers_to_commit(0),
            Fault::LockRow(_) => drop(self.locked.take()),
            Fault::FillStream(stream) => self.resize(stream, Some(1 << 30)).await,
            Fault::CutNats | Fault::CutPostgres | Fault::EndSessions | Fault::EndTurns => {}
        }
    }

    async fn start_again(&mut self, copy: usize) {
        let clock = CLOCKS[usize::try_from(self.tally.restarts.load(Ordering::Relaxed)).unwrap() % CLOCKS.len()];
        let launch = if clock == 0 { self.launch.clone() } else { self.launch.clone().clock(clock) };
        self.copies[copy] = launch.start(&["run"]).await;
        Tally::add(&self.tally.restarts);
    }

    /// PostgreSQL may be away, or stand still, by another fault: then there is nothing to end.
    async fn end_sessions(&self, which: &str) {
        let statement = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'lastunit' AND {which}"
        );
        let ended = sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&self.shop.db);
        let _ = tokio::time::timeout(Duration::from_secs(1), ended).await;
    }

    async fn lock_row(&mut self, sku: &'static str) {
        let db = self.shop.db.clone();
        let lock = async move {
            let mut transaction = db.begin().await?;
            sqlx::query("SELECT FROM stock WHERE sku = $1 FOR UPDATE").bind(sku).execute(&mut *transaction).await?;
            Ok::<_, sqlx::Error>(transaction)
        };
        // In a task of its own: what is not to be had in time may still be had later, and is then let go.
        let lock = tokio::spawn(lock);
        if let Ok(Ok(Ok(locked))) = tokio::time::timeout(Duration::from_secs(1), lock).await {
            self.locked = Some(locked);
        }
    }

    /// Changes how much an outbound stream may hold: hardly more than it holds now where nothing is said. NATS is not away: no two faults befall it at
    /// once.
    async fn resize(&self, stream: usize, max_bytes: Option<i64>) {
        let stream = ["STOCK", "RESERVATIONS", "DEAD"][stream];
        let info = self.shop.js.get_stream(stream).await.unwrap().cached_info().clone();
        let mut config = info.config;
        config.max_bytes = max_bytes.unwrap_or_else(|| i64::try_from(info.state.bytes).unwrap() + ROOM);
        let changed = self.shop.js.update_stream(&config).await.unwrap();
        let kept = changed.state.first_sequence == info.state.first_sequence;
        assert!(kept, "{stream} was cut by the fault itself: more than {ROOM} bytes came meanwhile");
    }
}

fn weather(proxy: &Proxy, flow: Flow) {
    proxy.to_client(flow);
    proxy.to_server(flow);
}

/// Says one message after the other, each until the broker has it. Returns the events whose answers are owed.
async fn say(
    js: jetstream::Context,
    mut messages: Messages,
    tally: Arc<Tally>,
    stop: CancellationToken,
) -> (Messages, Vec<String>) {
    let mut owed = Vec::new();
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !stop.is_cancelled() {
        ticks.tick().await;
        let some: Vec<(String, Said)> = (0..TOGETHER).map(|_| messages.next()).collect();
        futures::future::join_all(some.iter().map(|(id, said)| publish(&js, id, said))).await;
        for (_, said) in some {
            Tally::add(&tally.messages);
            if said.subject.starts_with("order.created.") {
                Tally::add(&tally.orders);
            }
            owed.extend(said.owed);
        }
    }
    (messages, owed)
}

/// Publishes under an id by which the broker knows it when it is published again.
async fn publish(js: &jetstream::Context, id: &str, said: &Said) {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", id);
    loop {
        let sent = js.publish_with_headers(said.subject.clone(), headers.clone(), said.body.clone().into()).await;
        if let Ok(sent) = sent
            && sent.await.is_ok()
        {
            return;
        }
    }
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
