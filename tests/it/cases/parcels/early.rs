//! Parcels before their order, and before their order is confirmed.

use std::time::Duration;

use serde_json::json;

use super::{PATIENCE, Shop, Stage, line, lines, parcel, returned};
use crate::support::{order, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn what_came_before_its_order_is_applied_with_it() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.say("shipment.returned.main", returned("b1", "1", &[("A", 1, "resellable")])).await;
    shop.waiting(1).await;
    shop.say("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 2)])).await;
    shop.waiting(2).await;
    shop.ask("order.created.web", Shop::confirmed("e1", "1", &[("A", 2)])).await;
    shop.settled().await;
    let told = shop.told_of("1").await;
    let told: Vec<_> = told.iter().map(|told| (told.what(), lines(told)[0].clone())).collect();
    let expected = [
        ("confirmed", line("A", "main", (2, 0, 0), "confirmed")),
        ("shipped", line("A", "main", (2, 2, 0), "shipped")),
        ("returned", line("A", "main", (2, 2, 1), "shipped")),
    ];
    assert_eq!(told, expected);
    assert_eq!(shop.shelf("A", "main").await, (4, 0));
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
    // One transaction: it wrote the order, its journal and its movements.
    let transactions = "SELECT count(DISTINCT xmin::text) FROM (
        SELECT xmin FROM sales_order UNION ALL SELECT xmin FROM reservation_event
        UNION ALL SELECT xmin FROM parcel_line UNION ALL SELECT xmin FROM stock_movement WHERE kind <> 'counted') AS written";
    assert_eq!(shop.number(transactions).await, 1);
    stage.close().await;
}

/// Whatever confirms an order wakes what waits for that; here nothing that the program did, so its net has to.
#[tokio::test(flavor = "multi_thread")]
async fn a_parcel_of_a_held_order_leaves_when_that_is_confirmed() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", order("e1", "1", "A")).await;
    shop.say("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 1)])).await;
    shop.say("shipment.returned.main", returned("b1", "1", &[("A", 1, "damaged")])).await;
    shop.waiting(2).await;
    shop.settled().await;
    shop.audit().await;
    assert_eq!((shop.shelf("A", "main").await, shop.dead().await), ((5, 1), vec![]));

    let mut confirming = shop.db.begin().await.unwrap();
    for statement in [
        "UPDATE sales_order SET state = 'confirmed' WHERE order_ref = '1'",
        "UPDATE reservation SET state = 'confirmed' WHERE order_ref = '1'",
        "INSERT INTO reservation_event (reservation_id, sku, warehouse, from_state, to_state, qty, event_id, at)
         SELECT id, sku, warehouse, 'held', 'confirmed', 0, 'paid', clock_timestamp() FROM reservation",
    ] {
        sqlx::query(statement).execute(&mut *confirming).await.unwrap();
    }
    confirming.commit().await.unwrap();
    let shipped = shop.answer_to("s1").await;
    assert_eq!((shipped.what(), lines(&shipped)), ("shipped", &json!([line("A", "main", (1, 1, 0), "shipped")])));
    let back = shop.answer_to("b1").await;
    assert_eq!((back.what(), lines(&back)), ("returned", &json!([line("A", "main", (1, 1, 1), "shipped")])));
    shop.waiting(0).await;
    assert_eq!(shop.shelf("A", "main").await, (4, 0));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parcel_of_a_held_order_dies_when_the_hold_ends_otherwise() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    for order_ref in ["cancelled", "ended"] {
        shop.ask("order.created.web", order(order_ref, order_ref, "A")).await;
        shop.say("shipment.dispatched.main", parcel(&format!("of {order_ref}"), "S-1", order_ref, &[("A", 1)])).await;
    }
    shop.say("shipment.returned.main", returned("back", "cancelled", &[("A", 1, "resellable")])).await;
    shop.waiting(3).await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "cancelled" })).await;
    shop.waiting(1).await;
    shop.end_hold("ended").await;
    shop.waiting(0).await;
    shop.wait_for("DEAD", 3).await;
    let dead = |word: &str, id: &str| (word.to_owned(), id.to_owned());
    let expected =
        [dead("over_shipment", "of cancelled"), dead("over_return", "back"), dead("over_shipment", "of ended")];
    assert_eq!(shop.dead().await, expected);
    shop.settled().await;
    assert_eq!(shop.reviews_opened().await, ["shipped_without_hold"; 2]);
    assert_eq!(shop.shelf("A", "main").await, (5, 0));
    assert_eq!(shop.number("SELECT count(*) FROM shipment").await, 0);
    stage.close().await;
}

