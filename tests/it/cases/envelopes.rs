//! Three envelopes inbound, and the dead letters of what has none.

use async_nats::HeaderMap;
use serde_json::{Value, json};

use super::Stage;
use crate::support::order;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.insert(*name, *value);
    }
    headers
}

#[tokio::test(flavor = "multi_thread")]
async fn every_envelope_is_understood_and_names_its_event() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 100).await;
    let without_id = |order_ref: &str| json!({ "order_ref": order_ref, "lines": [{ "sku": "A", "qty": 1 }] });
    let structured = |id: &str| json!({ "specversion": "1.0", "id": id, "source": "shop", "type": "order", "data": order("inner", id, "A") });
    let cases: [(&str, HeaderMap, Value); 6] = [
        ("plain", headers(&[]), order("plain", "plain", "A")),
        ("body-wins", headers(&[("Nats-Msg-Id", "other")]), order("body-wins", "body-wins", "A")),
        ("from-header", headers(&[("nats-msg-id", "from-header")]), without_id("from-header")),
        ("structured", headers(&[]), structured("structured")),
        ("typed", headers(&[("Content-TYPE", "application/cloudevents+json; charset=utf-8")]), structured("typed")),
        ("binary", headers(&[("CE-Id", "binary"), ("Ce-SpecVersion", "1.0")]), order("inner", "binary", "A")),
    ];
    for (id, headers, body) in cases {
        shop.say_raw("order.created.web", headers, body.to_string().into_bytes()).await;
        let told = shop.answer_to(id).await;
        assert_eq!((told.what(), &told.body["order_ref"]), ("held", &json!(id)));
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_processed_is_a_dead_letter_with_its_word_and_its_body_untouched() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 100).await;
    let mut large = order("e", "1", "A");
    large["padding"] = json!("x".repeat(256 * 1024));
    let with = |field: &str, value: Value| {
        let mut body = order("e", "1", "A");
        body[field] = value;
        body.to_string()
    };
    let line = |value: Value| with("lines", json!([value]));
    let (created, cancelled) = ("order.created.web", "order.cancelled.web");
    let cases: Vec<(&str, &str, Vec<u8>)> = vec![
        (created, "malformed_json", b"".to_vec()),
        (created, "malformed_json", b"{ \"event_id\": \"\xff\" }".to_vec()),
        (created, "malformed_json", b"{\"event_id\":\"e\",\"event_id\":\"f\"}".to_vec()),
        (created, "malformed_json", format!("{}1{}", "[".repeat(200), "]".repeat(200)).into_bytes()),
        (created, "invalid_field", b"[]".to_vec()),
        (created, "missing_event_id", b"{\"order_ref\":\"1\",\"lines\":[{\"sku\":\"A\",\"qty\":1}]}".to_vec()),
        (created, "subject_mismatch", with("channel", json!("other")).into_bytes()),
        (created, "too_large", large.to_string().into_bytes()),
        (created, "invalid_field", with("event_id", json!("x".repeat(201))).into_bytes()),
        (created, "invalid_field", with("order_ref", json!(" 1")).into_bytes()),
        (created, "invalid_field", with("order_ref", json!(1)).into_bytes()),
        (created, "invalid_field", with("hold_for_s", json!(0)).into_bytes()),
        (created, "invalid_field", with("payment", json!("credit")).into_bytes()),
        (created, "invalid_field", with("total", json!({ "amount": -1, "currency": "RUB" })).into_bytes()),
        (created, "invalid_field", with("total", json!({ "amount": 1, "currency": "rub" })).into_bytes()),
        (created, "invalid_field", with("lines", json!([])).into_bytes()),
        (created, "invalid_field", with("lines", json!(vec![json!({ "sku": "A", "qty": 1 }); 501])).into_bytes()),
        (created, "invalid_field", line(json!({ "sku": "A", "qty": 0 })).into_bytes()),
        (created, "invalid_field", line(json!({ "sku": "A", "qty": 1.5 })).into_bytes()),
        (created, "invalid_field", line(json!({ "sku": "A", "qty": "1" })).into_bytes()),
        (created, "invalid_field", line(json!({ "sku": "A", "qty": 1_000_001 })).into_bytes()),
        (created, "invalid_field", line(json!({ "sku": "A\u{0}", "qty": 1 })).into_bytes()),
        (created, "invalid_field", line(json!({ "sku": "A", "qty": 1, "warehouse": "no.token" })).into_bytes()),
        (cancelled, "invalid_field", with("reason", json!("x".repeat(501))).into_bytes()),
        (cancelled, "invalid_field", with("reason", json!("nul \u{0}")).into_bytes()),
        ("order.created", "unknown_subject", with("a", json!(1)).into_bytes()),
        ("order.created.web.more", "unknown_subject", with("a", json!(1)).into_bytes()),
        ("order.deleted.web", "unknown_subject", with("a", json!(1)).into_bytes()),
        ("inventory.counted.main", "invalid_field", with("a", json!(1)).into_bytes()),
    ];
    for (subject, _, body) in &cases {
        shop.say_raw(subject, HeaderMap::new(), body.clone()).await;
    }
    // A neighbour in the same batch flows.
    let told = shop.ask(created, order("good", "good", "A")).await;
    assert_eq!(told.what(), "held");
    shop.settled().await;

    let mut dead = shop.stream("DEAD").await;
    assert_eq!(dead.len(), cases.len());
    // Batches of refusals share no row, so none waits for another: only the stream knows their order.
    dead.sort_by_key(|told| {
        let sequence: u64 = told.header("Lastunit-Sequence").unwrap().parse().unwrap();
        (told.header("Lastunit-Stream") != Some("ORDERS"), sequence)
    });
    for ((subject, word, body), told) in cases.iter().zip(&dead) {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]);
        assert_eq!(told.subject, format!("dead.{subject}"), "{shown}");
        assert_eq!(told.header("Lastunit-Reason"), Some(*word), "{shown}: {:?}", told.header("Lastunit-Detail"));
        assert_eq!(&told.raw, body);
    }
    assert_eq!(
        shop.number("SELECT count(*) FROM dead_letter WHERE resolved_at IS NULL").await,
        i64::try_from(cases.len()).unwrap()
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_says_why_and_from_where_and_keeps_the_headers() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    let mut body = order("e1", "1", "A");
    body["lines"][0]["qty"] = json!(-1);
    let original = headers(&[("X-Shop", "tropa"), ("Nats-Msg-Id", "m-1"), ("X-Nul", "a\u{0}b")]);
    shop.say_raw("order.created.web", original, body.to_string().into_bytes()).await;
    let dead = shop.wait_for("DEAD", 1).await.remove(0);
    assert!(dead.header("Lastunit-Detail").unwrap().contains("lines[0].qty"), "{:?}", dead.headers);
    assert_eq!(dead.header("Lastunit-Stream"), Some("ORDERS"));
    assert_eq!(dead.header("Lastunit-Sequence"), Some("1"));
    assert_eq!(dead.header("Lastunit-Consumer"), Some("lastunit-orders"));
    assert_eq!(dead.header("X-Shop"), Some("tropa"));
    assert_eq!(dead.header("Lastunit-Original-Headers"), Some(r#"{"Nats-Msg-Id":["m-1"]}"#));
    assert!(uuid::Uuid::parse_str(dead.header("Nats-Msg-Id").unwrap()).is_ok());
    stage.close().await;
}

/// What the broker took once it would not take again with our own words besides: the lane must not stop over it.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_with_more_headers_than_can_be_told_stops_none_behind_it() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let long = "x".repeat(65_000);
    shop.say_raw("order.created.web", headers(&[("X-Long", &long)]), b"{".to_vec()).await;
    shop.say_raw("order.created.web", HeaderMap::new(), b"[".to_vec()).await;
    let dead = shop.wait_for("DEAD", 2).await;
    let told = |body: &[u8]| dead.iter().find(|told| told.raw == body).unwrap();
    assert_eq!(told(b"{").header("X-Long"), None);
    assert_eq!(told(b"{").header("Lastunit-Reason"), Some("malformed_json"));
    assert_eq!(told(b"[").header("Lastunit-Reason"), Some("malformed_json"));
    let kept = shop.text("SELECT headers -> 'X-Long' ->> 0 FROM dead_letter WHERE headers ? 'X-Long'").await;
    assert_eq!(kept, Some(long));
    stage.close().await;
}
