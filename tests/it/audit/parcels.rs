//! What left shelves for orders and came back: broken by hand, and found.

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::findings;
use crate::support::{Ground, Launch, Shop, order};

/// Two of three units shipped, one of them back, a parcel of a held order that waits; all told and settled, and the program gone.
async fn morning(ground: &Ground, launch: &Launch) -> Shop {
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(ground).await;
    shop.count("A", "main", 10).await;
    let lines = |qty: i64| json!([{ "sku": "A", "qty": qty }]);
    let parcel = |id: &str, order_ref: &str, qty: i64| json!({ "event_id": id, "shipment_ref": id, "channel": "web", "order_ref": order_ref, "lines": lines(qty) });
    let said = [
        ("order.created.web", json!({ "event_id": "e1", "order_ref": "1", "payment": "prepaid", "lines": lines(3) })),
        ("order.created.web", order("e2", "2", "A")),
        ("shipment.dispatched.main", parcel("s1", "1", 2)),
        (
            "shipment.returned.main",
            json!({ "event_id": "b1", "channel": "web", "order_ref": "1",
                    "lines": [{ "sku": "A", "qty": 1, "condition": "resellable" }] }),
        ),
    ];
    for (subject, body) in said {
        let id = body["event_id"].as_str().unwrap().to_owned();
        shop.say(subject, body).await;
        shop.answer_to(&id).await;
    }
    shop.say("shipment.dispatched.main", parcel("s2", "2", 1)).await;
    shop.settled().await;
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 1);
    assert_eq!(program.terminate().await, Some(0));
    shop
}

/// What is found while something is broken. Afterwards it is mended, and nothing is found.
async fn broken(shop: &Shop, launch: &Launch, break_it: &'static str, mend_it: &'static str) -> Vec<Value> {
    sqlx::raw_sql(AssertSqlSafe(break_it)).execute(&shop.db).await.unwrap();
    let found = findings(launch).await;
    sqlx::raw_sql(AssertSqlSafe(mend_it)).execute(&shop.db).await.unwrap();
    assert_eq!(findings(launch).await, [] as [Value; 0], "mended by {mend_it}");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn parcels_that_are_wrong_are_found_by_their_line_and_their_shelf() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = morning(&ground, &launch).await;
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
    let id = shop.number("SELECT id FROM reservation WHERE order_ref = '1'").await;
    let of_line = |expected: &str, found: &str| json!({ "invariant": 2, "channel": "web", "order_ref": "1", "reservation_id": id, "sku": "A", "expected": expected, "found": found });
    let of_shelf = |expected: &str, found: &str| json!({ "invariant": 3, "sku": "A", "warehouse": "main", "expected": expected, "found": found });

    let right = "2 shipped and 1 returned, by the parcels";
    let found = broken(
        &shop,
        &launch,
        "UPDATE reservation SET returned_qty = 2 WHERE order_ref = '1'",
        "UPDATE reservation SET returned_qty = 1 WHERE order_ref = '1'",
    )
    .await;
    assert_eq!(found, [of_line(right, "2 shipped and 2 returned")]);
    // Shipped and cancelled in its place: what is outstanding stays, and only the parcels know.
    let found = broken(
        &shop,
        &launch,
        "UPDATE reservation SET shipped_qty = 1, qty = 2 WHERE order_ref = '1'",
        "UPDATE reservation SET shipped_qty = 2, qty = 3 WHERE order_ref = '1'",
    )
    .await;
    assert_eq!(found, [of_line(right, "1 shipped and 1 returned")]);

    let found = broken(
        &shop,
        &launch,
        "UPDATE parcel_line SET kind = 'damaged' WHERE kind = 'returned'",
        "UPDATE parcel_line SET kind = 'returned' WHERE kind = 'damaged'",
    )
    .await;
    let expected = of_shelf("2 shipped and 0 returned, by the parcels", "2 shipped and 1 returned, by the movements");
    assert_eq!(found, [expected]);
    let found = broken(
        &shop,
        &launch,
        "UPDATE stock_movement SET kind = 'written_off' WHERE kind = 'shipped'",
        "UPDATE stock_movement SET kind = 'shipped' WHERE kind = 'written_off'",
    )
    .await;
    assert_eq!(found, [of_shelf(right, "0 shipped and 1 returned, by the movements")]);

    let found = broken(
        &shop,
        &launch,
        "UPDATE parcel_line SET reservation_id = 1000",
        "UPDATE parcel_line SET reservation_id = (SELECT id FROM reservation WHERE order_ref = '1')",
    )
    .await;
    let orphan =
        json!({ "invariant": 2, "reservation_id": 1000, "sku": "A", "expected": right, "found": "no reservation" });
    assert_eq!(found, [of_line("0 shipped and 0 returned, by the parcels", "2 shipped and 1 returned"), orphan]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_an_order_that_is_not_held_any_more_is_found() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = morning(&ground, &launch).await;
    let found = broken(
        &shop,
        &launch,
        "UPDATE waiting_message SET subject = 'order.cancelled.web'",
        "UPDATE waiting_message SET subject = 'shipment.dispatched.main'",
    )
    .await;
    let waits = json!({ "invariant": 6, "stream": "SHIPMENTS", "sequence": 3, "subject": "order.cancelled.web", "event_id": "s2",
                        "channel": "web", "order_ref": "2", "expected": "an order that it has to wait for", "found": "an order that is held" });
    assert_eq!(found, [waits]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parcel_told_twice_while_it_waits_and_refused_in_the_end_has_its_fate() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).config("hold.min_s = 1");
    let _program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    let mut held = order("e1", "1", "A");
    held["hold_for_s"] = json!(3);
    shop.say("order.created.web", held).await;
    shop.answer_to("e1").await;
    let lines = json!([{ "sku": "A", "qty": 1 }]);
    let parcel = json!({ "event_id": "s1", "shipment_ref": "s1", "channel": "web", "order_ref": "1", "lines": lines });
    shop.say("shipment.dispatched.main", parcel.clone()).await;
    shop.say("shipment.dispatched.main", parcel).await;
    shop.wait_for("DEAD", 1).await;
    shop.settled().await;
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter WHERE reason = 'over_shipment'").await, 1);
    assert_eq!(shop.findings().await, []);
}
