//! CASES 13: money that comes before its order waits, and is applied in the transaction in which the order comes.

use serde_json::json;

use super::{money, priced};
use crate::cases::{PATIENT, Stage};
use crate::support::{PATIENCE, wait_until};

const LOCKED: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%sales_order%'";

#[tokio::test(flavor = "multi_thread")]
async fn money_ten_minutes_early_waits_and_is_applied_with_its_order() {
    let stage = Stage::open_with("payments.window_s = 600").await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.pay("started", money("s1", "P1", "1")).await;
    shop.pay("succeeded", money("p1", "P1", "1")).await;
    shop.pay("refunded", money("r1", "P1", "1")).await;
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 3);
    assert_eq!(shop.number("SELECT count(*) FROM payment").await, 0);
    assert_eq!(shop.state("1").await, "awaited");
    assert_eq!(shop.ask("order.created.web", priced("e1", "1", "A")).await.what(), "held");
    shop.settled().await;
    let told: Vec<String> = shop.told_of("1").await.iter().map(|told| told.what().to_owned()).collect();
    // The window is shorter than the hold, so the start prolongs nothing.
    assert_eq!(told, ["held", "confirmed"]);
    assert_eq!(shop.payment("P1").await, Some(("refunded".into(), Some(100), 100, true)));
    assert_eq!(shop.asked().await, [("refund_unasked".to_owned(), "P1".to_owned())]);
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
    // One transaction.
    let instants = "SELECT count(DISTINCT at) FROM reservation_event";
    assert_eq!(shop.number(instants).await, 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_whose_order_never_comes_is_a_persons_after_a_time() {
    let stage = Stage::open_with("waiting.max_s = 1").await;
    let shop = &stage.shop;
    shop.pay("succeeded", money("p1", "P1", "1")).await;
    let opened = "SELECT count(*) FROM review_item WHERE kind = 'waited_too_long'";
    wait_until("a person to be asked", PATIENCE, async || shop.number(opened).await == 1).await;
    // It may still come.
    shop.count("A", "main", 1).await;
    shop.say("order.created.web", priced("e1", "1", "A")).await;
    shop.answer_to("p1").await;
    assert_eq!(shop.state("1").await, "confirmed");
    stage.close().await;
}

/// The order is being created when its money comes: the payment waits for that transaction, and then confirms.
#[tokio::test(flavor = "multi_thread")]
async fn money_that_comes_while_its_order_is_being_created_misses_it_not() {
    let stage = Stage::open_with(PATIENT).await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM stock FOR UPDATE").execute(&mut *holder).await.unwrap();
    shop.say("order.created.web", priced("e1", "1", "A")).await;
    let at_stock = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%stock%'";
    wait_until("the order to be on its way", PATIENCE, async || shop.number(at_stock).await == 1).await;
    shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
    wait_until("the payment to wait for the order's key", PATIENCE, async || shop.number(LOCKED).await == 1).await;
    holder.commit().await.unwrap();
    assert_eq!(shop.answer_to("p1").await.what(), "confirmed");
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
    stage.close().await;
}

/// The money is being put to wait when its order comes: the order waits for that transaction, and then finds it.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_comes_while_its_money_is_put_to_wait_misses_it_not() {
    let stage = Stage::open_with(PATIENT).await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("LOCK TABLE waiting_message IN SHARE MODE").execute(&mut *holder).await.unwrap();
    shop.say("payment.succeeded.stripe", money("p1", "P1", "1")).await;
    let at_waiting = "SELECT count(*) FROM pg_stat_activity
                      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO waiting_message%'";
    wait_until("the payment to be put to wait", PATIENCE, async || shop.number(at_waiting).await == 1).await;
    shop.say("order.created.web", priced("e1", "1", "A")).await;
    wait_until("the order to wait for its key", PATIENCE, async || shop.number(LOCKED).await == 1).await;
    holder.commit().await.unwrap();
    assert_eq!(shop.answer_to("p1").await.what(), "confirmed");
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
    assert_eq!(shop.payment("P1").await, Some(("succeeded".into(), Some(100), 0, true)));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_for_an_order_that_is_rejected_when_it_comes_goes_back() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 0).await;
    shop.pay("succeeded", money("p1", "P1", "1")).await;
    assert_eq!(shop.ask("order.created.web", priced("e1", "1", "A")).await.what(), "rejected");
    let refunds = shop.refunds().await;
    assert_eq!((refunds.len(), &refunds[0].body["reason"]), (1, &json!("order_rejected")));
    stage.close().await;
}
