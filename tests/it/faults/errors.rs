//! F12: the database refuses a transaction, for a time or for ever.

use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::support::{Ground, Launch, PATIENCE, Shop, buyers, order, wait_until};

/// Every statement that does this to the table fails with this code, as long as the condition holds; `NEW` is the row, `tries` counts.
async fn fails(shop: &Shop, event: &str, condition: &str, code: &str) {
    let trigger = format!(
        "CREATE SEQUENCE tries;
         CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
            IF {condition} THEN RAISE EXCEPTION 'forced' USING ERRCODE = '{code}'; END IF;
            RETURN NEW;
         END $$;
         CREATE TRIGGER fail BEFORE {event} FOR EACH ROW EXECUTE FUNCTION fail();"
    );
    sqlx::raw_sql(AssertSqlSafe(trigger)).execute(&shop.db).await.unwrap();
}

/// Two hundred buyers of a hundred units meet a database that fails so often.
async fn outlives(event: &str, failures: u32, code: &str) {
    let ground = Ground::new().await;
    let _copies = [Launch::new(&ground).ready(&["run"]).await, Launch::new(&ground).ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 100).await;
    fails(&shop, event, &format!("nextval('tries') <= {failures}"), code).await;
    let ids = shop.load(buyers("e", &["A"]).take(200)).all().await;
    shop.settled().await;
    shop.audit().await;
    let tally = shop.assert_answered_once(&ids).await;
    assert_eq!((tally["held"], tally["rejected"]), (100, 100));
    assert!(shop.number("SELECT last_value FROM tries").await > i64::from(failures));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serialization_failure_is_tried_again() {
    outlives("UPDATE ON stock", 5, "40001").await;
}

/// More often than a batch tries at once: its messages come again later.
#[tokio::test(flavor = "multi_thread")]
async fn deadlocks_without_end_in_sight_are_tried_again_later() {
    outlives("INSERT ON reservation", 25, "40P01").await;
}

/// What stands in the stream when the program comes is one batch.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_cannot_be_written_is_laid_to_rest_and_its_batch_goes_on() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut first = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 100).await;
    assert_eq!(first.terminate().await, Some(0));

    fails(&shop, "INSERT ON reservation", "NEW.order_ref = 'e-17'", "23514").await;
    let ids = shop.load(buyers("e", &["A"]).take(60)).all().await;
    let _second = launch.ready(&["run"]).await;
    shop.settled().await;
    shop.audit().await;
    let tally = shop.assert_answered_once(&ids).await;
    assert_eq!((tally["held"], tally["dead"]), (59, 1));
    let dead = shop.stream("DEAD").await.remove(0);
    assert_eq!(dead.header("Lastunit-Reason"), Some("internal"));
    assert_eq!(dead.body["event_id"], "e-17");
    assert_eq!(shop.number("SELECT count(*) FROM sales_order WHERE order_ref = 'e-17'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_cannot_be_ended_delays_no_other() {
    let ground = Ground::new().await;
    let _program = Launch::new(&ground).config("[hold]\nmin_s = 1").ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 100).await;
    fails(&shop, "UPDATE ON sales_order", "NEW.state = 'expired' AND NEW.order_ref = 'o3'", "23514").await;
    for n in 0..20 {
        let mut body = order(&format!("e{n}"), &format!("o{n}"), "A");
        body["hold_for_s"] = json!(1);
        shop.say("order.created.web", body).await;
    }
    wait_until("the others to expire", PATIENCE, async || {
        shop.number("SELECT count(*) FROM sales_order WHERE state = 'expired'").await == 19
    })
    .await;
    sqlx::raw_sql("DROP TRIGGER fail ON sales_order").execute(&shop.db).await.unwrap();
    wait_until("the last one to expire", PATIENCE, async || shop.figures("A", "main").await.unwrap().reserved == 0)
        .await;
    shop.settled().await;
    shop.audit().await;
    assert_eq!(shop.first_told("RESERVATIONS").await.iter().filter(|told| told.what() == "expired").count(), 20);
}
