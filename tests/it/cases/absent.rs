//! CASES 22: absent or invalid is not 0.

use serde_json::{Value, json};

use super::Stage;
use crate::support::Figures;

/// Everything that is no count, as a source says it in the middle of a recount.
fn no_counts() -> Vec<Value> {
    let figures = [
        json!(null),
        json!(""),
        json!(" "),
        json!("12"),
        json!("invalid"),
        json!(-1),
        json!(1.5),
        json!(true),
        json!(false),
        json!([]),
        json!({}),
        json!(1_000_000_001_i64),
    ];
    let mut lines: Vec<Value> = figures.into_iter().map(|figure| json!({ "sku": "A", "on_hand": figure })).collect();
    lines.push(json!({ "sku": "A" }));
    lines.push(json!({ "sku": "A", "ON_HAND": 0, "qty": 0 }));
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_without_a_figure_changes_nothing_and_takes_its_whole_message_with_it() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count_many(&[("A", 7), ("B", 9)], "main").await;
    let mut expected = Vec::new();
    for (n, line) in no_counts().into_iter().enumerate() {
        for (kind, lines) in [("alone", json!([line])), ("beside", json!([{ "sku": "B", "on_hand": 1 }, line]))] {
            let id = format!("{kind}-{n}");
            shop.say("inventory.counted.main", json!({ "event_id": id, "lines": lines })).await;
            expected.push(("invalid_field".to_owned(), id));
        }
    }
    for (id, body) in
        [("no-lines", json!({ "event_id": "no-lines" })), ("empty", json!({ "event_id": "empty", "lines": [] }))]
    {
        shop.say("inventory.counted.main", body).await;
        expected.push(("invalid_field".to_owned(), id.to_owned()));
    }
    shop.settled().await;
    assert_eq!(shop.dead().await, expected);
    let untouched = |on_hand| Figures { on_hand, reserved: 0, version: 1 };
    assert_eq!(shop.figures("A", "main").await.unwrap(), untouched(7));
    assert_eq!(shop.figures("B", "main").await.unwrap(), untouched(9));
    assert_eq!(shop.number("SELECT count(*) FROM stock_movement").await, 2);
    assert_eq!(shop.stream("STOCK").await.len(), 2);

    // A zero that was said is one.
    shop.count("A", "main", 0).await;
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 0, reserved: 0, version: 2 });
    stage.close().await;
}
