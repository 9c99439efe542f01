//! Refunds: required by a cancel, settled by the gateway, and those that nobody asked for.

use serde_json::{Value, json};

use super::{money, priced};
use crate::cases::{Stage, line};

/// The required refunds of a payment, and whether they are settled.
const REQUIRED: &str =
    "SELECT string_agg(concat_ws(' ', payment_id, reason, amount, CASE WHEN settled_at IS NULL THEN 'open' ELSE 'settled' END),
                       ', ' ORDER BY at, reason) FROM refund_required";

fn of(mut body: Value, amount: Option<i64>) -> Value {
    body["amount"] = amount.map_or(Value::Null, |amount| json!({ "amount": amount, "currency": "EUR" }));
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_of_what_is_paid_requires_it_back_once_and_the_refund_settles_it() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    let mut body = priced("e1", "1", "A");
    body["lines"][0]["qty"] = json!(3);
    shop.ask("order.created.web", body).await;
    shop.pay("succeeded", money("p1", "P1", "1")).await;
    let some = |id: &str| json!({ "event_id": id, "order_ref": "1", "lines": [{ "sku": "A", "qty": 1 }] });
    shop.ask("order.cancelled.web", some("c1")).await;
    shop.ask("order.cancelled.web", some("c2")).await;
    shop.say("order.cancelled.web", some("c2")).await;
    let refunds = shop.refunds().await;
    let part = |refund: &crate::support::Told| {
        (refund.body["reason"].clone(), refund.body["amount"].clone(), refund.body["lines"].clone())
    };
    let expected = (json!("partially_cancelled"), Value::Null, json!([line("A", "main", 1, "released")]));
    assert_eq!(refunds.iter().map(part).collect::<Vec<_>>(), [expected.clone(), expected]);
    shop.pay("refunded", of(money("r1", "P1", "1"), Some(30))).await;
    assert_eq!(shop.text(REQUIRED).await.unwrap(), "P1 partially_cancelled settled, P1 partially_cancelled settled");
    // The rest of it.
    shop.ask("order.cancelled.web", json!({ "event_id": "c3", "order_ref": "1" })).await;
    let refunds = shop.refunds().await;
    assert_eq!((refunds.len(), &refunds[2].body["reason"]), (3, &json!("cancelled")));
    assert_eq!(refunds[2].body["amount"], json!({ "amount": 70, "currency": "EUR" }));
    shop.pay("refunded", of(money("r2", "P1", "1"), Some(50))).await;
    assert!(shop.text(REQUIRED).await.unwrap().ends_with("P1 cancelled 70 open"));
    shop.pay("refunded", of(money("r3", "P1", "1"), Some(20))).await;
    assert!(shop.text(REQUIRED).await.unwrap().ends_with("P1 cancelled 70 settled"));
    assert_eq!(shop.payment("P1").await, Some(("refunded".into(), Some(100), 100, true)));
    assert_eq!(shop.asked().await, []);
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 0);
    stage.close().await;
}

/// The event of a refund counts once, however long ago the inbox has forgotten it.
#[tokio::test(flavor = "multi_thread")]
async fn refunds_add_up_by_their_events() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.pay("succeeded", money("p1", "P1", "1")).await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1" })).await;
    shop.pay("refunded", of(money("r1", "P1", "1"), Some(40))).await;
    sqlx::query("DELETE FROM processed_event WHERE event_id = 'r1'").execute(&shop.db).await.unwrap();
    shop.pay("refunded", of(money("r1", "P1", "1"), Some(40))).await;
    assert_eq!(shop.payment("P1").await, Some(("succeeded".into(), Some(100), 40, true)));
    shop.pay("refunded", of(money("r2", "P1", "1"), None)).await;
    assert_eq!(shop.payment("P1").await.unwrap().0, "refunded");
    assert_eq!(shop.asked().await, []);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_nobody_asked_for_is_a_persons_and_moves_no_units() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.pay("succeeded", money("p1", "P1", "1")).await;
    shop.pay("refunded", money("r1", "P1", "1")).await;
    shop.pay("refunded", money("r2", "UNKNOWN", "1")).await;
    let unasked = |id: &str| ("refund_unasked".to_owned(), id.to_owned());
    assert_eq!(shop.asked().await, [unasked("P1"), unasked("UNKNOWN")]);
    assert_eq!(shop.state("1").await, "confirmed");
    assert_eq!(shop.payment("UNKNOWN").await, Some(("refunded".into(), None, 100, false)));
    // Money that is back is not required back.
    shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1" })).await;
    assert_eq!(shop.refunds().await.len(), 0);
    stage.close().await;
}

/// CASES 14, as far as money goes: in every order, units come back once and money is required once.
#[tokio::test(flavor = "multi_thread")]
async fn refund_and_cancel_in_every_order_give_back_once() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    for (n, acts) in [["refund", "cancel"], ["cancel", "refund"], ["cancel", "cancel"]].into_iter().enumerate() {
        let order_ref = n.to_string();
        shop.ask("order.created.web", priced(&format!("e{n}"), &order_ref, "A")).await;
        shop.pay("succeeded", money(&format!("p{n}"), &format!("P{n}"), &order_ref)).await;
        for (step, act) in acts.into_iter().enumerate() {
            let id = format!("{act}-{n}-{step}");
            if act == "refund" {
                shop.pay("refunded", money(&id, &format!("P{n}"), &order_ref)).await;
            } else {
                shop.ask("order.cancelled.web", json!({ "event_id": id, "order_ref": order_ref })).await;
            }
        }
        assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 0, "{acts:?}");
    }
    let refunds = shop.refunds().await;
    let orders: Vec<&str> = refunds.iter().map(|refund| refund.body["order_ref"].as_str().unwrap()).collect();
    assert_eq!(orders, ["1", "2"]);
    assert_eq!(shop.number("SELECT on_hand FROM stock").await, 10);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_second_payment_paid_is_required_back_and_what_was_paid_elsewhere_is_a_persons() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.pay("succeeded", money("p1", "P1", "1")).await;
    shop.pay("succeeded", money("p2", "P2", "1")).await;
    for order_ref in ["2", "3"] {
        let mut body = priced(&format!("e{order_ref}"), order_ref, "A");
        body["payment"] = json!("prepaid");
        shop.ask("order.created.web", body).await;
    }
    shop.pay("succeeded", money("p3", "P3", "3")).await;
    for order_ref in ["1", "2", "3"] {
        let id = format!("c{order_ref}");
        shop.ask("order.cancelled.web", json!({ "event_id": id, "order_ref": order_ref })).await;
    }
    let refunds = shop.refunds().await;
    let said: Vec<_> = refunds
        .iter()
        .map(|refund| (refund.body["payment_id"].as_str().unwrap(), refund.body["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(said, [("P2", "already_paid"), ("P1", "cancelled"), ("P3", "cancelled")]);
    assert_eq!(shop.asked().await, [("refund_elsewhere".to_owned(), String::new())]);
    stage.close().await;
}
