//! F10: the answer to COMMIT is cut off. What was committed is found out by trying again.

use std::collections::HashMap;

use serde_json::json;

use crate::support::{Ground, Launch, PATIENCE, Proxy, Shop, buyers, wait_until};

const CUTS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn orders_whose_commit_was_not_answered_count_once() {
    let ground = Ground::new().await;
    let proxy = Proxy::before(&ground.database_url).await;
    let launch = Launch::impatient(&ground).env("DATABASE_URL", proxy.url(&ground.database_url));
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 1_000).await;
    proxy.cut_answers_to_commit(CUTS);
    let ids = shop.load(buyers("e", &["A"]).take(1_500)).all().await;
    shop.settled().await;
    shop.audit().await;
    let tally = shop.assert_answered_once(&ids).await;
    assert_eq!(tally, HashMap::from([("held".into(), 1_000), ("rejected".into(), 500)]));
    assert_eq!(shop.number("SELECT count(*) FROM reservation_event").await, 1_000);
    assert_eq!(proxy.answers_cut(), CUTS);
}

/// The session that has the turn goes with the answer.
#[tokio::test(flavor = "multi_thread")]
async fn stock_messages_whose_commit_was_not_answered_count_once() {
    let ground = Ground::new().await;
    let proxy = Proxy::before(&ground.database_url).await;
    let launch = Launch::impatient(&ground).env("DATABASE_URL", proxy.url(&ground.database_url));
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 1_000).await;
    for round in 1..=2 {
        proxy.cut_answers_to_commit(1);
        let body = json!({ "event_id": format!("i{round}"), "lines": [{ "sku": "A", "qty": 7 }] });
        shop.say("inventory.received.main", body).await;
        wait_until("the answer to be cut off", PATIENCE, async || proxy.answers_cut() == round).await;
        shop.settled().await;
        let units = 1_000 + 7 * i64::try_from(round).unwrap();
        assert_eq!(shop.figures("A", "main").await.unwrap().on_hand, units);
    }
    shop.audit().await;
    assert_eq!(shop.number("SELECT count(*) FROM stock_movement").await, 3);
}
