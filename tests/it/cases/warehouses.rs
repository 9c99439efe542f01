//! From which warehouse an order is served.

use serde_json::{Value, json};

use super::Stage;
use crate::support::Shop;

async fn map(shop: &Shop, channel: &str, warehouse: &str, priority: i32) {
    sqlx::query("INSERT INTO channel_warehouse_map (warehouse, channel, priority) VALUES ($1, $2, $3)")
        .bind(warehouse)
        .bind(channel)
        .bind(priority)
        .execute(&shop.db)
        .await
        .unwrap();
}

/// Asks for an order and returns the warehouses of its lines, or the reason why not and what was short.
async fn choose(shop: &Shop, channel: &str, lines: Value) -> Value {
    let id = format!("{:016x}", fastrand::u64(..));
    let told =
        shop.ask(&format!("order.created.{channel}"), json!({ "event_id": id, "order_ref": id, "lines": lines })).await;
    let chosen = match told.what() {
        "held" => told.body["lines"].as_array().unwrap().iter().map(|line| line["warehouse"].clone()).collect(),
        _ => json!([told.body["reason"], told.body["shortages"]]),
    };
    shop.ask(&format!("order.cancelled.{channel}"), json!({ "event_id": id, "order_ref": id })).await;
    chosen
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_that_serves_all_serves_all_else_each_line_the_first_that_serves_it_whole() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    for (sku, warehouse, units) in
        [("A", "a", 1), ("A", "b", 2), ("A", "c", 5), ("B", "b", 1), ("B", "c", 5), ("C", "a", 1), ("D", "d", 1)]
    {
        shop.count(sku, warehouse, units).await;
    }
    let one = |sku: &str, qty: i64| json!({ "sku": sku, "qty": qty });
    let named = |sku: &str, qty: i64, warehouse: &str| json!({ "sku": sku, "qty": qty, "warehouse": warehouse });
    // `web` has no warehouses of its own: all, by name. `far` has c before b, and `void` one that nobody knows otherwise.
    map(shop, "far", "c", 1).await;
    map(shop, "far", "b", 2).await;
    map(shop, "equal", "c", 0).await;
    map(shop, "equal", "b", 0).await;
    map(shop, "void", "empty", 0).await;
    let short = |sku: &str, requested: i64, available: i64| json!([{ "sku": sku, "requested": requested, "available": available }]);
    let cases = [
        ("web", json!([one("A", 1)]), json!(["a"])),
        ("web", json!([one("A", 2)]), json!(["b"])),
        ("web", json!([one("A", 1), one("B", 1)]), json!(["b", "b"])),
        ("web", json!([one("A", 1), one("C", 1)]), json!(["a", "a"])),
        ("web", json!([one("A", 2), one("C", 1)]), json!(["b", "a"])),
        ("web", json!([one("A", 1), one("B", 1), one("C", 1), one("D", 1)]), json!(["a", "b", "a", "d"])),
        // No line is split.
        ("web", json!([one("A", 6)]), json!(["insufficient_stock", short("A", 6, 5)])),
        // A named one serves its line and no other.
        ("web", json!([named("A", 1, "c"), one("C", 1), one("B", 1)]), json!(["c", "a", "b"])),
        ("far", json!([one("A", 1)]), json!(["c"])),
        ("far", json!([one("A", 1), one("B", 1)]), json!(["c", "c"])),
        ("far", json!([one("C", 1)]), json!(["insufficient_stock", short("C", 1, 0)])),
        ("far", json!([named("C", 1, "a")]), json!(["a"])),
        ("equal", json!([one("A", 1)]), json!(["b"])),
        ("void", json!([one("A", 1)]), json!(["insufficient_stock", short("A", 1, 0)])),
        // A warehouse of a map is known, and counts as 0.
        ("web", json!([named("A", 1, "empty")]), json!(["insufficient_stock", short("A", 1, 0)])),
        ("web", json!([named("A", 1, "unheard-of")]), json!(["unknown_warehouse", short("A", 1, 0)])),
    ];
    for (channel, lines, expected) in cases {
        assert_eq!(choose(shop, channel, lines.clone()).await, expected, "{channel} {lines}");
    }
    stage.close().await;
}