/// The net wakes nobody who still has to wait.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_to_wait_is_left_alone() {
    let stage = Stage::open_with("waiting.max_s = 1").await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", order("e1", "1", "A")).await;
    shop.say("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 1)])).await;
    // The net that asks about it is drawn right after the one that would wake it.
    wait_until("a person to be asked", Duration::from_secs(30).max(PATIENCE), async || {
        shop.number("SELECT count(*) FROM review_item WHERE kind = 'waited_too_long'").await == 1
    })
    .await;
    let said = stage.program.stderr();
    assert!(!said.contains("messages waited although their orders had come"), "{said}");
    shop.waiting(1).await;
    stage.close().await;
}

/// What is kept with a review is not asked about once more as what waits too long; and what was asked about as waiting too long still ends as its order does.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_message_is_asked_about_once_and_a_late_hold_still_ends() {
    let mut stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.count("A", "far", 0).await;
    let held = async |id: &str| shop.ask("order.created.web", order(id, id, "A")).await;
    // Kept from the first, and kept after it had waited for its order.
    held("1").await;
    shop.say("inventory.counted.main", json!({ "event_id": "i1", "lines": [{ "sku": "A", "on_hand": 0 }] })).await;
    shop.say("shipment.dispatched.far", parcel("elsewhere", "S-1", "1", &[("A", 1)])).await;
    shop.waiting(2).await;
    let paid = json!({ "event_id": "p1", "payment_id": "P1", "channel": "web", "order_ref": "1" });
    shop.say("payment.succeeded.stripe", paid).await;
    shop.settled().await;
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message WHERE review_id IS NOT NULL").await, 2);
    // The last to wait, for an order that is held: when this is asked about, all others were looked at.
    held("2").await;
    shop.say("shipment.dispatched.main", parcel("early", "S-2", "2", &[("A", 1)])).await;
    shop.waiting(3).await;
    shop.settled().await;
    let asked = ["count_below_reserved", "shipped_elsewhere"];
    assert_eq!(shop.reviews_opened().await, asked);

    assert_eq!(stage.program.terminate().await, Some(0));
    stage.restart_with(stage.launch.clone().config("waiting.max_s = 1")).await;
    let shop = &stage.shop;
    wait_until("a person to be asked", PATIENCE, async || {
        shop.number("SELECT count(*) FROM review_item WHERE kind = 'waited_too_long'").await > 0
    })
    .await;
    shop.settled().await;
    assert_eq!(shop.reviews_opened().await, [asked[0], asked[1], "waited_too_long"]);
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message WHERE review_id IS NOT NULL AND overdue").await, 0);
    let about = "SELECT subject ->> 'event_id' FROM review_item WHERE kind = 'waited_too_long'";
    assert_eq!(shop.text(about).await.as_deref(), Some("early"));

    shop.end_hold("2").await;
    shop.waiting(2).await;
    shop.settled().await;
    assert_eq!(shop.dead().await, [("over_shipment".to_owned(), "early".to_owned())]);
    assert_eq!(shop.reviews_opened().await, [asked[0], asked[1], "waited_too_long", "shipped_without_hold"]);
    assert_eq!(shop.shelf("A", "main").await, (5, 1));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_sends_off_the_parcels_of_its_order_in_the_same_transaction() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", order("e1", "1", "A")).await;
    shop.say("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 1)])).await;
    shop.say("shipment.returned.main", returned("b1", "1", &[("A", 1, "resellable")])).await;
    shop.waiting(2).await;
    let paid = json!({ "event_id": "p1", "payment_id": "P1", "channel": "web", "order_ref": "1" });
    shop.say("payment.succeeded.stripe", paid).await;
    shop.waiting(0).await;
    shop.settled().await;
    let told: Vec<String> = shop.told_of("1").await.iter().map(|told| told.what().to_owned()).collect();
    assert_eq!(told, ["held", "confirmed", "shipped", "returned"]);
    assert_eq!((shop.shelf("A", "main").await, shop.dead().await), ((5, 0), vec![]));
    let transactions = "SELECT count(DISTINCT xmin::text) FROM (
        SELECT xmin FROM sales_order UNION ALL SELECT xmin FROM payment UNION ALL SELECT xmin FROM parcel_line
        UNION ALL SELECT xmin FROM reservation_event WHERE to_state <> 'held') AS written";
    assert_eq!(shop.number(transactions).await, 1);
    stage.close().await;
}
