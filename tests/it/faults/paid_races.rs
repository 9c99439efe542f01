//! F15: the end of a hold and its payment at the same instant, a thousand times: one winner each time, and the loser answers.

use std::collections::HashMap;

use serde_json::json;

use super::races::{Course, RACES};
use crate::support::{PATIENCE, order, wait_until};

/// Long enough for all of them to be laid before the first ends, also where the machine has more to do.
const HOLD_S: u64 = 10;
/// How far from the end of a hold its payment comes, in milliseconds, before and after.
const SPREAD: std::ops::RangeInclusive<i64> = -1_000..=1_000;
const PAID: &str = "SELECT count(*) FROM payment";

/// Everybody's money comes around the end of their hold; every second unit is wanted by somebody else at the same time.
async fn payments_meet_the_end(sweeper: bool) {
    let course = Course::laid_for(sweeper, HOLD_S).await;
    let shop = &course.shop;
    let next = |n: usize| {
        let sku = if n.is_multiple_of(2) { format!("S{n}") } else { "NOWHERE".to_owned() };
        order(&format!("next-{n}"), &format!("next-{n}"), &sku)
    };
    let pay = |n: usize| {
        json!({ "event_id": format!("pay-{n}"), "payment_id": format!("P{n}"), "channel": "web",
                "order_ref": format!("first-{n}") })
    };
    tokio::join!(
        course.meets_within(SPREAD, "payment.succeeded.stripe", pay),
        course.meets_within(SPREAD, "order.created.web", next),
    );
    wait_until("every payment to be recorded", PATIENCE, async || {
        shop.number(PAID).await == i64::try_from(RACES).unwrap()
    })
    .await;
    shop.settled().await;
    shop.audit().await;

    let (answers, _) = course.told().await;
    let mut refunds: HashMap<String, usize> = HashMap::new();
    for told in shop.first_told("RESERVATIONS").await {
        if told.subject == "refund.required.stripe" {
            assert_eq!(told.body["reason"], "expired_and_sold_out");
            *refunds.entry(told.body["payment_id"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    let (mut in_time, mut had_again, mut sent_back) = (0, 0, 0);
    for n in 0..RACES {
        let confirmed = answers.get(&format!("pay-{n}"));
        let refunded = refunds.get(&format!("P{n}")).copied().unwrap_or(0);
        match (confirmed, refunded) {
            (Some(answer), 0) => {
                assert_eq!(answer.what(), "confirmed", "race {n}");
                let late = answer.body["reason"] == "had_again";
                had_again += usize::from(late);
                in_time += usize::from(!late);
            }
            // Only where somebody else wanted the unit too.
            (None, 1) if n % 2 == 0 => sent_back += 1,
            (answer, refunds) => panic!("race {n}: {answer:?} and {refunds} refunds"),
        }
    }
    println!("{in_time} in time, {had_again} had again, {sent_back} sent back");
    assert_eq!(in_time + had_again + sent_back, RACES);

    // Nobody is confirmed but before the end, or through a new hold; nobody expired before it.
    let unfair = "SELECT count(*) FROM sales_order o JOIN reservation r USING (channel, order_ref)
        JOIN reservation_event e ON e.reservation_id = r.id
        WHERE o.order_ref LIKE 'first-%'
          AND (e.to_state = 'expired' AND e.at < o.expires_at
               OR e.to_state = 'confirmed' AND e.at >= o.expires_at
                  AND NOT EXISTS (SELECT FROM reservation_event again WHERE again.reservation_id = r.id
                                  AND again.from_state = 'expired' AND again.to_state = 'held' AND again.at = e.at))";
    assert_eq!(shop.number(unfair).await, 0);
    let resurrected = "SELECT count(*) FROM reservation_event WHERE from_state = 'expired' AND to_state <> 'held'";
    assert_eq!(shop.number(resurrected).await, 0);
    let sold_twice = "SELECT count(*) FROM stock WHERE reserved > on_hand OR on_hand <> 1";
    assert_eq!(shop.number(sold_twice).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_and_the_end_of_a_hold_have_one_winner_with_sweepers() {
    payments_meet_the_end(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_and_the_end_of_a_hold_have_one_winner_without_sweepers() {
    payments_meet_the_end(false).await;
}
