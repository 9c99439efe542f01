//! Payments, from the outside: what confirms, what prolongs, what gives back, what is sent back, and what a person is asked about.

mod early;
mod late;
mod refunds;
mod reports;
mod signatures;

use serde_json::{Value, json};

use super::{Stage, plain};
use crate::support::{PATIENCE, Shop, Told, order, wait_until};

/// Money of channel `web`: 100 EUR cents.
fn money(event_id: &str, payment_id: &str, order_ref: &str) -> Value {
    json!({
        "event_id": event_id, "payment_id": payment_id, "channel": "web", "order_ref": order_ref,
        "amount": { "amount": 100, "currency": "EUR" },
    })
}

/// An order of one unit that costs 100 EUR cents.
fn priced(event_id: &str, order_ref: &str, sku: &str) -> Value {
    let mut body = order(event_id, order_ref, sku);
    body["total"] = json!({ "amount": 100, "currency": "EUR" });
    body
}

impl Shop {
    /// Publishes what the gateway `stripe` says, and waits until it is decided.
    async fn pay(&self, verb: &str, body: Value) {
        let id = body["event_id"].as_str().unwrap().to_owned();
        self.say(&format!("payment.{verb}.stripe"), body).await;
        self.decided(&id).await;
    }

    /// Waits until this event is taken.
    async fn decided(&self, event_id: &str) {
        wait_until(&format!("{event_id} to be decided"), PATIENCE, async || {
            let taken: i64 = sqlx::query_scalar("SELECT count(*) FROM processed_event WHERE event_id = $1")
                .bind(event_id)
                .fetch_one(&self.db)
                .await
                .unwrap();
            taken > 0
        })
        .await;
    }

    /// A payment as it stands: state, amount, what was refunded, whether it pays.
    async fn payment(&self, payment_id: &str) -> Option<(String, Option<i64>, i64, bool)> {
        sqlx::query_as("SELECT state, amount, refunded_amount, pays FROM payment WHERE payment_id = $1")
            .bind(payment_id)
            .fetch_optional(&self.db)
            .await
            .unwrap()
    }

    /// How an order of channel `web` stands.
    async fn state(&self, order_ref: &str) -> String {
        sqlx::query_scalar("SELECT state FROM sales_order WHERE channel = 'web' AND order_ref = $1")
            .bind(order_ref)
            .fetch_one(&self.db)
            .await
            .unwrap()
    }

    /// What was told of refunds, once everything is.
    async fn refunds(&self) -> Vec<Told> {
        self.settled().await;
        let told = self.stream("RESERVATIONS").await;
        told.into_iter().filter(|told| told.subject.starts_with("refund.required.")).collect()
    }

    /// What a person was asked, once everything is told: kind and payment.
    async fn asked(&self) -> Vec<(String, String)> {
        self.settled().await;
        let told = self.stream("RESERVATIONS").await;
        let asked = told.iter().filter(|told| told.subject.starts_with("review.opened."));
        asked
            .map(|told| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                (text(&told.body["kind"]), text(&told.body["subject"]["payment_id"]))
            })
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_confirms_the_hold_and_is_told_once() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    let before = shop.figures("A", "main").await.unwrap();

    shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
    let confirmed = shop.answer_to("p1").await;
    assert_eq!(confirmed.subject, "reservation.confirmed.web");
    assert_eq!(
        plain(&confirmed),
        json!({ "channel": "web", "order_ref": "1", "in_reply_to": "p1", "duplicate": false,
                "lines": [super::line("A", "main", 1, "confirmed")] })
    );
    assert_eq!(shop.figures("A", "main").await.unwrap(), before, "a mere confirm changes no figures and tells none");
    assert_eq!(shop.payment("P1").await, Some(("succeeded".into(), Some(100), 0, true)));
    let steps: Vec<(Option<String>, String, i64, Option<String>)> =
        sqlx::query_as("SELECT from_state, to_state, qty, event_id FROM reservation_event ORDER BY id")
            .fetch_all(&shop.db)
            .await
            .unwrap();
    let step = |from: Option<&str>, to: &str, qty, by: &str| (from.map(Into::into), to.into(), qty, Some(by.into()));
    assert_eq!(steps, [step(None, "held", 1, "e1"), step(Some("held"), "confirmed", 0, "p1")]);

