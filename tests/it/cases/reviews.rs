//! Stock-takes that do not fit what is promised: a person is asked, the counter stays, the message is kept.

use serde_json::{Value, json};

use super::{Stage, plain};
use crate::support::{Figures, order};

#[tokio::test(flavor = "multi_thread")]
async fn what_would_break_a_promise_asks_a_person_and_is_kept() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.count("B", "main", 5).await;
    let mut three = order("o1", "1", "A");
    three["lines"][0]["qty"] = json!(3);
    shop.ask("order.created.web", three).await;

    let lines = |a: Value, b: Value| json!([a, b]);
    let qty = |sku: &str, qty: i64| json!({ "sku": sku, "qty": qty });
    let cases = [
        (
            "inventory.counted.main",
            json!({ "event_id": "i1", "lines": [{ "sku": "B", "on_hand": 9 }, { "sku": "A", "on_hand": 2 }] }),
            "count_below_reserved",
        ),
        (
            "inventory.written_off.main",
            json!({ "event_id": "i2", "document_ref": "D", "lines": lines(qty("B", 1), qty("A", 3)) }),
            "written_off_below_reserved",
        ),
        (
            "inventory.transferred.main",
            json!({ "event_id": "i3", "to": "new-one", "lines": lines(qty("B", 1), qty("A", 3)) }),
            "transferred_below_reserved",
        ),
    ];
    for (subject, body, _) in &cases {
        // A redelivery asks nobody again.
        shop.say(subject, body.clone()).await;
        shop.say(subject, body.clone()).await;
    }
    shop.settled().await;

    let told = shop.stream("RESERVATIONS").await;
    let reviews: Vec<_> = told.iter().filter(|told| told.subject.starts_with("review.")).collect();
    assert_eq!(reviews.len(), cases.len());
    for (told, (subject, body, kind)) in reviews.iter().zip(&cases) {
        assert_eq!(told.subject, format!("review.opened.{kind}"));
        let mut plain = plain(told);
        let id = plain["review_id"].take().as_i64().unwrap();
        assert!(plain["detail"].take().as_str().unwrap().contains("sku A"));
        let about =
            json!({ "subject": subject, "event_id": body["event_id"], "rows": [{ "sku": "A", "warehouse": "main" }] });
        assert_eq!(plain, json!({ "review_id": null, "kind": kind, "subject": about, "detail": null }));
        let kept: (String, Vec<u8>) = sqlx::query_as("SELECT subject, body FROM waiting_message WHERE review_id = $1")
            .bind(id)
            .fetch_one(&shop.db)
            .await
            .unwrap();
        assert_eq!(kept, ((*subject).to_owned(), body.to_string().into_bytes()));
    }
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 5, reserved: 3, version: 2 });
    assert_eq!(shop.figures("B", "main").await.unwrap(), Figures { on_hand: 5, reserved: 0, version: 1 });
    assert_eq!(shop.figures("A", "new-one").await, None);
    assert_eq!(shop.number("SELECT count(*) FROM stock_movement").await, 2);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_room_for_every_promise_is_taken() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 9).await;
    let mut three = order("o1", "1", "A");
    three["lines"][0]["qty"] = json!(3);
    shop.ask("order.created.web", three).await;
    shop.count("A", "main", 3).await;
    shop.count("A", "main", 5).await;
    shop.say("inventory.written_off.main", json!({ "event_id": "i1", "lines": [{ "sku": "A", "qty": 1 }] })).await;
    shop.settled().await;
    shop.say(
        "inventory.transferred.main",
        json!({ "event_id": "i2", "to": "far", "lines": [{ "sku": "A", "qty": 1 }] }),
    )
    .await;
    shop.settled().await;
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 3, reserved: 3, version: 6 });
    assert_eq!(shop.figures("A", "far").await.unwrap(), Figures { on_hand: 1, reserved: 0, version: 1 });
    assert_eq!(shop.number("SELECT count(*) FROM review_item").await, 0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_there_is_leaves_no_warehouse() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.count("B", "far", 1).await;
    shop.say("inventory.written_off.main", json!({ "event_id": "i1", "lines": [{ "sku": "A", "qty": 2 }] })).await;
    // Known in a known warehouse, without a row there: 0.
    shop.say(
        "inventory.transferred.far",
        json!({ "event_id": "i2", "to": "main", "lines": [{ "sku": "A", "qty": 1 }] }),
    )
    .await;
    shop.settled().await;
    // Told in the order in which it was decided; the ids of one batch say nothing of it.
    let told: Vec<_> = shop.stream("RESERVATIONS").await.into_iter().map(|told| told.subject).collect();
    assert_eq!(told, ["review.opened.written_off_below_reserved", "review.opened.transferred_below_reserved"]);
    assert_eq!(shop.number("SELECT count(*) FROM review_item").await, 2);
    assert_eq!(shop.number("SELECT count(*) FROM stock").await, 2);
    stage.close().await;
}

/// Nobody else would ever notice an order that never comes.
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_too_long_for_its_order_asks_a_person_once() {
    let stage = Stage::open_with("[waiting]\nmax_s = 1").await;
    let shop = &stage.shop;
    shop.say("order.cancelled.web", json!({ "event_id": "c", "order_ref": "never" })).await;
    let told = shop.wait_for("RESERVATIONS", 1).await.remove(0);
    assert_eq!(told.subject, "review.opened.waited_too_long");
    assert_eq!(told.body["kind"], "waited_too_long");
    assert_eq!(told.body["subject"]["event_id"], "c");
    assert_eq!(told.body["subject"]["subject"], "order.cancelled.web");
    let open =
        shop.number("SELECT count(*) FROM review_item WHERE kind = 'waited_too_long' AND resolved_at IS NULL").await;
    assert_eq!(open, 1);
    stage.close().await;
}
