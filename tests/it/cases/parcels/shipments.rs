//! Several parcels, the same one told twice, and what cannot be shipped.

use std::collections::BTreeMap;

use async_nats::HeaderMap;
use futures::StreamExt;
use serde_json::{Value, json};

use super::{PATIENCE, Shop, Stage, line, lines, parcel, plain};

#[tokio::test(flavor = "multi_thread")]
async fn an_order_leaves_in_several_parcels_each_told_with_how_it_stands() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    let first = shop.ask("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 1)])).await;
    let expected = json!({
        "channel": "web", "order_ref": "1", "in_reply_to": "s1", "duplicate": false,
        "lines": [line("A", "main", (3, 1, 0), "confirmed"), line("B", "main", (1, 0, 0), "confirmed")],
    });
    assert_eq!((first.subject.as_str(), plain(&first)), ("reservation.shipped.web", expected));
    assert_eq!(shop.shelf("A", "main").await, (4, 2));

    // Lines of one SKU are summed.
    let second = shop.ask("shipment.dispatched.main", parcel("s2", "S-2", "1", &[("A", 1), ("B", 1), ("A", 1)])).await;
    assert_eq!(
        *lines(&second),
        json!([line("A", "main", (3, 3, 0), "shipped"), line("B", "main", (1, 1, 0), "shipped")])
    );
    assert_eq!((shop.shelf("A", "main").await, shop.shelf("B", "main").await), ((2, 0), (1, 0)));
    shop.settled().await;
    let stands = shop.text("SELECT state FROM sales_order WHERE order_ref = '1'").await;
    assert_eq!(stands.as_deref(), Some("shipped"));
    let left = |sku: &str, units: i64, event: &str| (sku.to_owned(), "main".to_owned(), units, event.to_owned());
    assert_eq!(shop.moved("shipped").await, [left("A", -1, "s1"), left("A", -2, "s2"), left("B", -1, "s2")]);
    let steps = "SELECT string_agg(concat_ws(' ', sku, from_state, to_state, qty, reason, event_id), ', ' ORDER BY id)
                 FROM reservation_event WHERE from_state IS NOT NULL";
    let expected =
        "A confirmed confirmed -1 shipped s1, A confirmed shipped -2 shipped s2, B confirmed shipped -1 shipped s2";
    assert_eq!(shop.text(steps).await.as_deref(), Some(expected));
    let told = shop.stream("STOCK").await;
    let last = told.iter().rfind(|told| told.body["sku"] == "A").unwrap();
    assert_eq!(
        (&last.body["on_hand"], &last.body["reserved"], &last.body["available"]),
        (&json!(2), &json!(0), &json!(2))
    );
    stage.close().await;
}

