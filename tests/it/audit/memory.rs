//! Neither the tables nor the findings are ever in memory.

use std::time::Duration;

use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::support::{Ground, Launch, Shop};

const SKUS: i64 = 100;

/// Orders with a line each, consistent, and told: `from` to `to`.
async fn fill(shop: &Shop, from: i64, to: i64) {
    let rows = [
        "INSERT INTO sales_order (channel, order_ref, state, event_id, payment_mode, created_at)
         SELECT 'web', n::text, 'confirmed', n::text, 'prepaid', now()",
        "INSERT INTO reservation (id, channel, order_ref, sku, warehouse, qty, state, named, created_at)
         SELECT n, 'web', n::text, 'sku' || n % 100, 'main', 1, 'confirmed', false, now()",
        "INSERT INTO reservation_event (reservation_id, sku, warehouse, to_state, qty, at)
         SELECT n, 'sku' || n % 100, 'main', 'confirmed', 1, now()",
    ];
    for rows in rows {
        let statement = format!("{rows} FROM generate_series({from}, {to}) AS n");
        sqlx::query(AssertSqlSafe(statement)).execute(&shop.db).await.unwrap();
    }
    let stock = format!("UPDATE stock SET reserved = {}, version = version + 1", to / SKUS);
    sqlx::query(AssertSqlSafe(stock)).execute(&shop.db).await.unwrap();
    let rows: Vec<(String, i64, i64, i64)> =
        sqlx::query_as("SELECT sku, on_hand, reserved, version FROM stock").fetch_all(&shop.db).await.unwrap();
    let told = rows.into_iter().map(|(sku, on_hand, reserved, version)| {
        let figures = json!({ "sku": sku, "warehouse": "main", "version": version, "on_hand": on_hand,
                              "reserved": reserved, "available": on_hand - reserved });
        (format!("stock.changed.main.{sku}"), figures)
    });
    shop.say_many(told).await;
}

/// The most memory that the command had at any time, in KiB, its exit code, and how many findings it printed.
async fn peak(launch: &Launch) -> (i64, Option<i32>, usize) {
    let mut program = launch.start(&["audit"]).await;
    let (peak, status) = program.peak(Duration::from_mins(2)).await;
    (peak, status.code(), program.stdout().lines().filter(|line| line.starts_with("invariant ")).count())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_reservations_take_no_more_memory_than_ten_thousand() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    let shelves: Vec<(String, i64)> = (0..SKUS).map(|n| (format!("sku{n}"), 1_000_000)).collect();
    shop.count_many(&shelves, "main").await;
    shop.settled().await;
    assert_eq!(program.terminate().await, Some(0));

    fill(&shop, 1, 10_000).await;
    let (few, code, found) = peak(&launch).await;
    assert_eq!((code, found), (Some(0), 0));
    fill(&shop, 10_001, 1_000_000).await;
    let (many, code, found) = peak(&launch).await;
    assert_eq!((code, found), (Some(0), 0));
    // And as many findings as lines.
    sqlx::query("UPDATE reservation_event SET from_state = 'held' WHERE reservation_id % 5 = 0")
        .execute(&shop.db)
        .await
        .unwrap();
    let (findings, code, found) = peak(&launch).await;
    assert_eq!((code, found), (Some(1), 200_000));
    println!(
        "peak memory of the audit: {few} KiB of 10,000, {many} KiB of 1,000,000, {findings} KiB of 200,000 findings"
    );
    let room = 8 * 1024;
    assert!(many < few + room, "{few} KiB, then {many} KiB");
    assert!(findings < few + room, "{few} KiB, then {findings} KiB with findings");
}
