//! What an order is told: held and confirmed bodies, headers, traces, the rows behind them.

use std::collections::HashSet;

use async_nats::HeaderMap;
use serde_json::json;
use time::Duration;

use super::{Stage, instant, line, plain};
use crate::support::{Figures, order, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_held_order_is_told_with_its_lines_and_its_end() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    shop.count("B", "main", 5).await;
    let body = json!({
        "event_id": "e1", "order_ref": "1001", "payment": "online", "channel": "web", "hold_for_s": 60,
        "total": { "amount": 15999, "currency": "RUB" }, "occurred_at": "2001-01-01T00:00:00Z", "colour": ["red"],
        "lines": [{ "sku": "A", "qty": 1 }, { "sku": "B", "qty": 2, "warehouse": "main" }, { "sku": "A", "qty": 2 }],
    });
    let told = shop.ask("order.created.web", body).await;

    assert_eq!(told.subject, "reservation.held.web");
    assert_eq!(
        plain(&told),
        json!({ "channel": "web", "order_ref": "1001", "in_reply_to": "e1", "duplicate": false,
                "lines": [line("A", "main", 3, "held"), line("B", "main", 2, "held")] })
    );
    let rows: (String, String, String, i64, String, time::OffsetDateTime, time::OffsetDateTime) = sqlx::query_as(
        "SELECT state, event_id, payment_mode, total_amount, currency, expires_at, created_at FROM sales_order",
    )
    .fetch_one(&shop.db)
    .await
    .unwrap();
    let (expires_at, created_at) = (rows.5, rows.6);
    assert_eq!((&*rows.0, &*rows.1, &*rows.2, rows.3, &*rows.4), ("held", "e1", "online", 15999, "RUB"));
    assert_eq!(expires_at - created_at, Duration::seconds(60));
    assert_eq!(instant(&told.body["expires_at"]), expires_at);

    shop.settled().await;
    let stock: Vec<_> =
        shop.stream("STOCK").await.iter().skip(2).map(|told| (told.subject.clone(), plain(told))).collect();
    let figures = |sku, on_hand, reserved| {
        json!({ "sku": sku, "warehouse": "main", "version": 2, "on_hand": on_hand, "reserved": reserved,
                "available": on_hand - reserved })
    };
    assert_eq!(
        stock,
        [
            ("stock.changed.main.A".to_owned(), figures("A", 10, 3)),
            ("stock.changed.main.B".to_owned(), figures("B", 5, 2)),
        ]
    );
    let journal =
        "SELECT string_agg(concat_ws(' ', sku, warehouse, from_state, to_state, qty, event_id), ', ' ORDER BY sku)
                   FROM reservation_event";
    assert_eq!(shop.text(journal).await.unwrap(), "A main held 3 e1, B main held 2 e1");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_payment_is_confirmed_at_once_and_never_ends() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    for payment in ["prepaid", "on_delivery"] {
        let mut body = order(payment, payment, "A");
        body["payment"] = json!(payment);
        body["hold_for_s"] = json!(60);
        let told = shop.ask("order.created.web", body).await;
        assert_eq!(told.subject, "reservation.confirmed.web");
        assert_eq!(
            plain(&told),
            json!({ "channel": "web", "order_ref": payment, "in_reply_to": payment, "duplicate": false,
                    "lines": [line("A", "main", 1, "confirmed")] })
        );
    }
    assert_eq!(
        shop.number("SELECT count(*) FROM sales_order WHERE state = 'confirmed' AND expires_at IS NULL").await,
        2
    );
    assert_eq!(shop.number("SELECT count(*) FROM reservation WHERE expires_at IS NOT NULL").await, 0);
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 10, reserved: 2, version: 3 });
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_as_long_as_asked_within_the_bounds() {
    let stage = Stage::open_with("hold.min_s = 100\nhold.default_s = 200\nhold.max_s = 300").await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    for (asked, given) in [(json!(null), 200), (json!(1), 100), (json!(250), 250), (json!(10_000_000_000_u64), 300)] {
        let name = asked.to_string();
        let mut body = order(&name, &name, "A");
        body["hold_for_s"] = asked;
        shop.ask("order.created.web", body).await;
        let held: i64 = sqlx::query_scalar(
            "SELECT extract(epoch FROM expires_at - created_at)::bigint FROM sales_order WHERE event_id = $1",
        )
        .bind(&name)
        .fetch_one(&shop.db)
        .await
        .unwrap();
        assert_eq!(held, given, "{name}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_is_a_cloud_event_with_an_id_of_its_own() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", order("e1", "1", "A")).await;
    let mut prepaid = order("e2", "2", "A");
    prepaid["payment"] = json!("prepaid");
    shop.ask("order.created.web", prepaid).await;
    shop.settled().await;
    let mut told = shop.stream("STOCK").await;
    told.extend(shop.stream("RESERVATIONS").await);
    let mut ids = HashSet::new();
    for told in &told {
        let id = told.body["event_id"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{id} twice");
        assert_eq!(told.header("ce-id"), Some(id));
        assert_eq!(told.header("Nats-Msg-Id"), Some(id));
        assert_eq!(told.header("ce-specversion"), Some("1.0"));
        assert_eq!(told.header("ce-time"), told.body["occurred_at"].as_str());
        assert_eq!(told.header("content-type"), Some("application/json"));
        assert!(told.header("ce-source").is_some_and(|source| !source.is_empty()));
        assert!(told.header("ce-type").is_some_and(|kind| !kind.is_empty()));
        assert_eq!(told.header("traceparent"), None);
    }
    let kinds: Vec<_> = told.iter().map(|told| told.subject.rsplit_once('.').unwrap().0).collect();
    assert_eq!(
        kinds,
        ["stock.changed.main", "stock.changed.main", "reservation.held", "reservation.rejected", "review.opened"]
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_is_carried_on_to_the_answer_and_to_the_figures() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (name, value, carried) in [("TraceParent", trace, Some(trace)), ("traceparent", "no trace", None)] {
        let mut headers = HeaderMap::new();
        headers.insert(name, value);
        shop.say_raw("order.created.web", headers, order(value, value, "A").to_string().into_bytes()).await;
        assert_eq!(shop.answer_to(value).await.header("traceparent"), carried);
        shop.settled().await;
        assert_eq!(shop.stream("STOCK").await.last().unwrap().header("traceparent"), carried);
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_again_is_the_same_event() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", order("e1", "1", "A")).await;
    shop.ask("order.created.web", order("e2", "2", "A")).await;
    shop.settled().await;
    let before = shop.stream("RESERVATIONS").await;

    shop.js.delete_stream("RESERVATIONS").await.unwrap();
    wait_until("the stream to be made again", super::PATIENCE, async || {
        shop.js.get_stream("RESERVATIONS").await.is_ok()
    })
    .await;
    sqlx::query("UPDATE outbox SET sent_at = NULL WHERE stream = 'RESERVATIONS'").execute(&shop.db).await.unwrap();
    let again = shop.wait_for("RESERVATIONS", before.len()).await;
    let content = |told: &crate::support::Told| (told.subject.clone(), told.headers.clone(), told.raw.clone());
    assert_eq!(again.iter().map(content).collect::<Vec<_>>(), before.iter().map(content).collect::<Vec<_>>());
    stage.close().await;
}
