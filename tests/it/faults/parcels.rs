//! Parcels under faults: the program dies between commit and acknowledgement, and two copies have parcels of one order at once.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{Ground, Launch, PATIENCE, Said, Shop};

/// Units for sale, and an order of so many of them that is confirmed at once.
async fn ordered(shop: &Shop, qty: i64) {
    shop.count("A", "main", 50).await;
    let lines = json!([{ "sku": "A", "qty": qty }]);
    let body = json!({ "event_id": "e1", "order_ref": "1", "payment": "prepaid", "lines": lines });
    shop.say("order.created.web", body).await;
    shop.answer_to("e1").await;
}

/// Parcels of one unit each, every one under a name of its own.
fn parcels(count: usize) -> impl Iterator<Item = Said> + Send {
    (0..count).map(|n| {
        let lines = json!([{ "sku": "A", "qty": 1 }]);
        let id = format!("s{n}");
        let body: Value =
            json!({ "event_id": id, "shipment_ref": id, "channel": "web", "order_ref": "1", "lines": lines });
        ("shipment.dispatched.main".to_owned(), body)
    })
}

async fn left(shop: &Shop, units: i64) {
    let figures = shop.figures("A", "main").await.unwrap();
    assert_eq!((figures.on_hand, figures.reserved), (50 - units, 0));
    assert_eq!(shop.number("SELECT -sum(delta)::bigint FROM stock_movement WHERE kind = 'shipped'").await, units);
    assert_eq!(shop.number("SELECT sum(shipped_qty)::bigint FROM reservation").await, units);
}

#[tokio::test(flavor = "multi_thread")]
async fn parcels_that_were_committed_but_not_acknowledged_leave_once() {
    let ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let mut first = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    ordered(&shop, 20).await;
    shop.settled().await;
    assert_eq!(first.terminate().await, Some(0));

    let mut doomed = launch.clone().env("FAILPOINTS", "engine::after_commit=1*return").ready(&["run"]).await;
    let ids = shop.load(parcels(20)).all().await;
    doomed.wait(PATIENCE).await;
    assert!(shop.number("SELECT count(*) FROM shipment").await > 0, "it was committed");
    let program = launch.ready(&["run"]).await;
    shop.settled().await;
    shop.audit().await;
    let tally = shop.assert_answered_once(&ids).await;
    assert_eq!(tally, HashMap::from([("confirmed".into(), 1), ("shipped".into(), 20)]));
    assert!(program.metric("lastunit_redelivered_total").await > 0);
    left(&shop, 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_copies_with_parcels_of_one_order_ship_no_more_than_it_has() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).config("batch.max = 3");
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    ordered(&shop, 30).await;
    let ids = shop.load(parcels(45)).all().await;
    shop.settled().await;
    shop.audit().await;
    let tally = shop.assert_answered_once(&ids).await;
    assert_eq!(tally, HashMap::from([("confirmed".into(), 1), ("shipped".into(), 30), ("dead".into(), 15)]));
    left(&shop, 30).await;
}