    // The end of the hold is no end any more.
    sqlx::query("UPDATE sales_order SET expires_at = now()").execute(&shop.db).await.unwrap();
    shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
    shop.pay("succeeded", money("p2", "P1", "1")).await;
    shop.settled().await;
    assert_eq!(shop.told_of("1").await.len(), 2);
    assert_eq!(shop.state("1").await, "confirmed");
    stage.close().await;
}

/// CASES 10.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_paid_by_gift_card_is_confirmed_by_a_payment_of_nothing() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 2).await;
    let nothing = json!({ "amount": 0, "currency": "EUR" });
    for (order_ref, total) in [("1", Some(&nothing)), ("2", None)] {
        let mut body = order(order_ref, order_ref, "A");
        if let Some(total) = total {
            body["total"] = total.clone();
        }
        shop.ask("order.created.web", body).await;
        let mut paid = money(&format!("p{order_ref}"), &format!("P{order_ref}"), order_ref);
        paid["amount"] = nothing.clone();
        shop.pay("succeeded", paid).await;
        assert_eq!(shop.state(order_ref).await, "confirmed");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_started_payment_prolongs_the_hold_and_the_shop_is_told() {
    let stage = Stage::open_with("[hold]\nmin_s = 1\nmax_s = 1000\n[payments]\nwindow_s = 950").await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.say("payment.started.stripe", money("s1", "P1", "1")).await;
    let held = shop.answer_to("s1").await;
    assert_eq!((held.what(), &held.body["duplicate"]), ("held", &json!(false)));
    let prolonged = "SELECT extract(epoch FROM expires_at - created_at)::bigint FROM sales_order";
    let length = shop.number(prolonged).await;
    assert!((950..1000).contains(&length), "{length}");
    // To the longest hold at most.
    sqlx::query("UPDATE sales_order SET created_at = created_at - interval '500 seconds'")
        .execute(&shop.db)
        .await
        .unwrap();
    sqlx::query("UPDATE sales_order SET expires_at = now() + interval '5 seconds'").execute(&shop.db).await.unwrap();
    shop.say("payment.started.stripe", money("s2", "P2", "1")).await;
    shop.answer_to("s2").await;
    assert_eq!(shop.number(prolonged).await, 1000);
    assert_eq!(
        shop.number("SELECT count(*) FROM reservation WHERE expires_at = (SELECT expires_at FROM sales_order)").await,
        1
    );
    stage.close().await;
}

/// CASES 26 and 28.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_payment_gives_back_or_keeps_as_the_settings_say() {
    for (keeps, settings) in [(false, ""), (true, "[payments]\non_failure = \"keep\"")] {
        let stage = Stage::open_with(settings).await;
        let shop = &stage.shop;
        shop.count("A", "main", 2).await;
        shop.ask("order.created.web", priced("e1", "1", "A")).await;
        shop.ask("order.created.web", priced("e2", "2", "A")).await;
        let mut declined = money("f1", "P1", "1");
        declined["reason"] = json!("card declined");
        shop.pay("failed", declined).await;
        assert_eq!(shop.state("1").await, if keeps { "held" } else { "released" });
        assert_eq!(shop.figures("A", "main").await.unwrap().reserved, if keeps { 2 } else { 1 });
        if !keeps {
            let released = shop.answer_to("f1").await;
            assert_eq!((released.what(), &released.body["reason"]), ("released", &json!("payment_failed")));
        }
        // Another card, and the same payment: both ways the order is the customer's.
        shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
        let confirmed = shop.answer_to("p1").await;
        assert_eq!(confirmed.what(), "confirmed");
        assert_eq!(confirmed.body["reason"], if keeps { Value::Null } else { json!("had_again") });
        // A failure after the success undoes nothing.
        shop.pay("succeeded", money("p2", "P2", "2")).await;
        shop.pay("failed", money("f2", "P2", "2")).await;
        assert_eq!(shop.state("2").await, "confirmed");
        assert_eq!(shop.payment("P2").await, Some(("succeeded".into(), Some(100), 0, true)));
        assert_eq!(shop.refunds().await.len(), 0);
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_payment_that_lives_keeps_the_hold() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", priced("e1", "1", "A")).await;
    shop.pay("started", money("s1", "P1", "1")).await;
    shop.pay("started", money("s2", "P2", "1")).await;
    shop.pay("failed", money("f1", "P1", "1")).await;
    assert_eq!(shop.state("1").await, "held");
    shop.pay("failed", money("f2", "P2", "1")).await;
    assert_eq!(shop.state("1").await, "released");
    stage.close().await;
}
