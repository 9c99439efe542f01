//! INVENTORY is decided in stream order, whoever holds the turn and however it is lost.

use async_nats::jetstream::consumer::PullConsumer;
use serde_json::json;

use crate::support::{Ground, Launch, PATIENCE, Program, Said, Shop, wait_until};

const MESSAGES: i64 = 600;

/// Receipts, write-offs and, every seventh, a count: the end depends on their order.
fn deliveries() -> impl Iterator<Item = Said> + Send {
    (1..=MESSAGES).map(|n| {
        let id = format!("i{n}");
        match n % 7 {
            0 => said("counted", json!({ "event_id": id, "lines": [{ "sku": "A", "on_hand": n }] })),
            3 => said("written_off", json!({ "event_id": id, "lines": [{ "sku": "A", "qty": 1 }] })),
            _ => said("received", json!({ "event_id": id, "lines": [{ "sku": "A", "qty": n }] })),
        }
    })
}

fn said(verb: &str, body: serde_json::Value) -> Said {
    (format!("inventory.{verb}.main"), body)
}

/// What lies on the shelf after all of it, one after the other.
fn expected() -> i64 {
    (1..=MESSAGES).fold(1_000, |on_hand, n| match n % 7 {
        0 => n,
        3 => on_hand - 1,
        _ => on_hand + n,
    })
}

async fn begun() -> (Ground, Launch, [Program; 2], Shop) {
    let ground = Ground::new().await;
    // Small batches, so that a fault falls between two of them.
    let launch = Launch::impatient(&ground).config("[batch]\nmax = 20");
    let copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 1_000).await;
    (ground, launch, copies, shop)
}

async fn decided(shop: &Shop, messages: i64) {
    wait_until(&format!("{messages} messages to be decided"), PATIENCE, async || {
        shop.number("SELECT count(*) FROM processed_event").await >= messages
    })
    .await;
}

async fn ends_in_order(shop: &Shop, published: usize) {
    assert_eq!(published, usize::try_from(MESSAGES).unwrap());
    shop.settled().await;
    shop.audit().await;
    let in_order: Vec<String> =
        shop.stream("INVENTORY").await.iter().map(|told| told.body["event_id"].as_str().unwrap().to_owned()).collect();
    let decided: Vec<String> =
        sqlx::query_scalar("SELECT event_id FROM stock_movement ORDER BY id").fetch_all(&shop.db).await.unwrap();
    assert_eq!(decided, in_order);
    assert_eq!(shop.figures("A", "main").await.unwrap().on_hand, expected());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_survives_kills_of_whoever_holds_the_turn() {
    let (_ground, launch, mut copies, shop) = begun().await;
    let load = shop.load(deliveries());
    for round in 0..4 {
        decided(&shop, 50 + 100 * round).await;
        // Whoever has stood longer has the turn: the other one came when it was taken.
        copies[0].kill().await;
        copies[0] = launch.ready(&["run"]).await;
        copies.swap(0, 1);
    }
    ends_in_order(&shop, load.all().await.len()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_survives_the_end_of_the_session_that_holds_the_turn() {
    let (_ground, _launch, _copies, shop) = begun().await;
    // Also while it is idle and does not know: both copies read then.
    assert_eq!(shop.number(END_TURN).await, 1);
    wait_until("both copies to read", PATIENCE, async || {
        let consumer: PullConsumer = shop.js.get_consumer_from_stream("lastunit-inventory", "INVENTORY").await.unwrap();
        consumer.cached_info().num_waiting == 2
    })
    .await;
    let load = shop.load(deliveries());
    for round in 0..4 {
        decided(&shop, 50 + 100 * round).await;
        assert!(shop.number(END_TURN).await <= 1);
    }
    ends_in_order(&shop, load.all().await.len()).await;
}

/// Ends the session that has the turn to decide INVENTORY.
const END_TURN: &str = "
    SELECT count(pg_terminate_backend(pid)) FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objid = 1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid::bigint = hashtext('lastunit ' || current_schema())::bigint & 4294967295";
