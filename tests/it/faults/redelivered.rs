//! A message that is delivered again before it was decided, into the same batch.

use std::collections::HashMap;

use async_nats::jetstream::consumer::PullConsumer;
use serde_json::json;

use crate::support::{Ground, Launch, PATIENCE, Shop, order, wait_until};

const WAITING: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%stock%'";

/// The second cancel asks for more than is left and is refused. When it comes once more the order is released, and it would be taken.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_is_not_taken_when_it_stands_in_the_batch_once_more() {
    let ground = Ground::new().await;
    let _program = Launch::impatient(&ground).config("[database]\nlock_timeout_ms = 20000").ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count_many(&[("A", 10), ("GATE", 10)], "main").await;
    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM stock WHERE sku = 'GATE' FOR UPDATE").execute(&mut *holder).await.unwrap();
    shop.say("order.created.web", order("gate", "gate", "GATE")).await;
    wait_until("the gate to be closed", PATIENCE, async || shop.number(WAITING).await > 0).await;

    let mut new = order("new", "o", "A");
    new["lines"][0]["qty"] = json!(3);
    shop.say("order.created.web", new).await;
    let two = json!([{ "sku": "A", "qty": 2 }]);
    for id in ["two", "two-more"] {
        shop.say("order.cancelled.web", json!({ "event_id": id, "order_ref": "o", "lines": two })).await;
    }
    shop.say("order.cancelled.web", json!({ "event_id": "all", "order_ref": "o" })).await;
    wait_until("all of it to be delivered again", PATIENCE, async || {
        let consumer: PullConsumer = shop.js.get_consumer_from_stream("lastunit-orders", "ORDERS").await.unwrap();
        consumer.cached_info().num_redelivered >= 4
    })
    .await;
    holder.commit().await.unwrap();
    shop.settled().await;
    shop.audit().await;
    let ids = ["gate", "new", "two", "two-more", "all"].map(str::to_owned);
    let tally = shop.assert_answered_once(&ids).await;
    assert_eq!(tally, HashMap::from([("held".into(), 2), ("released".into(), 2), ("dead".into(), 1)]));
    assert_eq!(shop.stream("DEAD").await[0].body["event_id"], "two-more");
}
