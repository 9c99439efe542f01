//! What agrees with nothing, what was said before, and who asks to be told directly.

use async_nats::HeaderMap;
use futures::StreamExt;
use serde_json::{Value, json};

use super::{money, priced};
use crate::cases::Stage;
use crate::support::{PATIENCE, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn money_that_does_not_agree_confirms_nothing_and_a_person_is_asked_once() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 3).await;
    let wrong = [json!({ "amount": 99, "currency": "EUR" }), json!({ "amount": 100, "currency": "RUB" }), Value::Null];
    for (n, amount) in wrong.into_iter().enumerate() {
        let order_ref = n.to_string();
        shop.ask("order.created.web", priced(&format!("e{n}"), &order_ref, "A")).await;
        let mut paid = money(&format!("p{n}"), &format!("P{n}"), &order_ref);
        paid["amount"] = amount;
        shop.pay("succeeded", paid).await;
        assert_eq!(shop.state(&order_ref).await, "held");
        assert_eq!(shop.payment(&format!("P{n}")).await.unwrap().0, "succeeded");
    }
    let mismatch = |id: &str| ("payment_mismatch".to_owned(), id.to_owned());
    assert_eq!(shop.asked().await, ["P0", "P1", "P2"].map(mismatch));
    let opened = shop.stream("RESERVATIONS").await;
    let opened = opened.iter().find(|told| told.subject == "review.opened.payment_mismatch").unwrap();
    assert_eq!(
        opened.body["subject"],
        json!({ "provider": "stripe", "payment_id": "P0", "channel": "web", "order_ref": "0" })
    );
    // Other content under the same payment and verb: still the same question.
    shop.pay("succeeded", money("q0", "P0", "0")).await;
    assert_eq!(shop.asked().await.len(), 3);
    assert_eq!(shop.refunds().await.len(), 0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_belongs_to_the_order_it_was_first_reported_for() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 2).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.ask("order.created.web", priced("e2", "2", "A")).await;
    shop.pay("succeeded", money("p1", "P", "1")).await;
    shop.pay("succeeded", money("p2", "P", "2")).await;
    assert_eq!((shop.state("1").await, shop.state("2").await), ("confirmed".into(), "held".into()));
    assert_eq!(shop.text("SELECT order_ref FROM payment").await.as_deref(), Some("1"));
    assert_eq!(shop.asked().await, [("payment_mismatch".to_owned(), "P".to_owned())]);
    stage.close().await;
}

