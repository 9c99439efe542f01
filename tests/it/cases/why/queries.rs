//! `lastunit.query.order`, `lastunit.query.stock`: any client's plain requests.

use std::collections::HashSet;

use async_nats::{Client, Message};
use futures::StreamExt;
use serde_json::{Value, json};

use super::super::{PATIENCE, Stage};
use crate::support::{order, wait_until};

async fn ask(client: &Client, subject: &str, question: Value) -> (Message, Value) {
    ask_raw(client, subject, question.to_string().into_bytes()).await
}

async fn ask_raw(client: &Client, subject: &str, question: Vec<u8>) -> (Message, Value) {
    // Asked once: who says that it is ready listens.
    let asking = client.request(subject.to_owned(), question.into());
    let answer = tokio::time::timeout(PATIENCE, asking).await.expect("in time").expect("an answer");
    let body = serde_json::from_slice(&answer.payload).unwrap();
    (answer, body)
}

/// Everybody's answers to a request.
async fn ask_all(client: &Client, subject: &str, wanted: usize) -> Vec<Value> {
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.unwrap();
    client.publish_with_reply(subject.to_owned(), inbox, "".into()).await.unwrap();
    let mut heard = Vec::new();
    while heard.len() < wanted {
        let answer = tokio::time::timeout(PATIENCE, answers.next()).await.expect("an answer").unwrap();
        heard.push(serde_json::from_slice(&answer.payload).unwrap());
    }
    heard
}

