//! `lastunit explain --stock SKU --warehouse W --at TIME`.

use std::collections::BTreeMap;

use serde_json::json;

use super::super::{PATIENCE, Stage};
use crate::support::{buyers, wait_until};

/// Figures as they were read from the row together with the instant of the decision that made them.
#[tokio::test(flavor = "multi_thread")]
async fn a_past_moment_has_the_figures_that_stood_there_then() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("HOT", "main", 400).await;
    let load = shop.trickle(buyers("buyer", &["HOT"]).take(600));
    let mut seen: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let received = json!({ "event_id": "more", "lines": [{ "sku": "HOT", "qty": 100 }] });
    shop.say("inventory.received.main", received).await;
    wait_until("the rush to be over", PATIENCE, async || {
        let (at, on_hand, reserved): (String, i64, i64) = sqlx::query_as(
            "SELECT to_char(updated_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), on_hand, reserved FROM stock WHERE sku = 'HOT'",
        )
        .fetch_one(&shop.db)
        .await
        .unwrap();
        seen.insert(at, (on_hand, reserved));
        shop.number("SELECT count(*) FROM sales_order").await == 600
    })
    .await;
    load.all().await;
    shop.settled().await;

    assert!(seen.len() >= 3, "figures were seen while they changed: {seen:?}");
    let some: Vec<_> = seen.iter().step_by(seen.len().div_ceil(8)).collect();
    for (at, (on_hand, reserved)) in some {
        let shelf =
            stage.document(&["explain", "--stock", "HOT", "--warehouse", "main", "--at", at, "--last", "5"]).await;
        assert_eq!((&shelf["on_hand"], &shelf["reserved"]), (&json!(on_hand), &json!(reserved)), "{shelf:#}");
        assert_eq!(shelf["available"], json!(on_hand - reserved));
        for (part, row, total) in [("movements", "delta", on_hand), ("steps", "qty", reserved)] {
            let rows = shelf[part]["rows"].as_array().unwrap();
            let named: i64 = rows.iter().map(|one| one[row].as_i64().unwrap()).sum();
            assert_eq!(shelf[part]["older"]["sum"].as_i64().unwrap() + named, *total, "{shelf:#}");
            assert!(rows.len() <= 5);
        }
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_rows_are_named_and_those_before_are_summed() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 7).await;
    let received = |id: &str, qty: i64| json!({ "event_id": id, "lines": [{ "sku": "A", "qty": qty }] });
    shop.say("inventory.received.main", received("i1", 2)).await;
    shop.say("inventory.written_off.main", received("i2", 1)).await;
    shop.settled().await;
    for n in 1..=3 {
        let id = format!("o{n}");
        shop.ask("order.created.web", json!({ "event_id": id, "order_ref": id, "lines": [{ "sku": "A", "qty": n }] }))
            .await;
    }
    shop.ask("order.cancelled.web", json!({ "event_id": "c2", "order_ref": "o2", "reason": "too late" })).await;
    shop.settled().await;
    let shelf = stage.document(&["explain", "--stock", "A", "--warehouse", "main", "--last", "2"]).await;
    assert_eq!((&shelf["on_hand"], &shelf["reserved"], &shelf["available"]), (&json!(8), &json!(4), &json!(4)));
    assert_eq!(shelf["movements"]["older"], json!({ "rows": 1, "sum": 7 }));
    assert_eq!(shelf["steps"]["older"], json!({ "rows": 2, "sum": 3 }));
    let text = stage.launch.run(&["explain", "--stock", "A", "--warehouse", "main", "--last", "2"]).await.stdout;
    for words in [
        "8 on the shelf, 4 of them promised, 4 free",
        "+7 by 1 movements before these",
        "received (event i1), then 9",
        "written_off (event i2), then 8",
        "+3 by 2 steps before these",
        "order o2 of channel web released (too late), then 4",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Before anything was there.
    let shelf = stage.document(&["explain", "--stock", "A", "--warehouse", "main", "--at", "1h"]).await;
    assert_eq!((&shelf["on_hand"], &shelf["reserved"], &shelf["now"]["on_hand"]), (&json!(0), &json!(0), &json!(8)));
    stage.close().await;
}
