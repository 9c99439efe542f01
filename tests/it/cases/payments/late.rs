//! CASES 11: money that comes after the hold. The order is had again, or the money is required back; never silence, never a resurrection.

use serde_json::{Value, json};

use super::{money, priced};
use crate::cases::{Stage, line};
use crate::support::Shop;

/// The states that the lines of an order went through.
async fn steps(shop: &Shop, order_ref: &str) -> Vec<(String, i64)> {
    sqlx::query_as(
        "SELECT e.to_state, e.qty FROM reservation_event e JOIN reservation r ON r.id = e.reservation_id
         WHERE r.order_ref = $1 ORDER BY e.id",
    )
    .bind(order_ref)
    .fetch_all(&shop.db)
    .await
    .unwrap()
}

fn step(to: &str, qty: i64) -> (String, i64) {
    (to.to_owned(), qty)
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_comes_too_late_has_the_order_again_if_it_is_there() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.end_hold("1").await;
    shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
    shop.answer_to("p1").await;
    let told: Vec<(String, Value, Value)> = shop
        .told_of("1")
        .await
        .iter()
        .map(|told| (told.what().to_owned(), told.body["in_reply_to"].clone(), told.body["reason"].clone()))
        .collect();
    let expected = [
        ("held".to_owned(), json!("e1"), Value::Null),
        ("expired".to_owned(), Value::Null, json!("hold_ended")),
        ("confirmed".to_owned(), json!("p1"), json!("had_again")),
    ];
    assert_eq!(told, expected, "one confirmed, after the expired, and no second held");
    assert_eq!(steps(shop, "1").await, [step("held", 1), step("expired", -1), step("held", 1), step("confirmed", 0)]);
    assert_eq!(shop.payment("P1").await, Some(("succeeded".into(), Some(100), 0, true)));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_comes_too_late_for_what_is_sold_is_required_back() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.end_hold("1").await;
    // The next buyer's order ends the first hold.
    assert_eq!(shop.ask("order.created.web", priced("e2", "2", "A")).await.what(), "held");
    shop.pay("succeeded", money("p1", "P1", "1")).await;
    let refunds = shop.refunds().await;
    let [refund] = refunds.as_slice() else { panic!("{refunds:?}") };
    assert_eq!(refund.subject, "refund.required.stripe");
    assert_eq!(refund.header("ce-type"), Some("lastunit.refund.required"));
    let mut body = refund.body.clone();
    let fields = body.as_object_mut().unwrap();
    assert_eq!(fields.remove("event_id").unwrap(), json!(refund.id()));
    super::super::instant(&fields.remove("occurred_at").unwrap());
    assert_eq!(
        body,
        json!({ "channel": "web", "order_ref": "1", "payment_id": "P1",
                "amount": { "amount": 100, "currency": "EUR" },
                "lines": [line("A", "main", 1, "expired")], "reason": "expired_and_sold_out" })
    );
    assert_eq!(steps(shop, "1").await, [step("held", 1), step("expired", -1)]);
    assert_eq!(shop.payment("P1").await, Some(("succeeded".into(), Some(100), 0, false)));
    // Said again, it is not required again.
    shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
    shop.pay("succeeded", money("p2", "P1", "1")).await;
    assert_eq!(shop.refunds().await.len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_had_again_whole_from_another_warehouse_or_not_at_all() {
    let stage = Stage::open_with("sweeper.enabled = false\norders.accept = true").await;
    let shop = &stage.shop;
    shop.count_many(&[("A", 1), ("B", 1)], "main").await;
    shop.count_many(&[("A", 1)], "far").await;
    let lines = json!([{ "sku": "A", "qty": 1 }, { "sku": "B", "qty": 1, "warehouse": "main" }]);
    let two = |n: &str| json!({ "event_id": n, "order_ref": n, "lines": lines });
    assert_eq!(shop.ask("order.created.web", two("1")).await.what(), "held");
    shop.end_hold("1").await;
    let taken = json!([{ "sku": "A", "qty": 1, "warehouse": "main" }]);
    let other = json!({ "event_id": "x", "order_ref": "x", "payment": "prepaid", "lines": taken });
    shop.ask("order.created.web", other).await;
    shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
    let confirmed = shop.answer_to("p1").await;
    let ours = |sku: &str, at: &str| line(sku, at, 1, "confirmed");
    assert_eq!(confirmed.body["lines"], json!([ours("A", "far"), ours("B", "main")]));

    // B is gone now, and a warehouse the order named stays: A, which is there, is not taken either.
    shop.count_many(&[("A", 2)], "far").await;
    let mut third = two("3");
    third["lines"] = json!([{ "sku": "A", "qty": 1, "warehouse": "far" }]);
    assert_eq!(shop.ask("order.created.web", third).await.what(), "held");
    assert_eq!(shop.ask("order.created.web", two("2")).await.what(), "rejected");
    shop.pay("succeeded", money("p2", "P2", "2")).await;
    let refunds = shop.refunds().await;
    assert_eq!((refunds.len(), &refunds[0].body["reason"]), (1, &json!("order_rejected")));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_are_honoured_and_late_money_too_while_no_orders_are_taken() {
    let mut stage = Stage::open_with("sweeper.enabled = false").await;
    stage.shop.count("A", "main", 2).await;
    stage.shop.ask("order.created.web", priced("e1", "1", "A")).await;
    stage.shop.ask("order.created.web", priced("e2", "2", "A")).await;
    stage.launch = stage.launch.clone().config("orders.accept = false");
    stage.restart(async |shop| shop.end_hold("2").await).await;
    let shop = &stage.shop;
    for order_ref in ["1", "2"] {
        shop.pay("succeeded", money(&format!("p{order_ref}"), &format!("P{order_ref}"), order_ref)).await;
        assert_eq!(shop.state(order_ref).await, "confirmed");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_order_is_never_had_again() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count("A", "main", 9).await;
    for (order_ref, ends_first) in [("1", false), ("2", true)] {
        shop.ask("order.created.web", priced(&format!("e{order_ref}"), order_ref, "A")).await;
        if ends_first {
            shop.end_hold(order_ref).await;
        }
        shop.ask("order.cancelled.web", json!({ "event_id": format!("c{order_ref}"), "order_ref": order_ref })).await;
        shop.pay("succeeded", money(&format!("p{order_ref}"), &format!("P{order_ref}"), order_ref)).await;
        let refunds = shop.refunds().await;
        assert_eq!(refunds.last().unwrap().body["reason"], "cancelled");
        assert_eq!(refunds.last().unwrap().body["order_ref"], order_ref);
    }
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 0);
    stage.close().await;
}
