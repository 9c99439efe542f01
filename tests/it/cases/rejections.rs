//! Why an order is rejected: the first reason that applies, and what was missing.

use serde_json::{Value, json};

use super::{Stage, plain};
use crate::support::Figures;

fn slot() -> Value {
    json!({ "resource": "room", "from": "2027-01-01T13:00:00+03:00", "to": "2027-01-01T11:00:00Z" })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_reason_that_applies_is_told_with_what_was_missing() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.count("A", "far", 2).await;
    shop.count("B", "far", 7).await;
    let short = |sku, requested, available| json!({ "sku": sku, "requested": requested, "available": available });
    let slot_told =
        json!({ "resource": "room", "from": "2027-01-01T10:00:00.000000Z", "to": "2027-01-01T11:00:00.000000Z" });
    let cases = [
        (
            "unknown_sku",
            json!([{ "sku": "GHOST", "qty": 4, "warehouse": "nowhere" }, slot(), { "sku": "A", "qty": 9 }]),
            json!([short("GHOST", 4, 0)]),
        ),
        (
            "unknown_warehouse",
            json!([{ "sku": "A", "qty": 1, "warehouse": "nowhere" }, slot(), { "sku": "B", "qty": 9 }]),
            json!([short("A", 1, 0)]),
        ),
        ("unknown_resource", json!([slot(), { "sku": "A", "qty": 9 }]), json!([slot_told])),
        ("insufficient_stock", json!([{ "sku": "A", "qty": 3 }]), json!([short("A", 3, 2)])),
        // Only what is short is told; a named warehouse is the only one that counts.
        (
            "insufficient_stock",
            json!([{ "sku": "B", "qty": 7 }, { "sku": "A", "qty": 2, "warehouse": "main" }]),
            json!([short("A", 2, 1)]),
        ),
        // A known SKU in a known warehouse without that row counts as 0 there.
        ("insufficient_stock", json!([{ "sku": "B", "qty": 1, "warehouse": "main" }]), json!([short("B", 1, 0)])),
        // Two lines of one SKU that pass on their own are one line that does not.
        ("insufficient_stock", json!([{ "sku": "B", "qty": 4 }, { "sku": "B", "qty": 4 }]), json!([short("B", 8, 7)])),
    ];
    for (n, (reason, lines, shortages)) in cases.into_iter().enumerate() {
        let id = format!("e{n}");
        let told = shop.ask("order.created.web", json!({ "event_id": id, "order_ref": id, "lines": lines })).await;
        assert_eq!(told.subject, "reservation.rejected.web");
        assert_eq!(
            plain(&told),
            json!({ "channel": "web", "order_ref": id, "in_reply_to": id, "duplicate": false, "lines": [],
                    "reason": reason, "shortages": shortages })
        );
    }
    assert_eq!(shop.number("SELECT count(*) FROM sales_order WHERE state = 'rejected'").await, 7);
    assert_eq!(shop.number("SELECT count(*) FROM reservation").await, 0);
    assert_eq!(shop.figures("A", "far").await.unwrap(), Figures { on_hand: 2, reserved: 0, version: 1 });
    assert_eq!(shop.stream("STOCK").await.len(), 3, "a rejection changes no figures");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_lines_are_held_or_none() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.count("B", "main", 0).await;
    let both =
        json!({ "event_id": "e1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 1 }, { "sku": "B", "qty": 1 }] });
    assert_eq!(shop.ask("order.created.web", both).await.what(), "rejected");
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_sold_elsewhere_that_cannot_be_held_asks_a_person_once() {
    let stage = Stage::open_with(
        "channels.ozon.kind = 'ozon'\nchannels.wb.kind = 'wildberries'\nchannels.hook.kind = 'webhook'",
    )
    .await;
    let shop = &stage.shop;
    shop.count("A", "main", 0).await;
    let mut order = json!({ "event_id": "e1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 1 }] });
    shop.ask("order.created.ozon", order.clone()).await;
    shop.ask("order.created.wb", order.clone()).await;
    shop.ask("order.created.hook", order.clone()).await;
    order["payment"] = json!("on_delivery");
    shop.ask("order.created.web", order.clone()).await;
    order["payment"] = json!("prepaid");
    order["event_id"] = json!("e2");
    shop.ask("order.created.web", order.clone()).await;
    // Tried again while the question is open.
    order["event_id"] = json!("e3");
    assert_eq!(shop.ask("order.created.web", order).await.body["duplicate"], false);
    shop.settled().await;

    let told = shop.stream("RESERVATIONS").await;
    let reviews: Vec<_> = told.iter().filter(|told| told.subject.starts_with("review.")).collect();
    let channels = ["ozon", "wb", "web"];
    assert_eq!(reviews.len(), channels.len());
    for (told, channel) in reviews.iter().zip(channels) {
        assert_eq!(told.subject, "review.opened.oversold");
        let mut body = plain(told);
        let id = body["review_id"].take().as_i64().unwrap();
        assert!(!body["detail"].take().as_str().unwrap().is_empty());
        assert_eq!(
            body,
            json!({ "review_id": null, "kind": "oversold", "subject": { "channel": channel, "order_ref": "1" }, "detail": null })
        );
        let row: (String, bool) = sqlx::query_as("SELECT kind, resolved_at IS NULL FROM review_item WHERE id = $1")
            .bind(id)
            .fetch_one(&shop.db)
            .await
            .unwrap();
        assert_eq!(row, ("oversold".to_owned(), true));
    }
    assert_eq!(shop.number("SELECT count(*) FROM review_item").await, 3);
    stage.close().await;
}