/// Two orders name one payment id at once: the second insert waits for the first, and then its order is asked about, not confirmed.
#[tokio::test(flavor = "multi_thread")]
async fn two_orders_that_name_one_payment_at_once_meet_at_its_id() {
    let stage = Stage::open_with("database.lock_timeout_ms = 20000").await;
    let second = stage.launch.ready(&["run"]).await;
    let shop = &stage.shop;
    shop.count("A", "main", 2).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.ask("order.created.web", priced("e2", "2", "A")).await;
    // Somebody has inserted the payment for order 1 and not committed.
    let mut first = shop.db.begin().await.unwrap();
    sqlx::query(
        "INSERT INTO payment (provider, payment_id, channel, order_ref, state, amount, currency, pays, updated_at)
         VALUES ('stripe', 'P', 'web', '1', 'started', 100, 'EUR', false, now())",
    )
    .execute(&mut *first)
    .await
    .unwrap();
    shop.say("payment.succeeded.stripe", money("p2", "P", "2")).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO payment%'";
    wait_until("the other order's payment to wait", PATIENCE, async || shop.number(waiting).await == 1).await;
    first.commit().await.unwrap();
    shop.decided("p2").await;
    assert_eq!(shop.state("2").await, "held");
    assert_eq!(shop.asked().await, [("payment_mismatch".to_owned(), "P".to_owned())]);
    shop.pay("succeeded", money("p1", "P", "1")).await;
    assert_eq!(shop.state("1").await, "confirmed");
    stage.close().await;
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_answered_directly_with_how_its_order_stands() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    let mut replies = shop.js.client().subscribe("_INBOX.gateway").await.unwrap();
    let mut wrong = money("p0", "P0", "1");
    wrong["amount"]["amount"] = json!(1);
    let mut malformed = money("bad", "P", "1");
    malformed["payment_id"] = json!("");
    for (verb, body, expected) in [
        ("succeeded", wrong, ("held", true)),
        ("succeeded", money("p1", "P1", "1"), ("confirmed", false)),
        ("succeeded", money("p1", "P1", "1"), ("confirmed", true)),
        ("succeeded", money("p2", "P2", "1"), ("confirmed", true)),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("Lastunit-Reply-To", "_INBOX.gateway");
        shop.say_raw(&format!("payment.{verb}.stripe"), headers, body.to_string().into_bytes()).await;
        let reply = tokio::time::timeout(PATIENCE, replies.next()).await.expect("a reply in time").unwrap();
        let reply: Value = serde_json::from_slice(&reply.payload).unwrap();
        assert_eq!(reply["in_reply_to"], body["event_id"]);
        let line = reply["lines"][0]["state"].as_str().unwrap();
        assert_eq!((line, reply["duplicate"].as_bool().unwrap()), expected);
    }
    shop.say("payment.succeeded.stripe", malformed).await;
    shop.settled().await;
    assert_eq!(shop.dead().await, [("invalid_field".to_owned(), "bad".to_owned())]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_cannot_be_understood_is_a_dead_letter_with_its_word() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let with = |id: &str, field: &str, value: Value| {
        let mut body = money(id, "P", "1");
        body[field] = value;
        body
    };
    let said = [
        ("payment.succeeded.stripe", with("b1", "provider", json!("paypal")), "subject_mismatch"),
        ("payment.captured.stripe", money("b2", "P", "1"), "unknown_subject"),
        ("payment.succeeded.stripe", with("b3", "channel", Value::Null), "invalid_field"),
        ("payment.succeeded.stripe", with("b4", "amount", json!({ "amount": -1, "currency": "EUR" })), "invalid_field"),
        ("payment.failed.stripe", with("b5", "amount", json!({ "amount": 1, "currency": "eur" })), "invalid_field"),
        ("payment.refunded.stripe", with("b6", "order_ref", json!(" 1")), "invalid_field"),
        ("payment.started.stripe", with("b7", "payment_id", json!("x".repeat(201))), "invalid_field"),
        ("payment.started.stripe", with("b8", "reason", json!("x".repeat(501))), "invalid_field"),
    ];
    let expected: Vec<_> = said
        .iter()
        .map(|(_, body, word)| ((*word).to_owned(), body["event_id"].as_str().unwrap().to_owned()))
        .collect();
    for (subject, body, _) in said {
        shop.say(subject, body).await;
    }
    shop.settled().await;
    let mut dead = shop.dead().await;
    dead.sort_by(|(_, one), (_, other)| one.cmp(other));
    assert_eq!(dead, expected);
    assert_eq!(shop.stream("DEAD").await[0].header("Lastunit-Consumer"), Some("lastunit-payments"));
    stage.close().await;
}

/// CASES 12: the webhook is retried while the first still runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_retried_while_the_first_still_runs_has_one_effect() {
    let stage = Stage::open_with("database.lock_timeout_ms = 20000").await;
    let second = stage.launch.ready(&["run"]).await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM stock FOR UPDATE").execute(&mut *holder).await.unwrap();
    shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    wait_until("the first to be at work", PATIENCE, async || shop.number(waiting).await >= 1).await;
    for event in ["p1", "p1", "p2"] {
        shop.say("payment.succeeded.stripe", money(event, "P1", "1")).await;
    }
    wait_until("a retry to be at work too", PATIENCE, async || shop.number(waiting).await >= 2).await;
    holder.commit().await.unwrap();
    shop.decided("p2").await;
    shop.settled().await;
    let told: Vec<String> = shop.told_of("1").await.iter().map(|told| told.what().to_owned()).collect();
    assert_eq!(told, ["held", "confirmed"]);
    assert_eq!(shop.number("SELECT count(*) FROM payment").await, 1);
    stage.close().await;
    drop(second);
}
