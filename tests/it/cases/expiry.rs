//! Holds end: whole, told once, and for the good of whoever asks next.

use serde_json::{Value, json};

use super::{Stage, line, plain};
use crate::support::{Told, order};

#[tokio::test(flavor = "multi_thread")]
async fn an_order_expires_whole_and_replies_to_nothing() {
    let stage = Stage::open_with("sweeper.max_interval_ms = 10").await;
    let shop = &stage.shop;
    shop.count("A", "main", 2).await;
    shop.count("B", "far", 2).await;
    let body =
        json!({ "event_id": "o1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 2 }, { "sku": "B", "qty": 1 }] });
    shop.ask("order.created.web", body).await;
    shop.end_hold("1").await;
    let told = shop.wait_for("RESERVATIONS", 2).await.remove(1);
    assert_eq!(told.subject, "reservation.expired.web");
    assert_eq!(
        plain(&told),
        json!({ "channel": "web", "order_ref": "1", "in_reply_to": null, "duplicate": false, "reason": "hold_ended",
                "lines": [line("A", "main", 2, "expired"), line("B", "far", 1, "expired")] })
    );
    shop.settled().await;
    assert_eq!(shop.number("SELECT sum(reserved)::bigint FROM stock").await, 0);
    assert_eq!(shop.text("SELECT state FROM sales_order").await.unwrap(), "expired");
    let journal = "SELECT string_agg(concat(sku, ' ', from_state, '>', to_state, ' ', qty), ', ' ORDER BY sku)
                   FROM reservation_event WHERE to_state = 'expired' AND event_id IS NULL";
    assert_eq!(shop.text(journal).await.unwrap(), "A held>expired -2, B held>expired -1");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_refused_because_a_sweeper_was_late() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.count("B", "main", 1).await;
    let body =
        json!({ "event_id": "o1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 1 }, { "sku": "B", "qty": 1 }] });
    shop.ask("order.created.web", body).await;
    shop.end_hold("1").await;
    let told = shop.ask("order.created.web", order("o2", "2", "A")).await;
    assert_eq!(told.what(), "held");
    // All its lines go back with the one that was wanted.
    let expired = shop.told_of("1").await;
    assert_eq!(expired.last().unwrap().what(), "expired");
    assert_eq!(shop.figures("B", "main").await.unwrap().reserved, 0);
    // The same for a renewal, a count and a write-off that need the room.
    shop.end_hold("2").await;
    let told = shop.ask("order.renewed.web", json!({ "event_id": "r1", "order_ref": "1" })).await;
    assert_eq!(told.what(), "held");
    shop.end_hold("1").await;
    shop.say("inventory.written_off.main", json!({ "event_id": "w1", "lines": [{ "sku": "B", "qty": 1 }] })).await;
    shop.settled().await;
    assert_eq!(shop.figures("B", "main").await.unwrap().on_hand, 0);
    shop.ask("order.created.web", order("o3", "3", "A")).await;
    shop.end_hold("3").await;
    shop.count("A", "main", 0).await;
    assert_eq!(shop.number("SELECT count(*) FROM review_item").await, 0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_due_hold_is_expired_first_whatever_the_message() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count("A", "main", 9).await;
    let messages: [(&str, &str, Value); 3] = [
        ("repeated", "order.created.web", order("m1", "repeated", "A")),
        ("cancelled", "order.cancelled.web", json!({ "event_id": "m2", "order_ref": "cancelled" })),
        (
            "part",
            "order.cancelled.web",
            json!({ "event_id": "m3", "order_ref": "part", "lines": [{ "sku": "A", "qty": 1 }] }),
        ),
    ];
    for (order_ref, subject, body) in messages {
        shop.ask("order.created.web", order(order_ref, order_ref, "A")).await;
        shop.end_hold(order_ref).await;
        let answer = shop.ask(subject, body).await;
        assert_eq!((answer.what(), &answer.body["duplicate"]), ("expired", &json!(true)), "{order_ref}");
        let told = shop.told_of(order_ref).await;
        assert_eq!(told.iter().map(Told::what).collect::<Vec<_>>(), ["held", "expired", "expired"]);
        assert_eq!(told[1].body["in_reply_to"], Value::Null);
    }
    // Renewed at once: expired is told, then held.
    shop.ask("order.created.web", order("o4", "renewed", "A")).await;
    shop.end_hold("renewed").await;
    let answer = shop.ask("order.renewed.web", json!({ "event_id": "m4", "order_ref": "renewed" })).await;
    assert_eq!((answer.what(), &answer.body["duplicate"]), ("held", &json!(false)));
    let told = shop.told_of("renewed").await;
    assert_eq!(told.iter().map(Told::what).collect::<Vec<_>>(), ["held", "expired", "held"]);
    stage.close().await;
}
