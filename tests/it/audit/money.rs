//! Invariant 9 is broken by hand, and found with its payment.

use serde_json::{Value, json};

use super::findings;
use crate::support::{Ground, Launch, PATIENCE, Shop, order, wait_until};

/// Money that pays order 1, money that is required back of order 2, and money that a person was asked about.
async fn payday(ground: &Ground, launch: &Launch) -> Shop {
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(ground).await;
    shop.count("A", "main", 10).await;
    let mut priced = order("e3", "3", "A");
    priced["total"] = json!({ "amount": 5, "currency": "EUR" });
    shop.say_many([
        ("order.created.web".into(), order("e1", "1", "A")),
        ("order.created.web".into(), order("e2", "2", "A")),
        ("order.created.web".into(), priced),
        ("order.cancelled.web".into(), json!({ "event_id": "c2", "order_ref": "2" })),
    ])
    .await;
    shop.answer_to("c2").await;
    shop.say_many((1..=3).map(|n| {
        let body = json!({ "event_id": format!("p{n}"), "payment_id": format!("P{n}"), "channel": "web",
                           "order_ref": n.to_string() });
        ("payment.succeeded.stripe".to_owned(), body)
    }))
    .await;
    wait_until("all payments", PATIENCE, async || shop.number("SELECT count(*) FROM payment").await == 3).await;
    shop.settled().await;
    assert_eq!(program.terminate().await, Some(0));
    shop
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_ended_in_silence_is_found() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = payday(&ground, &launch).await;
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
    let finding = |payment: &str, order_ref: &str, found: &str| {
        json!({ "invariant": 9, "channel": "web", "order_ref": order_ref, "provider": "stripe", "payment_id": payment,
                "expected": "a confirmed reservation, a required refund, or a review", "found": found })
    };
    for (break_it, mend_it, expected) in [
        (
            "UPDATE payment SET pays = false WHERE payment_id = 'P1'",
            "UPDATE payment SET pays = true WHERE payment_id = 'P1'",
            finding("P1", "1", "order confirmed"),
        ),
        (
            "CREATE TABLE saved AS SELECT * FROM refund_required; DELETE FROM refund_required",
            "INSERT INTO refund_required SELECT * FROM saved; DROP TABLE saved",
            finding("P2", "2", "order released"),
        ),
        (
            "UPDATE refund_required SET reason = 'partially_cancelled'",
            "UPDATE refund_required SET reason = 'cancelled'",
            finding("P2", "2", "order released"),
        ),
        (
            "UPDATE review_item SET kind = 'oversold'",
            "UPDATE review_item SET kind = 'payment_mismatch'",
            finding("P3", "3", "order held"),
        ),
    ] {
        sqlx::raw_sql(break_it).execute(&shop.db).await.unwrap();
        assert_eq!(findings(&launch).await, [expected], "{break_it}");
        sqlx::raw_sql(mend_it).execute(&shop.db).await.unwrap();
        assert_eq!(findings(&launch).await, [] as [Value; 0], "{mend_it}");
    }
    // What a person has answered is answered, and what was refunded is settled.
    let resolved = "UPDATE review_item SET resolved_at = now();
                    DELETE FROM refund_required; UPDATE payment SET state = 'refunded' WHERE payment_id = 'P2'";
    sqlx::raw_sql(resolved).execute(&shop.db).await.unwrap();
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
}
