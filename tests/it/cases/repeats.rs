//! The same order again: redelivered, repeated, in conflict, tried again.

use serde_json::{Value, json};

use super::{PATIENT, Stage, line, plain};
use crate::support::{Figures, order};

fn full(event_id: &str) -> Value {
    json!({ "event_id": event_id, "order_ref": "1", "total": { "amount": 100, "currency": "EUR" },
            "lines": [{ "sku": "A", "qty": 3 }, { "sku": "B", "qty": 1, "warehouse": "main" }] })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_content_under_another_id_is_told_how_the_order_stands() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    // Exactly what the order takes: it does not compete with itself.
    shop.count("A", "main", 3).await;
    shop.count("B", "main", 1).await;
    let first = shop.ask("order.created.web", full("e1")).await;
    let mut again = full("e2");
    again["lines"] =
        json!([{ "sku": "B", "qty": 1, "warehouse": "main" }, { "sku": "A", "qty": 1 }, { "sku": "A", "qty": 2 }]);
    again["hold_for_s"] = json!(86_400);
    again["occurred_at"] = json!("2020-01-01T00:00:00Z");
    let second = shop.ask("order.created.web", again.clone()).await;
    assert_eq!(second.subject, "reservation.held.web");
    let mut expected = plain(&first);
    expected["in_reply_to"] = json!("e2");
    expected["duplicate"] = json!(true);
    assert_eq!(plain(&second), expected);
    assert_eq!(second.body["expires_at"], first.body["expires_at"]);

    // What was accepted counts, not what is left of it.
    let cancel = json!({ "event_id": "c1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 1 }] });
    shop.ask("order.cancelled.web", cancel).await;
    again["event_id"] = json!("e3");
    let third = shop.ask("order.created.web", again).await;
    assert_eq!(third.body["lines"], json!([line("A", "main", 2, "held"), line("B", "main", 1, "held")]));
    assert_eq!(third.body["duplicate"], true);
    shop.settled().await;
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 3, reserved: 2, version: 3 });
    assert_eq!(shop.number("SELECT count(*) FROM reservation").await, 2);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_content_is_a_conflict_and_does_not_use_up_its_id() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    shop.count("B", "main", 10).await;
    shop.ask("order.created.web", full("e0")).await;
    let changes = [
        ("/payment", json!("prepaid")),
        ("/total", json!(null)),
        ("/total/amount", json!(101)),
        ("/lines/0/qty", json!(2)),
        ("/lines/0/warehouse", json!("main")),
        ("/lines/1/warehouse", json!(null)),
        ("/lines/1/sku", json!("C")),
    ];
    for (n, (path, value)) in changes.iter().enumerate() {
        let id = format!("e{}", n + 1);
        let mut other = full(&id);
        let (owner, key) = path.rsplit_once('/').unwrap();
        other.pointer_mut(owner).unwrap()[key] = value.clone();
        shop.say("order.created.web", other).await;
        shop.settled().await;
        assert_eq!(shop.dead().await.last().unwrap(), &("conflicting_duplicate".to_owned(), id.clone()), "{path}");
        let told = shop.ask("order.created.web", full(&id)).await;
        assert_eq!(told.body["duplicate"], true, "{path}");
    }
    assert_eq!(shop.dead().await.len(), changes.len());
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 10, reserved: 3, version: 2 });
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_order_is_tried_again_with_whatever_it_now_has() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    let asks = |id: &str, qty: i64| json!({ "event_id": id, "order_ref": "1", "lines": [{ "sku": "A", "qty": qty }] });
    for (id, qty, what) in [("e1", 3, "rejected"), ("e2", 3, "rejected"), ("e3", 2, "rejected"), ("e4", 1, "held")] {
        let told = shop.ask("order.created.web", asks(id, qty)).await;
        assert_eq!((told.what(), &told.body["duplicate"]), (what, &json!(false)), "{id}");
    }
    // From now on that is what was accepted.
    let told = shop.ask("order.created.web", asks("e5", 1)).await;
    assert_eq!((told.what(), &told.body["duplicate"]), ("held", &json!(true)));
    shop.say("order.created.web", asks("e6", 3)).await;
    // Every id was answered: silence.
    for (id, qty) in [("e1", 3), ("e2", 3), ("e3", 2), ("e4", 1), ("e5", 1)] {
        shop.say("order.created.web", asks(id, qty)).await;
    }
    shop.settled().await;
    assert_eq!(shop.stream("RESERVATIONS").await.len(), 5);
    assert_eq!(shop.dead().await, [("conflicting_duplicate".to_owned(), "e6".to_owned())]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivery_is_silence_in_the_same_batch_and_in_a_later_one() {
    let stage = Stage::open_with(PATIENT).await;
    stage.shop.count("A", "main", 2).await;
    let events = [
        ("order.created.web", order("e1", "1", "A")),
        ("order.created.web", order("e2", "1", "A")),
        ("order.created.shop", order("e1", "1", "A")),
        ("order.created.web", order("e3", "3", "A")),
        ("order.cancelled.web", json!({ "event_id": "e1", "order_ref": "1" })),
        ("order.renewed.web", json!({ "event_id": "e1", "order_ref": "1" })),
    ];
    let each_twice = || events.iter().flat_map(|(subject, body)| [(*subject, body), (*subject, body)]);
    let all = || each_twice().map(|(subject, body)| (subject.to_owned(), body.clone()));
    stage.shop.in_one_batch(all().collect()).await;
    let told = || async {
        let mut told = stage.shop.stream("RESERVATIONS").await;
        told.retain(|told| told.body["channel"] != "gate");
        told.iter()
            .map(|told| format!("{} {}", told.subject, told.body["in_reply_to"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let once = [
        "reservation.held.web e1",
        "reservation.held.web e2",
        "reservation.held.shop e1",
        "reservation.rejected.web e3",
        "reservation.released.web e1",
        "reservation.released.web e1",
    ];
    assert_eq!(told().await, once);
    stage.shop.say_many(all()).await;
    stage.shop.settled().await;
    assert_eq!(told().await, once);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_orders_under_one_event_id_are_two_orders() {
    let stage = Stage::open_with(PATIENT).await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    let named = |order_ref: &str| ("order.created.web".to_owned(), order("same", order_ref, "A"));
    shop.in_one_batch(vec![named("1"), named("2")]).await;
    shop.say_many([named("3")]).await;
    shop.settled().await;
    let mut told = shop.stream("RESERVATIONS").await;
    told.retain(|told| told.body["channel"] != "gate");
    let refs: Vec<_> = told.iter().map(|told| told.body["order_ref"].as_str().unwrap()).collect();
    assert_eq!(refs, ["1", "2", "3"]);
    stage.close().await;
}
