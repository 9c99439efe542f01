//! What is kept, and what is let go of. Nobody waits for days here: everything that is kept is made older instead.

mod boundary;
mod dead_letters;
mod migrated;
mod snapshots;
mod told;

use std::time::Duration;

use lastunit::config::Database;
use lastunit::domain::{EventId, EventKey};
use lastunit::store::generations::{self, Kept, Rotation};
use lastunit::store::{StoreError, inbox, migrate};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{Ground, PATIENCE, Program, Shop, wait_until};

const DAY: Duration = Duration::from_hours(24);
/// As long as the inbox remembers, and a third of it: a generation.
const MONTH: Duration = Duration::from_hours(30 * 24);
const GENERATION: Duration = Duration::from_hours(10 * 24);
/// Told rows are kept for a second, and the timer looks often.
const HASTY: &str = "outbox.keep_s = 1";

/// A migrated database without a program.
async fn tables(ground: &Ground) -> PgPool {
    let database = Database { url: ground.database_url.clone().into(), ..Database::default() };
    let pool = lastunit::store::connect(&database).unwrap();
    migrate::apply(&pool, &database.schema).await.unwrap();
    pool
}

/// Makes all generations older.
async fn age(db: &PgPool, kept: Kept, by: Duration) {
    let older = "UPDATE generation SET opened_at = opened_at - make_interval(secs => $2), closed_at = closed_at - make_interval(secs => $2)
                 WHERE kept = $1";
    sqlx::query(older).bind(kept.word()).bind(by.as_secs_f64()).execute(db).await.unwrap();
}

async fn rotate(db: &PgPool, kept: Kept) -> Result<Rotation, StoreError> {
    generations::rotate(&mut db.acquire().await.unwrap(), kept, MONTH).await
}

/// The number of the current generation.
async fn current(db: &PgPool, kept: Kept) -> i16 {
    let number = sqlx::query_scalar("SELECT number FROM generation WHERE kept = $1 AND current").bind(kept.word());
    number.fetch_one(db).await.unwrap()
}

/// Lets a running program rotate the inbox once.
async fn pass_a_generation(shop: &Shop) {
    let before = current(&shop.db, Kept::Inbox).await;
    age(&shop.db, Kept::Inbox, GENERATION).await;
    wait_until("a rotation of the inbox", PATIENCE, async || current(&shop.db, Kept::Inbox).await != before).await;
}

fn events(ids: impl IntoIterator<Item = String>) -> Vec<EventKey> {
    let event = |id: String| EventKey { subject: "order.cancelled.web".into(), id: EventId::new(&id).unwrap() };
    let mut events: Vec<EventKey> = ids.into_iter().map(event).collect();
    events.sort();
    events
}

/// Claims events in a transaction of their own. Returns how many were new.
async fn claim(db: &PgPool, events: &[EventKey]) -> Result<usize, StoreError> {
    let mut transaction = db.begin().await?;
    let seen = inbox::claim_many(&mut transaction, events).await?;
    transaction.commit().await?;
    Ok(events.len() - seen.len())
}

/// A partial cancel: twice would be twice as much.
fn cancel_one(id: &str, order_ref: &str) -> (String, Value) {
    let body = json!({ "event_id": id, "order_ref": order_ref, "lines": [{ "sku": "A", "qty": 1 }] });
    ("order.cancelled.web".to_owned(), body)
}

/// Holds `qty` units of A for the order `1`.
async fn one_large_order(shop: &Shop, qty: i64) {
    shop.count("A", "main", 1_000).await;
    let order =
        json!({ "event_id": "o1", "order_ref": "1", "lines": [{ "sku": "A", "qty": qty }], "hold_for_s": 80_000 });
    shop.say("order.created.web", order).await;
    shop.answer_to("o1").await;
}

async fn reserved(shop: &Shop) -> i64 {
    shop.figures("A", "main").await.unwrap().reserved
}

/// A metric's value: its name with its labels.
async fn metric(program: &Program, name: &str) -> f64 {
    let (_, text) = program.get("/metrics").await;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    line.unwrap_or(0.0)
}
