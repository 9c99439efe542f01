//! F1 to F3: the program dies at its crash points and is started again.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{Ground, Launch, PATIENCE, Program, Said, Shop, buyers, overlay, wait_until};

/// The first batch, which puts units on the shelf, goes well; the second dies.
const SECOND_TIME: &str = "1*off->1*return";

/// Orders arrive while nobody is there; the program that takes them dies at `point`. Returns what was asked.
async fn dies_at(point: &str, ground: &Ground, launch: &Launch) -> (Shop, Vec<String>) {
    let mut doomed = launch_with(launch, point).ready(&["run"]).await;
    let shop = Shop::open(ground).await;
    shop.count("A", "main", 60).await;
    let ids = shop.load(buyers("e", &["A"]).take(100)).all().await;
    doomed.wait(PATIENCE).await;
    (shop, ids)
}

fn launch_with(launch: &Launch, point: &str) -> Launch {
    launch.clone().env("FAILPOINTS", format!("{point}={SECOND_TIME}"))
}

async fn is_made_good(shop: &Shop, ids: &[String]) {
    shop.settled().await;
    shop.audit().await;
    let tally = shop.assert_answered_once(ids).await;
    assert_eq!(tally, HashMap::from([("held".into(), 60), ("rejected".into(), 40)]));
    assert_eq!(shop.number("SELECT count(*) FROM sales_order").await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_was_not_committed_leaves_nothing_and_is_decided_again() {
    let ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let (shop, ids) = dies_at("engine::before_commit", &ground, &launch).await;
    for table in ["sales_order", "reservation", "reservation_event"] {
        let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")))
            .fetch_one(&shop.db)
            .await
            .unwrap();
        assert_eq!(rows, 0, "{table}");
    }
    let _program = launch.ready(&["run"]).await;
    is_made_good(&shop, &ids).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_was_committed_but_not_acknowledged_is_recognised() {
    let ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let (shop, ids) = dies_at("engine::after_commit", &ground, &launch).await;
    assert!(shop.number("SELECT count(*) FROM sales_order").await > 0);
    let program = launch.ready(&["run"]).await;
    is_made_good(&shop, &ids).await;
    assert!(program.metric("lastunit_redelivered_total").await > 0);
}

/// What makes one lane of the relay tell something, and no other.
fn one_lane_messages() -> [(&'static str, Said); 3] {
    let lines = |sku: &str| json!([{ "sku": sku, "qty": 1 }]);
    let received = json!({ "event_id": "e", "lines": lines("A") });
    let unknown = json!({ "event_id": "e", "order_ref": "o", "lines": lines("NOWHERE") });
    let bad = json!({ "event_id": "e", "order_ref": "o", "lines": [] });
    [
        ("STOCK", ("inventory.received.main".into(), received)),
        ("RESERVATIONS", ("order.created.web".into(), unknown)),
        ("DEAD", ("order.created.web".into(), bad)),
    ]
}

/// The relay dies between the broker's acknowledgement and its own mark, and is started again. Returns how often the broker kept the event.
async fn told_by_a_dead_relay(launch: &Launch, ground: &Ground, stream: &str, said: Said) -> usize {
    let mut doomed: Program = launch.clone().env("FAILPOINTS", "relay::after_ack=1*return").ready(&["run"]).await;
    let shop = Shop::open(ground).await;
    shop.say(&said.0, said.1).await;
    doomed.wait(PATIENCE).await;
    assert_eq!(shop.number("SELECT count(*) FROM outbox WHERE sent_at IS NULL").await, 1, "{stream}");
    let first = shop.stream(stream).await.remove(0);

    let _program = launch.ready(&["run"]).await;
    wait_until("everything to be told", PATIENCE, async || {
        shop.number("SELECT count(*) FROM outbox WHERE sent_at IS NULL").await == 0
    })
    .await;
    let told = shop.stream(stream).await;
    if stream == "STOCK" {
        // Told again as a new version: what came late is not the last word.
        wait_until("the row in doubt to be told again", PATIENCE, async || {
            let last = shop.stream(stream).await.pop().unwrap();
            last.body["version"] == 2 && last.body["on_hand"] == 1 && last.id() != first.id()
        })
        .await;
    }
    shop.settled().await;
    shop.audit().await;
    told.iter().filter(|told| told.id() == first.id() && told.raw == first.raw).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_relay_had_told_is_told_once_within_the_brokers_window() {
    for (stream, said) in one_lane_messages() {
        let ground = Ground::new().await;
        assert_eq!(told_by_a_dead_relay(&Launch::new(&ground), &ground, stream, said).await, 1, "{stream}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_relay_had_told_has_the_same_id_past_the_brokers_window() {
    // The program takes longer to start again than this.
    let window = || ("duplicate_window", Value::from(100_000_000));
    for (stream, said) in one_lane_messages() {
        let ground = Ground::new().await;
        let file = format!("{stream}.stream.json");
        let launch = overlay(&ground, &[(&file, window().0, window().1)]);
        assert_eq!(told_by_a_dead_relay(&launch, &ground, stream, said).await, 2, "{stream}");
    }
}
