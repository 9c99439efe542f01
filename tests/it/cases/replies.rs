//! `Lastunit-Reply-To`: the same answer at once, to whom may have it.

use async_nats::{HeaderMap, Subscriber};
use futures::StreamExt;
use serde_json::{Value, json};

use super::{Stage, page};
use crate::support::{Shop, order};

async fn say(shop: &Shop, subject: &str, reply_to: &str, body: &Value) {
    let mut headers = HeaderMap::new();
    headers.insert("lastunit-reply-TO", reply_to);
    shop.say_raw(subject, headers, body.to_string().into_bytes()).await;
}

async fn next(replies: &mut Subscriber) -> (String, Value) {
    let reply = tokio::time::timeout(super::PATIENCE, replies.next()).await.expect("a reply in time").unwrap();
    (reply.subject.to_string(), serde_json::from_slice(&reply.payload).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_to_be_told_directly_is_told_the_same() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    let mut replies = shop.js.client().subscribe("_INBOX.shop.>").await.unwrap();
    let created = "order.created.web";

    say(shop, created, "_INBOX.shop.1", &order("e1", "1", "A")).await;
    let (subject, held) = next(&mut replies).await;
    assert_eq!((&*subject, &held), ("_INBOX.shop.1", &shop.answer_to("e1").await.body));
    say(shop, created, "_INBOX.shop.2", &order("e2", "2", "A")).await;
    let (_, rejected) = next(&mut replies).await;
    assert_eq!(rejected, shop.answer_to("e2").await.body);
    // One that waits is answered when it is applied, and a cancel that is refused is told why.
    say(shop, "order.cancelled.web", "_INBOX.shop.3", &json!({ "event_id": "c3", "order_ref": "3" })).await;
    let wrong = json!({ "event_id": "c1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 9 }] });
    say(shop, "order.cancelled.web", "_INBOX.shop.4", &wrong).await;
    let (subject, refused) = next(&mut replies).await;
    assert_eq!((&*subject, &refused["error"]["code"]), ("_INBOX.shop.4", &json!("over_cancel")));
    assert!(refused["error"]["message"].as_str().unwrap().contains("sku A"));
    say(shop, created, "_INBOX.shop.5", &json!({ "event_id": "e5" })).await;
    assert_eq!(next(&mut replies).await.1["error"]["code"], "invalid_field");
    shop.say(created, order("e3", "3", "A")).await;
    let (subject, body) = next(&mut replies).await;
    assert_eq!((&*subject, body), ("_INBOX.shop.3", shop.answer_to("c3").await.body));

    // A redelivered event gets the present state, and nothing is told.
    shop.ask("order.cancelled.web", json!({ "event_id": "c2", "order_ref": "1" })).await;
    let told = shop.stream("RESERVATIONS").await.len();
    say(shop, created, "_INBOX.shop.6", &order("e1", "1", "A")).await;
    let (_, present) = next(&mut replies).await;
    assert_eq!((&present["duplicate"], &present["in_reply_to"]), (&json!(true), &json!("e1")));
    assert_eq!((&present["lines"][0]["state"], &present["reason"]), (&json!("released"), &json!("cancelled")));
    shop.settled().await;
    assert_eq!(shop.stream("RESERVATIONS").await.len(), told);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_where_nobody_may_be_told_and_it_is_counted() {
    let stage = Stage::open_with("replies.prefixes = ['_INBOX.shop.', 'answers.']").await;
    let shop = &stage.shop;
    shop.count("A", "main", 99).await;
    let mut everything = shop.js.client().subscribe(">").await.unwrap();
    let bad =
        ["_INBOX.other.1", "_INBOX.shop.*", "_INBOX.shop.>", "_INBOX.shop", "_INBOX.shop..a", "stock.changed.main.A"];
    for (n, reply_to) in bad.iter().enumerate() {
        say(shop, "order.created.web", reply_to, &order(&format!("e{n}"), &format!("o{n}"), "A")).await;
    }
    say(shop, "order.created.web", "answers.last", &order("last", "last", "A")).await;
    // Replies go out after the commit, in order: behind the last one there is none.
    loop {
        let message = everything.next().await.unwrap();
        let subject = message.subject.as_str();
        let is_answer =
            serde_json::from_slice::<Value>(&message.payload).is_ok_and(|body| body["order_ref"].is_string());
        assert!(!(is_answer && bad.contains(&subject)), "{subject}");
        if subject == "answers.last" {
            break;
        }
    }
    shop.settled().await;
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 7);
    let (status, metrics) = page(&stage.program, "/metrics").await;
    assert_eq!(status, 200);
    assert!(metrics.contains("lastunit_replies_ignored_total 6\n"), "{metrics}");
    stage.close().await;
}