#[tokio::test(flavor = "multi_thread")]
async fn the_present_state_is_answered() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let client = shop.js.client();
    shop.count("A", "main", 5).await;
    shop.count("A", "far", 2).await;
    let mut two =
        json!({ "event_id": "o1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 2, "warehouse": "main" }] });
    two["total"] = json!({ "amount": 900, "currency": "EUR" });
    let held = shop.ask("order.created.web", two).await;
    shop.ask("order.created.web", json!({ "event_id": "o2", "order_ref": "2", "lines": [{ "sku": "A", "qty": 9 }] }))
        .await;

    let (_, mut answer) = ask(&client, "lastunit.query.order", json!({ "channel": "web", "order_ref": "1" })).await;
    assert!(answer.as_object_mut().unwrap().remove("created_at").unwrap().is_string());
    assert_eq!(
        answer,
        json!({
            "channel": "web", "order_ref": "1", "state": "held", "payment": "online", "lines": held.body["lines"],
            "total": { "amount": 900, "currency": "EUR" }, "expires_at": held.body["expires_at"],
        })
    );
    let (_, answer) = ask(&client, "lastunit.query.order", json!({ "channel": "web", "order_ref": "2" })).await;
    assert_eq!(
        (&answer["state"], &answer["reason"], &answer["lines"]),
        (&json!("rejected"), &json!("insufficient_stock"), &json!([]))
    );

    let row = |warehouse, version, on_hand: i64, reserved: i64| json!({ "warehouse": warehouse, "version": version, "on_hand": on_hand, "reserved": reserved, "available": on_hand - reserved });
    let (_, answer) = ask(&client, "lastunit.query.stock", json!({ "sku": "A" })).await;
    assert_eq!(answer, json!({ "sku": "A", "rows": [row("far", 1, 2, 0), row("main", 2, 5, 2)] }));
    let (_, answer) = ask(&client, "lastunit.query.stock", json!({ "sku": "A", "warehouse": "far" })).await;
    assert_eq!(answer, json!({ "sku": "A", "rows": [row("far", 1, 2, 0)] }));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_answered_is_an_error_in_the_body_and_for_the_protocol() {
    let stage = Stage::open().await;
    let client = stage.shop.js.client();
    stage.shop.count("A", "main", 5).await;
    let cases: [(&str, &[u8], &str, &str); 8] = [
        ("order", br#"{"channel":"web","order_ref":"9"}"#, "not_found", "404"),
        ("order", br#"{"channel":"web"}"#, "invalid_field", "400"),
        ("order", br#"{"channel":"a.b","order_ref":"9"}"#, "invalid_field", "400"),
        ("order", b"{", "malformed_json", "400"),
        ("order", b"", "malformed_json", "400"),
        ("stock", br#"{"sku":"GHOST"}"#, "unknown_sku", "404"),
        ("stock", br#"{"sku":"A","warehouse":"far"}"#, "not_found", "404"),
        ("stock", br#"{"sku":7}"#, "invalid_field", "400"),
    ];
    for (about, question, code, status) in cases {
        let (answer, body) = ask_raw(&client, &format!("lastunit.query.{about}"), question.to_vec()).await;
        assert_eq!(body["error"]["code"], code, "{about} {body}");
        assert!(!body["error"]["message"].as_str().unwrap().is_empty());
        let headers = answer.headers.unwrap();
        assert_eq!(headers.get("Nats-Service-Error-Code").unwrap().as_str(), status);
        assert_eq!(headers.get("Nats-Service-Error").unwrap().as_str(), code);
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_found_as_a_service_and_several_copies_answer_once() {
    let stage = Stage::open().await;
    let second = stage.launch.ready(&["run"]).await;
    let client = stage.shop.js.client();
    stage.shop.count("A", "main", 5).await;
    let pings = ask_all(&client, "$SRV.PING.lastunit", 2).await;
    let ids: HashSet<&str> = pings.iter().map(|ping| ping["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{pings:?}");
    for info in ask_all(&client, "$SRV.INFO.lastunit", 2).await {
        assert_eq!((&info["name"], &info["type"]), (&json!("lastunit"), &json!("io.nats.micro.v1.info_response")));
        let endpoints = info["endpoints"].as_array().unwrap();
        let mut subjects: Vec<&str> = endpoints.iter().map(|endpoint| endpoint["subject"].as_str().unwrap()).collect();
        subjects.sort_unstable();
        assert_eq!(subjects, ["lastunit.query.order", "lastunit.query.stock"]);
        assert!(endpoints.iter().all(|endpoint| endpoint["queue_group"] == "lastunit"), "{info}");
    }
    // Asked forty times, answered forty times, by both.
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.unwrap();
    for _ in 0..40 {
        let question = json!({ "sku": "A" }).to_string();
        client.publish_with_reply("lastunit.query.stock", inbox.clone(), question.into()).await.unwrap();
    }
    for _ in 0..40 {
        tokio::time::timeout(PATIENCE, answers.next()).await.expect("an answer").unwrap();
    }
    let counted = || async {
        let stats = ask_all(&client, "$SRV.STATS.lastunit", 2).await;
        let of = |stats: &Value| {
            let endpoints = stats["endpoints"].as_array().unwrap();
            endpoints.iter().find(|endpoint| endpoint["name"] == "stock").unwrap()["num_requests"].as_u64().unwrap()
        };
        stats.iter().map(of).sum::<u64>()
    };
    wait_until("every question to be counted", PATIENCE, async || counted().await == 40).await;
    drop(second);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_prefix_the_subjects_bear_it() {
    let stage = Stage::open().await;
    let prefixed = stage.launch.clone().config("streams.prefix = \"shop1\"\n[database]\nschema = \"shop1\"");
    sqlx::query("CREATE SCHEMA shop1").execute(&stage.shop.db).await.unwrap();
    let second = prefixed.ready(&["run"]).await;
    let client = stage.shop.js.client();
    stage.shop.count("A", "main", 5).await;
    let (_, body) = ask(&client, "shop1.lastunit.query.stock", json!({ "sku": "A" })).await;
    assert_eq!(body["error"]["code"], "unknown_sku", "it looks into its own schema");
    let (_, body) = ask(&client, "lastunit.query.stock", json!({ "sku": "A" })).await;
    assert_eq!(body["rows"][0]["on_hand"], 5);
    drop(second);
    stage.close().await;
}

/// In the order in which the events have them: lines, then slots.
#[tokio::test(flavor = "multi_thread")]
async fn slots_are_told_as_the_events_have_them() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    sqlx::query("INSERT INTO slot_resource (resource) VALUES ('room'), ('hall')").execute(&shop.db).await.unwrap();
    let slot =
        |resource: &str| json!({ "resource": resource, "from": "2099-01-01T10:00:00Z", "to": "2099-01-01T11:00:00Z" });
    let mixed = [slot("room"), json!({ "sku": "A", "qty": 2 }), slot("hall")];
    for (order_ref, lines, count) in [("1", mixed.as_slice(), 3), ("2", &[slot("room")], 0)] {
        let told = shop
            .ask("order.created.web", json!({ "event_id": order_ref, "order_ref": order_ref, "lines": lines }))
            .await;
        let question = json!({ "channel": "web", "order_ref": order_ref });
        let (_, answer) = ask(&shop.js.client(), "lastunit.query.order", question).await;
        assert_eq!((answer["state"].as_str(), &answer["lines"]), (Some(told.what()), &told.body["lines"]));
        assert_eq!(answer["lines"].as_array().unwrap().len(), count);
    }
    stage.close().await;
}

/// A question waits for nobody's lock, and nobody waits for a question.
#[tokio::test(flavor = "multi_thread")]
async fn locked_rows_are_answered_as_they_stand() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", order("o1", "1", "A")).await;
    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("UPDATE stock SET on_hand = 99 WHERE sku = 'A'").execute(&mut *holder).await.unwrap();
    let (_, body) = ask(&shop.js.client(), "lastunit.query.stock", json!({ "sku": "A" })).await;
    assert_eq!(body["rows"][0]["on_hand"], 5);
    holder.rollback().await.unwrap();
    stage.close().await;
}
