//! F17: messages that cannot be processed, among others that can.

use async_nats::HeaderMap;
use serde_json::{Value, json};

use crate::support::{Ground, Launch, Program, Shop, order};

struct Poison {
    what: &'static str,
    subject: &'static str,
    body: Vec<u8>,
    reason: &'static str,
}

fn poison(what: &'static str, body: impl Into<Vec<u8>>, reason: &'static str) -> Poison {
    Poison { what, subject: "order.created.web", body: body.into(), reason }
}

fn with_qty(qty: &str) -> String {
    format!(r#"{{ "event_id": "p", "order_ref": "p", "lines": [{{ "sku": "A", "qty": {qty} }}] }}"#)
}

fn all() -> Vec<Poison> {
    let nested = format!(r#"{{ "event_id": "p", "deep": {}{} }}"#, "[".repeat(200), "]".repeat(200));
    let large = json!({ "event_id": "p", "note": "x".repeat(300 << 10) }).to_string();
    let elsewhere =
        |subject, reason| Poison { what: subject, subject, body: order("p", "p", "A").to_string().into(), reason };
    let other_channel =
        json!({ "event_id": "p", "channel": "shop", "order_ref": "p", "lines": [{ "sku": "A", "qty": 1 }] });
    vec![
        poison("nested 200 deep", nested, "malformed_json"),
        poison("qty -1", with_qty("-1"), "invalid_field"),
        poison("qty 0", with_qty("0"), "invalid_field"),
        poison("qty 1.5", with_qty("1.5"), "invalid_field"),
        poison("qty 2^63", with_qty("9223372036854775808"), "invalid_field"),
        poison("qty 1,000,001", with_qty("1000001"), "invalid_field"),
        poison(
            "a key twice",
            r#"{ "event_id": "p", "order_ref": "p", "order_ref": "p", "lines": [] }"#,
            "malformed_json",
        ),
        poison("300 KiB", large, "too_large"),
        poison("invalid UTF-8", b"{ \"event_id\": \"\xff\" }".to_vec(), "malformed_json"),
        poison(
            "NUL in a key",
            r#"{ "event_id": "p", "order_ref": "a\u0000b", "lines": [{ "sku": "A", "qty": 1 }] }"#,
            "invalid_field",
        ),
        poison("no body", "", "malformed_json"),
        poison("no object", "[1, 2]", "invalid_field"),
        poison("another channel", other_channel.to_string(), "subject_mismatch"),
        elsewhere("order.created", "unknown_subject"),
        elsewhere("order.created.web.more", "unknown_subject"),
        elsewhere("order.forgotten.web", "unknown_subject"),
    ]
}

/// Says all poison, each between two orders, while nobody is there; then somebody comes and takes it as one batch.
async fn taken_as_one_batch(ground: &Ground, launch: &Launch) -> (Shop, Program) {
    let mut first = launch.ready(&["run"]).await;
    let shop = Shop::open(ground).await;
    shop.count("A", "main", 1_000).await;
    assert_eq!(first.terminate().await, Some(0));
    shop.say("order.created.web", order("e0", "o0", "A")).await;
    for (n, poison) in all().into_iter().enumerate() {
        let mut headers = HeaderMap::new();
        headers.append("X-Shop", "one");
        headers.append("X-Shop", "two, ü");
        headers.insert("Nats-Msg-Id", format!("poison-{n}"));
        shop.say_raw(poison.subject, headers, poison.body).await;
        let n = n + 1;
        shop.say("order.created.web", order(&format!("e{n}"), &format!("o{n}"), "A")).await;
    }
    let second = launch.ready(&["run"]).await;
    shop.settled().await;
    (shop, second)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_poison_is_laid_to_rest_whole_and_its_neighbours_flow() {
    let ground = Ground::new().await;
    let (shop, _program) = taken_as_one_batch(&ground, &Launch::new(&ground)).await;
    let dead = shop.stream("DEAD").await;
    let reasons: Vec<_> = dead.iter().map(|told| told.header("Lastunit-Reason").unwrap()).collect();
    assert_eq!(reasons, all().iter().map(|poison| poison.reason).collect::<Vec<_>>());
    let stored: Vec<(String, String, Vec<u8>, Value)> =
        sqlx::query_as("SELECT subject, reason, body, headers FROM dead_letter ORDER BY sequence")
            .fetch_all(&shop.db)
            .await
            .unwrap();
    for (n, (poison, (told, stored))) in all().into_iter().zip(dead.iter().zip(&stored)).enumerate() {
        let what = poison.what;
        assert_eq!(told.header("Lastunit-Reason"), Some(poison.reason), "{what}: {:?}", told.header("Lastunit-Detail"));
        assert_eq!(told.subject, format!("dead.{}", poison.subject), "{what}");
        assert!(told.raw == poison.body, "the body of {what}");
        assert!(told.header("Lastunit-Detail").is_some_and(|detail| !detail.is_empty()), "{what}");
        assert_eq!(told.header("Lastunit-Stream"), Some("ORDERS"), "{what}");
        assert_eq!(told.header("Lastunit-Consumer"), Some("lastunit-orders"), "{what}");
        // Each stands between two orders.
        assert_eq!(told.header("Lastunit-Sequence"), Some(&*(2 * n + 2).to_string()), "{what}");
        let kept: Vec<_> = told.headers.get_all("X-Shop").map(|value| value.as_str().to_owned()).collect();
        assert_eq!(kept, ["one", "two, ü"], "{what}");
        let original = json!({ "Nats-Msg-Id": [format!("poison-{n}")] }).to_string();
        assert_eq!(told.header("Lastunit-Original-Headers"), Some(&*original), "{what}");

        assert_eq!((&*stored.0, &*stored.1), (poison.subject, poison.reason), "{what}");
        assert!(stored.2 == poison.body, "the stored body of {what}");
        let headers = json!({ "Nats-Msg-Id": [format!("poison-{n}")], "X-Shop": ["one", "two, ü"] });
        assert_eq!(stored.3, headers, "{what}");
    }
    let orders: Vec<_> = (0..=all().len()).map(|n| format!("e{n}")).collect();
    let tally = shop.assert_answered_once(&orders).await;
    assert_eq!(tally["held"], orders.len());
    assert_eq!(tally.keys().filter(|what| *what != "held" && *what != "dead").count(), 0);
    shop.audit().await;
}