/// Two event ids, one `shipment_ref`: one effect.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_parcel_under_two_event_ids_leaves_once() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    shop.ask("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 1)])).await;
    let again = shop.ask("shipment.dispatched.main", parcel("s2", "S-1", "1", &[("A", 1)])).await;
    assert_eq!((again.what(), &again.body["duplicate"]), ("confirmed", &json!(true)));
    assert_eq!(
        *lines(&again),
        json!([line("A", "main", (3, 1, 0), "confirmed"), line("B", "main", (1, 0, 0), "confirmed")])
    );
    shop.say("shipment.dispatched.main", parcel("s3", "S-1", "1", &[("A", 2)])).await;
    shop.wait_for("DEAD", 1).await;
    assert_eq!(shop.dead().await, [("conflicting_duplicate".to_owned(), "s3".to_owned())]);
    assert_eq!(shop.shelf("A", "main").await, (4, 2));
    assert_eq!(shop.moved("shipped").await.len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parcel_with_one_wrong_line_is_refused_as_a_whole() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    let wrong: [(&str, &[(&str, i64)]); 2] = [("s1", &[("B", 1), ("A", 4)]), ("s2", &[("B", 1), ("C", 1)])];
    for (id, lines) in wrong {
        shop.say("shipment.dispatched.main", parcel(id, id, "1", lines)).await;
    }
    shop.wait_for("DEAD", 2).await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1", "lines": [{ "sku": "B", "qty": 1 }] }))
        .await;
    shop.say("shipment.dispatched.main", parcel("s3", "s3", "1", &[("A", 1), ("B", 1)])).await;
    shop.wait_for("DEAD", 3).await;
    let dead: Vec<_> = shop.dead().await;
    assert_eq!(dead, ["s1", "s2", "s3"].map(|id| ("over_shipment".to_owned(), id.to_owned())));
    shop.settled().await;
    // More than is outstanding asks nobody. The two others are one question: the order's.
    assert_eq!(shop.reviews_opened().await, ["shipped_without_hold"]);
    let about = shop.text("SELECT subject::text FROM review_item").await.unwrap();
    let about: Value = serde_json::from_str(&about).unwrap();
    assert_eq!(about, json!({ "channel": "web", "order_ref": "1" }));
    assert_eq!((shop.shelf("A", "main").await, shop.shelf("B", "main").await), ((5, 3), (2, 0)));
    assert_eq!(shop.moved("shipped").await, []);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_not_shipped_can_be_cancelled() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    shop.ask("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 1)])).await;
    let cancelled = shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1" })).await;
    assert_eq!(cancelled.what(), "released");
    assert_eq!(
        *lines(&cancelled),
        json!([line("A", "main", (1, 1, 0), "shipped"), line("B", "main", (1, 0, 0), "released")])
    );
    assert_eq!((shop.shelf("A", "main").await, shop.shelf("B", "main").await), ((4, 0), (2, 0)));
    shop.say("order.cancelled.web", json!({ "event_id": "c2", "order_ref": "1" })).await;
    shop.wait_for("DEAD", 1).await;
    assert_eq!(shop.dead().await, [("over_cancel".to_owned(), "c2".to_owned())]);
    let stands = shop.text("SELECT state FROM sales_order WHERE order_ref = '1'").await;
    assert_eq!(stands.as_deref(), Some("shipped"));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warehouse_that_asks_is_told_directly() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    let mut replies = shop.js.client().subscribe("_INBOX.warehouse.>").await.unwrap();
    let say = async |id: &str, qty: i64| {
        let mut headers = HeaderMap::new();
        headers.insert("Lastunit-Reply-To", "_INBOX.warehouse.1");
        let body = parcel(id, id, "1", &[("A", qty)]).to_string();
        shop.say_raw("shipment.dispatched.main", headers, body.into_bytes()).await;
    };
    let mut next = async || -> Value {
        let reply = tokio::time::timeout(PATIENCE, replies.next()).await.expect("a reply in time").unwrap();
        serde_json::from_slice(&reply.payload).unwrap()
    };
    say("s1", 1).await;
    assert_eq!(next().await, shop.answer_to("s1").await.body);
    say("s1", 1).await;
    let present = next().await;
    assert_eq!((&present["duplicate"], &present["lines"][0]["shipped_qty"]), (&json!(true), &json!(1)));
    say("s2", 9).await;
    assert_eq!(next().await["error"]["code"], "over_shipment");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_message_of_the_family_is_no_silence() {
    let stage = Stage::open().await;
    let shop: &Shop = &stage.shop;
    let mut of_far = parcel("s1", "S-1", "1", &[("A", 1)]);
    of_far["warehouse"] = json!("far");
    shop.say("shipment.dispatched.main", of_far).await;
    shop.say("shipment.lost.main", json!({ "event_id": "s2" })).await;
    shop.say("shipment.returned.main", super::returned("s3", "1", &[("A", 1, "mint")])).await;
    shop.wait_for("DEAD", 3).await;
    // Each may stand in a batch of its own, and batches are decided beside one another.
    let dead: BTreeMap<String, String> = shop.dead().await.into_iter().map(|(word, event)| (event, word)).collect();
    let words = [("s1", "subject_mismatch"), ("s2", "unknown_subject"), ("s3", "invalid_field")];
    assert_eq!(dead, words.map(|(event, word)| (event.to_owned(), word.to_owned())).into());
    stage.close().await;
}
