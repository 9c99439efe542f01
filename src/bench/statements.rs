//! How many SQL statements one batch takes, counted in PostgreSQL's own log.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use async_nats::jetstream;
use sqlx::PgPool;
use uuid::Uuid;

use super::subject::Subject;
use crate::dev::{Binaries, PrivatePostgres};

/// How long a batch may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the program runs.
pub(super) struct Ground<'a> {
    pub binaries: &'a Binaries,
    pub program: &'a Path,
    pub dir: &'a Path,
    pub nats: &'a str,
}

/// Statements between BEGIN and COMMIT of the one batch that takes `orders` orders, published before the program starts.
pub(super) async fn of_batch(ground: &Ground<'_>, postgres: &PrivatePostgres, orders: usize) -> anyhow::Result<usize> {
    let database = postgres.create_database(&format!("statements_{orders}"), None).await?;
    let db = PgPool::connect(&database).await?;
    let name: String = sqlx::query_scalar("SELECT current_database()").fetch_one(&db).await?;
    sqlx::query(sqlx::AssertSqlSafe(format!("ALTER DATABASE {name} SET log_statement = 'all'"))).execute(&db).await?;

    // The first start makes schema and streams; the orders then wait for the second.
    Subject::start(ground.binaries, ground.program, ground.dir, &database, ground.nats).await?.stop().await?;
    sqlx::query("INSERT INTO stock (sku, warehouse, on_hand, version) VALUES ('A', 'main', 1000000, 1)")
        .execute(&db)
        .await?;
    let js = jetstream::new(async_nats::connect(ground.nats).await?);
    let channel = Uuid::new_v4().simple().to_string();
    for _ in 0..orders {
        let (event, order) = (Uuid::new_v4(), Uuid::new_v4().simple());
        let body = format!(r#"{{"event_id":"{event}","order_ref":"{order}","lines":[{{"sku":"A","qty":1}}]}}"#);
        js.publish(format!("order.created.{channel}"), body.into()).await?.await?;
    }
    let logged_before = postgres.log().len();
    let subject = Subject::start(ground.binaries, ground.program, ground.dir, &database, ground.nats).await?;
    decided(&db, orders).await?;
    subject.stop().await?;
    let log = postgres.log();
    largest_batch(log.get(logged_before..).unwrap_or_default()).context("no batch in PostgreSQL's log")
}

async fn decided(db: &PgPool, orders: usize) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let decided: i64 = sqlx::query_scalar("SELECT count(*) FROM sales_order").fetch_one(db).await?;
        if usize::try_from(decided)? >= orders {
            return Ok(());
        }
        if Instant::now() > until {
            bail!("the batch was not decided in time");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The most statements that one transaction took which claimed orders. Sessions are told apart by their pid, which the log has in brackets.
fn largest_batch(log: &str) -> Option<usize> {
    let mut open: HashMap<&str, (usize, bool)> = HashMap::new();
    let mut most = None;
    for line in log.lines() {
        let Some((pid, said)) = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')) else { continue };
        if !said.contains("LOG:  execute") && !said.contains("LOG:  statement:") {
            continue;
        }
        let (statements, claims) = open.entry(pid).or_default();
        *statements += 1;
        *claims |= said.contains("Claims orders");
        if said.contains("BEGIN") {
            open.insert(pid, (1, false));
        } else if said.contains("COMMIT") {
            let (statements, claims) = open.remove(pid).unwrap_or_default();
            if claims {
                most = most.max(Some(statements));
            }
        }
    }
    most
}
