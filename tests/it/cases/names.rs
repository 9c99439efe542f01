//! Odd names go through subject, table and event unchanged.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Stage, line};

const ODD: [(&str, &str); 14] = [
    ("TROPA.", "TROPA%2E"),
    ("007", "007"),
    ("*", "%2A"),
    (">", "%3E"),
    ("a.*.>", "a%2E%2A%2E%3E"),
    ("two words", "two%20words"),
    ("100%", "100%25"),
    ("%2E", "%252E"),
    ("back\\slash", "back%5Cslash"),
    ("☕", "%E2%98%95"),
    ("caf\u{e9}", "caf%C3%A9"),
    ("cafe\u{301}", "cafe%CC%81"),
    ("<script>", "%3Cscript%3E"),
    ("a'b\"c{d},NULL", "a%27b%22c%7Bd%7D%2CNULL"),
];

#[tokio::test(flavor = "multi_thread")]
async fn odd_skus_are_held_stored_and_told_as_they_are() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let longest = ("ж".repeat(100), "%D0%B6".repeat(100));
    let mut names: Vec<(&str, &str)> = ODD.to_vec();
    names.push((&longest.0, &longest.1));

    let counted: Vec<_> = names.iter().map(|(sku, _)| json!({ "sku": sku, "on_hand": 5 })).collect();
    shop.say("inventory.counted.main", json!({ "event_id": "i1", "lines": counted })).await;
    shop.settled().await;
    let asked: Vec<_> = names.iter().map(|(sku, _)| json!({ "sku": sku, "qty": 2 })).collect();
    let told = shop.ask("order.created.web", json!({ "event_id": "e1", "order_ref": "1", "lines": asked })).await;
    let held: Vec<_> = names.iter().map(|(sku, _)| line(sku, "main", 2, "held")).collect();
    assert_eq!(told.body["lines"], json!(held));
    let part: Vec<_> = names.iter().map(|(sku, _)| json!({ "sku": sku, "qty": 1 })).collect();
    let told = shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1", "lines": part })).await;
    assert_eq!(told.what(), "released");
    shop.settled().await;

    let last: BTreeMap<String, serde_json::Value> =
        shop.stream("STOCK_LATEST").await.into_iter().map(|told| (told.subject, told.body)).collect();
    assert_eq!(last.len(), names.len());
    for (sku, token) in &names {
        let body = &last[&format!("stock.changed.main.{token}")];
        assert_eq!((&body["sku"], &body["on_hand"], &body["reserved"]), (&json!(sku), &json!(5), &json!(1)));
        assert_eq!(shop.figures(sku, "main").await.unwrap().reserved, 1, "{sku}");
    }
    assert_eq!(shop.number("SELECT count(*) FROM stock").await, i64::try_from(names.len()).unwrap());
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_references_and_event_ids_are_keys_byte_by_byte() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 100).await;
    let longest = "x".repeat(200);
    let names: Vec<&str> = ODD.iter().map(|(name, _)| *name).chain([&*longest, "a", "A"]).collect();
    for name in &names {
        let body = json!({ "event_id": name, "order_ref": name, "lines": [{ "sku": "A", "qty": 1 }] });
        let told = shop.ask("order.created.web", body).await;
        assert_eq!((told.what(), &told.body["order_ref"]), ("held", &json!(name)));
    }
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, i64::try_from(names.len()).unwrap());
    stage.close().await;
}
