//! `lastunit reviews list|show|resolve`.

use serde_json::{Value, json};

use super::super::{Stage, plain};
use crate::support::{Figures, order};

/// Five A in `main`, three of them held by order 1.
async fn held() -> Stage {
    let stage = Stage::open().await;
    stage.shop.count("A", "main", 5).await;
    let mut three = order("o1", "1", "A");
    three["lines"][0]["qty"] = json!(3);
    stage.shop.ask("order.created.web", three).await;
    stage
}

/// Has a stock message kept with a review, and returns the review's id.
async fn kept(stage: &Stage, subject: &str, body: &Value) -> String {
    stage.shop.say(subject, body.clone()).await;
    stage.shop.settled().await;
    stage.shop.number("SELECT max(review_id) FROM waiting_message").await.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kept_message_is_applied_once_a_person_has_made_room() {
    let line = json!([{ "sku": "A", "qty": 4 }]);
    let cases = [
        (
            "inventory.counted.main",
            json!({ "event_id": "i1", "lines": [{ "sku": "A", "on_hand": 1 }] }),
            "count_below_reserved",
        ),
        (
            "inventory.written_off.main",
            json!({ "event_id": "i1", "document_ref": "D", "lines": line }),
            "written_off_below_reserved",
        ),
        (
            "inventory.transferred.main",
            json!({ "event_id": "i1", "to": "far", "lines": line }),
            "transferred_below_reserved",
        ),
    ];
    for (subject, body, kind) in cases {
        let stage = held().await;
        let shop = &stage.shop;
        let id = kept(&stage, subject, &body).await;
        let listed = stage.document(&["reviews", "list"]).await;
        assert_eq!(
            (&listed[0]["id"], &listed[0]["kind"], listed.as_array().unwrap().len()),
            (&json!(id.parse::<i64>().unwrap()), &json!(kind), 1)
        );
        let shown = stage.document(&["reviews", "show", &id]).await;
        assert_eq!((&shown["kept"]["subject"], &shown["kept"]["body"]), (&json!(subject), &json!(body.to_string())));

        let ended = stage.launch.run(&["reviews", "resolve", &id, "--note", "counted twice", "--json"]).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(outcome["outcome"], "no_room");
        assert!(outcome["detail"].as_str().unwrap().contains("sku A"), "{outcome}");
        assert_eq!(shop.number("SELECT count(*) FROM review_item WHERE resolved_at IS NULL AND note IS NULL").await, 1);
        assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 5, reserved: 3, version: 2 });

        shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1" })).await;
        let outcome =
            stage.document(&["reviews", "resolve", &id, "--note", "order 1 was cancelled", "--by", "ann"]).await;
        assert_eq!(outcome["outcome"], "applied");
        assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 1, reserved: 0, version: 4 });
        assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
        shop.settled().await;

        let told = shop.stream("RESERVATIONS").await;
        let told: Vec<_> = told.iter().filter(|told| told.subject.starts_with("review.resolved.")).collect();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].subject, format!("review.resolved.{kind}"));
        let opened =
            shop.stream("RESERVATIONS").await.iter().filter(|told| told.subject.starts_with("review.opened.")).count();
        assert_eq!(opened, 1, "asked once, however often it had no room");
        let said = plain(told[0]);
        let word = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
        assert_eq!(
            (word("kind"), word("resolved_by"), word("note")),
            (kind.into(), "ann".into(), "order 1 was cancelled".into())
        );
        assert_eq!(
            (&said["review_id"], &said["subject"]["event_id"]),
            (&json!(id.parse::<i64>().unwrap()), &json!("i1"))
        );

        let outcome = stage.document(&["reviews", "resolve", &id, "--note", "again"]).await;
        assert_eq!(outcome["outcome"], "resolved_before");
        assert_eq!(shop.text("SELECT note FROM review_item").await.unwrap(), "order 1 was cancelled");
        // A redelivery is known still.
        shop.say(subject, body.clone()).await;
        shop.settled().await;
        assert_eq!(shop.figures("A", "main").await.unwrap().on_hand, 1);
        assert_eq!(stage.document(&["reviews", "list"]).await, json!([]));
        assert_eq!(stage.document(&["reviews", "list", "--all", "--kind", kind]).await[0]["resolved_by"], "ann");
        assert_eq!(stage.document(&["reviews", "list", "--all", "--kind", "oversold"]).await, json!([]));
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_has_ended_is_room_whoever_sweeps() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", order("o1", "1", "A")).await;
    let id =
        kept(&stage, "inventory.counted.main", &json!({ "event_id": "i1", "lines": [{ "sku": "A", "on_hand": 0 }] }))
            .await;
    shop.end_hold("1").await;
    let outcome = stage.document(&["reviews", "resolve", &id, "--note", "the hold has ended"]).await;
    assert_eq!(outcome["outcome"], "applied");
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 0, reserved: 0, version: 3 });
    assert_eq!(shop.text("SELECT state FROM sales_order WHERE order_ref = '1'").await.unwrap(), "expired");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_resolve_one_review_one_does_it() {
    let stage = held().await;
    let shop = &stage.shop;
    let id =
        kept(&stage, "inventory.written_off.main", &json!({ "event_id": "i1", "lines": [{ "sku": "A", "qty": 3 }] }))
            .await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1" })).await;
    let resolve = async || stage.document(&["reviews", "resolve", &id, "--note", "done"]).await;
    let (one, two, three) = tokio::join!(resolve(), resolve(), resolve());
    let mut outcomes = [one, two, three].map(|outcome| outcome["outcome"].as_str().unwrap().to_owned());
    outcomes.sort();
    assert_eq!(outcomes, ["applied", "resolved_before", "resolved_before"]);
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 2, reserved: 0, version: 4 });
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_locked_from_outside_leaves_the_review_open() {
    let stage = held().await;
    let shop = &stage.shop;
    let id =
        kept(&stage, "inventory.written_off.main", &json!({ "event_id": "i1", "lines": [{ "sku": "A", "qty": 3 }] }))
            .await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1" })).await;
    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM stock WHERE sku = 'A' FOR UPDATE").execute(&mut *holder).await.unwrap();
    let ended = stage.launch.run(&["reviews", "resolve", &id, "--note", "done", "--json"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("\"undecided\""), "{ended:?}");
    holder.rollback().await.unwrap();
    assert_eq!(stage.document(&["reviews", "resolve", &id, "--note", "done"]).await["outcome"], "applied");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_and_what_says_nothing_is_refused() {
    let stage = Stage::open().await;
    for args in [["reviews", "show", "7"].as_slice(), &["reviews", "resolve", "7", "--note", "x"]] {
        assert_eq!(stage.launch.run(args).await.code, Some(1), "{args:?}");
    }
    for args in [["reviews", "resolve", "7"].as_slice(), &["reviews", "resolve", "7", "--note", "  "]] {
        assert_eq!(stage.launch.run(args).await.code, Some(2), "{args:?}");
    }
    assert_eq!(stage.document(&["reviews", "list"]).await, json!([]));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parcel_that_left_elsewhere_is_decided_again() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.count("A", "far", 1).await;
    let line = json!({ "sku": "A", "qty": 3, "warehouse": "main" });
    let order = json!({ "event_id": "o1", "order_ref": "1", "payment": "on_delivery", "lines": [line] });
    shop.ask("order.created.web", order).await;
    let parcel = json!({ "event_id": "s1", "shipment_ref": "S-1", "channel": "web", "order_ref": "1",
                         "lines": [{ "sku": "A", "qty": 2 }] });
    let id = kept(&stage, "shipment.dispatched.far", &parcel).await;
    let ended = stage.launch.run(&["reviews", "resolve", &id, "--note", "found", "--json"]).await;
    assert!(ended.code == Some(1) && ended.stdout.contains("no_room"), "{ended:?}");

    let found = json!({ "event_id": "i9", "lines": [{ "sku": "A", "qty": 1 }] });
    shop.say("inventory.received.far", found).await;
    shop.settled().await;
    let outcome = stage.document(&["reviews", "resolve", &id, "--note", "one more was found in far"]).await;
    assert_eq!(outcome["outcome"], "applied");
    shop.settled().await;
    assert_eq!(shop.answer_to("s1").await.what(), "shipped");
    let figures = |told: Figures| (told.on_hand, told.reserved);
    assert_eq!(figures(shop.figures("A", "main").await.unwrap()), (5, 1));
    assert_eq!(figures(shop.figures("A", "far").await.unwrap()), (0, 0));
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
    assert_eq!(shop.number("SELECT count(*) FROM review_item WHERE resolved_at IS NULL").await, 0);
    stage.close().await;
}
