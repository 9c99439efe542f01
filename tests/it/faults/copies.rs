//! F16: two copies, that is two sweepers and two relays.

use std::collections::HashSet;

use serde_json::json;

use crate::support::{Ground, Launch, PATIENCE, Shop, buyers, wait_until};

const ORDERS: usize = 500;

#[tokio::test(flavor = "multi_thread")]
async fn two_sweepers_and_two_relays_do_nothing_twice_and_keep_the_order() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).config("[hold]\nmin_s = 1\n[sweeper]\nmax_interval_ms = 10");
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count_many(&[("A", 1_000), ("B", 1_000), ("C", 1_000)], "main").await;
    let short = buyers("e", &["A", "B", "C"]).take(ORDERS).map(|(subject, mut body)| {
        body["hold_for_s"] = json!(1);
        (subject, body)
    });
    let ids = shop.load(short).all().await;
    wait_until("every hold to end", PATIENCE, async || {
        shop.number("SELECT count(*) FROM sales_order WHERE state = 'expired'").await == i64::try_from(ORDERS).unwrap()
    })
    .await;
    shop.settled().await;
    shop.audit().await;
    shop.assert_answered_once(&ids).await;
    shop.assert_told_in_order().await;

    let told = shop.stream("RESERVATIONS").await;
    let expired: Vec<_> = told.iter().filter(|told| told.what() == "expired").collect();
    let orders: HashSet<_> = expired.iter().map(|told| told.body["order_ref"].to_string()).collect();
    assert_eq!((expired.len(), orders.len()), (ORDERS, ORDERS));
    assert_eq!(shop.number("SELECT count(*) FROM reservation_event").await, i64::try_from(2 * ORDERS).unwrap());
}
