//! Units come in, go, are counted, move.

use serde_json::{Value, json};

use super::{Stage, plain};
use crate::support::{Figures, Shop, order};

fn moved(event_id: &str, lines: &[(&str, i64)]) -> Value {
    let lines: Vec<_> = lines.iter().map(|(sku, qty)| json!({ "sku": sku, "qty": qty })).collect();
    json!({ "event_id": event_id, "reason": "spring", "lines": lines })
}

/// Publishes and waits until all is decided.
async fn say(shop: &Shop, subject: &str, body: Value) {
    shop.say(subject, body).await;
    shop.settled().await;
}

async fn movements(shop: &Shop) -> String {
    let all = "SELECT string_agg(concat_ws(' ', sku, warehouse, delta, kind, event_id), ', ' ORDER BY id) FROM stock_movement";
    shop.text(all).await.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_moves_units_is_journaled_and_told_with_its_version() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    say(shop, "inventory.received.main", moved("i1", &[("A", 4), ("B", 1), ("A", 6)])).await;
    say(shop, "inventory.written_off.main", moved("i2", &[("A", 3)])).await;
    say(shop, "inventory.counted.main", json!({ "event_id": "i3", "lines": [{ "sku": "A", "on_hand": 9 }] })).await;
    let mut transfer = moved("i4", &[("A", 2)]);
    transfer["to"] = json!("far");
    say(shop, "inventory.transferred.main", transfer).await;

    assert_eq!(
        movements(shop).await,
        "A main 10 received i1, B main 1 received i1, A main -3 written_off i2, A main 2 counted i3, \
         A main -2 transferred i4, A far 2 transferred i4"
    );
    let told: Vec<Value> = shop.stream("STOCK").await.iter().map(plain).collect();
    let figures = |sku: &str, warehouse: &str, version: i64, on_hand: i64| json!({ "sku": sku, "warehouse": warehouse, "version": version, "on_hand": on_hand, "reserved": 0, "available": on_hand });
    assert_eq!(
        told,
        [
            figures("A", "main", 1, 10),
            figures("B", "main", 1, 1),
            figures("A", "main", 2, 7),
            figures("A", "main", 3, 9),
            figures("A", "far", 1, 2),
            figures("A", "main", 4, 7),
        ]
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_that_finds_what_was_known_changes_nothing_and_a_count_of_nothing_makes_the_row() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let count = |id: &str, on_hand: i64| json!({ "event_id": id, "lines": [{ "sku": "A", "on_hand": on_hand }, { "sku": "A", "on_hand": on_hand }] });
    say(shop, "inventory.counted.main", count("i1", 0)).await;
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 0, reserved: 0, version: 1 });
    assert_eq!(shop.ask("order.created.web", order("e1", "1", "A")).await.body["reason"], "insufficient_stock");
    say(shop, "inventory.counted.main", count("i2", 0)).await;
    assert_eq!(shop.figures("A", "main").await.unwrap().version, 1);
    assert_eq!(movements(shop).await, "");
    assert_eq!(shop.stream("STOCK").await.len(), 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_taken_once_and_an_event_is_taken_once() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let by = |id: &str, document: &str, lines: &[(&str, i64)]| {
        let mut body = moved(id, lines);
        body["document_ref"] = json!(document);
        body
    };
    let received = "inventory.received.main";
    say(shop, received, by("i1", "PO-1", &[("A", 10), ("B", 5)])).await;
    say(shop, received, by("i1", "PO-1", &[("A", 10), ("B", 5)])).await;
    let mut same = by("i2", "PO-1", &[("B", 5), ("A", 4), ("A", 6)]);
    same["reason"] = json!("typed once more");
    say(shop, received, same).await;
    say(shop, received, by("i3", "PO-1", &[("A", 11), ("B", 5)])).await;
    // Unique per full subject.
    say(shop, "inventory.received.far", by("i1", "PO-1", &[("A", 1)])).await;
    say(shop, "inventory.written_off.main", by("i1", "PO-1", &[("A", 1)])).await;
    // Without a document the event alone is the key.
    say(shop, received, moved("i4", &[("B", 1)])).await;
    say(shop, received, moved("i4", &[("B", 1)])).await;
    say(shop, received, moved("i5", &[("B", 1)])).await;
    // The refused one is decided afresh.
    say(shop, received, by("i3", "PO-2", &[("A", 11)])).await;

    assert_eq!(shop.dead().await, [("conflicting_duplicate".to_owned(), "i3".to_owned())]);
    assert_eq!(
        movements(shop).await,
        "A main 10 received i1, B main 5 received i1, A far 1 received i1, A main -1 written_off i1, \
         B main 1 received i4, B main 1 received i5, A main 11 received i3"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unknown_is_a_dead_letter_the_sku_before_the_warehouse_and_nothing_is_half_done() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    say(shop, "inventory.received.main", moved("i0", &[("A", 10)])).await;
    let transfer = |id: &str, to: &str, lines: &[(&str, i64)]| {
        let mut body = moved(id, lines);
        body["to"] = json!(to);
        body
    };
    let cases = [
        ("inventory.written_off.nowhere", moved("i1", &[("GHOST", 1)]), "unknown_sku"),
        ("inventory.written_off.main", moved("i2", &[("A", 1), ("GHOST", 1)]), "unknown_sku"),
        ("inventory.written_off.nowhere", moved("i3", &[("A", 1)]), "unknown_warehouse"),
        ("inventory.transferred.main", transfer("i4", "far", &[("A", 1), ("GHOST", 1)]), "unknown_sku"),
        ("inventory.transferred.nowhere", transfer("i5", "far", &[("A", 1)]), "unknown_warehouse"),
        ("inventory.transferred.main", transfer("i6", "main", &[("A", 1)]), "invalid_field"),
        ("inventory.transferred.main", moved("i7", &[("A", 1)]), "invalid_field"),
        (
            "inventory.counted.main",
            json!({ "event_id": "i8", "lines": [{ "sku": "A", "on_hand": -1 }] }),
            "invalid_field",
        ),
        (
            "inventory.counted.main",
            json!({ "event_id": "i9", "lines": [{ "sku": "A", "on_hand": 1 }, { "sku": "A", "on_hand": 2 }] }),
            "invalid_field",
        ),
        ("inventory.counted.main", json!({ "event_id": "i10", "lines": [{ "sku": "A" }] }), "invalid_field"),
        (
            "inventory.received.main",
            json!({ "event_id": "i11", "warehouse": "far", "lines": [{ "sku": "A", "qty": 1 }] }),
            "subject_mismatch",
        ),
    ];
    let expected: Vec<_> =
        cases.iter().map(|(_, body, word)| (word.to_string(), body["event_id"].as_str().unwrap().to_owned())).collect();
    for (subject, body, _) in cases {
        shop.say(subject, body).await;
    }
    shop.settled().await;
    assert_eq!(shop.dead().await, expected);
    assert_eq!(shop.number("SELECT count(*) FROM stock").await, 1);
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 10, reserved: 0, version: 1 });
    // Known by now, it is decided afresh.
    say(shop, "inventory.received.nowhere", moved("i12", &[("GHOST", 2)])).await;
    say(shop, "inventory.written_off.nowhere", moved("i1", &[("GHOST", 1)])).await;
    assert_eq!(shop.figures("GHOST", "nowhere").await.unwrap().on_hand, 1);
    stage.close().await;
}

/// The broker keeps their order, and a count and a receipt do not commute.
#[tokio::test(flavor = "multi_thread")]
async fn changes_are_decided_in_the_order_of_the_stream() {
    let mut stage = Stage::open().await;
    let changes = (0..200).flat_map(|n| {
        let count = json!({ "event_id": format!("c{n}"), "lines": [{ "sku": "A", "on_hand": n }] });
        [
            ("inventory.counted.main".to_owned(), count),
            ("inventory.received.main".to_owned(), moved(&format!("r{n}"), &[("A", 1)])),
        ]
    });
    stage.restart(async |shop| shop.say_many(changes).await).await;
    stage.shop.settled().await;
    assert_eq!(stage.shop.figures("A", "main").await.unwrap().on_hand, 200);
    let kinds = "SELECT count(*) FROM stock_movement WHERE delta <> 1 OR kind <> 'received'";
    assert_eq!(stage.shop.number(kinds).await, 0, "every count finds what the receipt before it left");
    stage.close().await;
}
