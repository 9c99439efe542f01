//! Races at the end of a hold, a thousand at a time: who cancels and who buys next, against the end itself.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Ground, Launch, PATIENCE, Program, Shop, Told, order, wait_until};

pub(super) const RACES: usize = 1_000;
/// How far from the end of a hold the other comes, in milliseconds, before and after.
const SPREAD: std::ops::RangeInclusive<i64> = -40..=40;

/// A thousand SKUs of one unit, each held for a second.
pub(super) struct Course {
    _copies: [Program; 2],
    pub(super) shop: Shop,
    _ground: Ground,
}

impl Course {
    async fn laid(sweeper: bool) -> Self {
        Self::laid_for(sweeper, 1).await
    }

    /// The same, each held for so many seconds.
    pub(super) async fn laid_for(sweeper: bool, hold_s: u64) -> Self {
        let ground = Ground::new().await;
        let launch = Launch::new(&ground)
            .config(&format!("[hold]\nmin_s = 1\n[sweeper]\nenabled = {sweeper}\nmax_interval_ms = 10"));
        let copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
        let shop = Shop::open(&ground).await;
        let skus: Vec<(String, i64)> = (0..RACES).map(|n| (format!("S{n}"), 1)).collect();
        for some in skus.chunks(500) {
            shop.count_many(some, "main").await;
        }
        let holders = (0..RACES).map(move |n| {
            let mut body = order(&format!("first-{n}"), &format!("first-{n}"), &format!("S{n}"));
            body["hold_for_s"] = json!(hold_s);
            ("order.created.web".to_owned(), body)
        });
        shop.load(holders).all().await;
        Self { _copies: copies, shop, _ground: ground }
    }

    /// Publishes around the end of each hold. Returns the races in which that was after the end.
    async fn meets(&self, subject: &str, body: impl Fn(usize) -> Value) -> Vec<usize> {
        self.meets_within(SPREAD, subject, body).await
    }

    /// The same, from so many milliseconds before to so many after.
    pub(super) async fn meets_within(
        &self,
        spread: std::ops::RangeInclusive<i64>,
        subject: &str,
        body: impl Fn(usize) -> Value,
    ) -> Vec<usize> {
        wait_until("every hold", PATIENCE, async || {
            self.shop.number("SELECT count(*) FROM sales_order WHERE order_ref LIKE 'first-%'").await
                == i64::try_from(RACES).unwrap()
        })
        .await;
        let ends: Vec<(String, i64)> = sqlx::query_as(
            "SELECT order_ref, ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint FROM sales_order
             WHERE order_ref LIKE 'first-%'",
        )
        .fetch_all(&self.shop.db)
        .await
        .unwrap();
        // Read after the database's clock was: what is published at an end by this clock is published after it by that one.
        let read = Instant::now();
        let shifted = |(order_ref, end_us): (String, i64)| {
            let shift_ms = fastrand::i64(spread.clone());
            let at = read + Duration::from_micros(u64::try_from(end_us + 1_000 * shift_ms).unwrap_or(0));
            (at, order_ref["first-".len()..].parse::<usize>().unwrap(), shift_ms >= 0)
        };
        let mut plan: Vec<(Instant, usize, bool)> = ends.into_iter().map(shifted).collect();
        plan.sort_unstable();
        let mut acks = Vec::new();
        for (at, n, _) in &plan {
            tokio::time::sleep_until(*at).await;
            let said = body(*n).to_string();
            acks.push(self.shop.js.publish(subject.to_owned(), said.into()).await.unwrap());
        }
        for ack in acks {
            ack.await.unwrap();
        }
        plan.into_iter().filter(|(_, _, late)| *late).map(|(_, n, _)| n).collect()
    }

    /// What was told in the end, by the event it answers, and of timers by order.
    pub(super) async fn told(&self) -> (HashMap<String, Told>, HashMap<String, Vec<Told>>) {
        let (mut answers, mut timers) = (HashMap::new(), HashMap::<String, Vec<Told>>::new());
        for told in self.shop.first_told("RESERVATIONS").await {
            match told.body["in_reply_to"].as_str() {
                Some(event) => assert!(answers.insert(event.to_owned(), told.clone()).is_none(), "{event} twice"),
                None => timers.entry(told.body["order_ref"].as_str().unwrap().to_owned()).or_default().push(told),
            }
        }
        (answers, timers)
    }
}

async fn cancels_meet_the_end(sweeper: bool) {
    let course = Course::laid(sweeper).await;
    let cancel = |n| json!({ "event_id": format!("cancel-{n}"), "order_ref": format!("first-{n}") });
    course.meets("order.cancelled.web", cancel).await;
    course.shop.settled().await;
    course.shop.audit().await;
    let (answers, timers) = course.told().await;
    for n in 0..RACES {
        let answer = &answers[&format!("cancel-{n}")];
        let expired = timers.get(&format!("first-{n}")).map_or(0, Vec::len);
        let (what, duplicate) = (answer.what(), answer.body["duplicate"].as_bool().unwrap());
        assert!(
            [("released", false, 0), ("expired", true, 1)].contains(&(what, duplicate, expired)),
            "race {n}: {what}, duplicate {duplicate}, expired {expired} times"
        );
    }
    let unfair = "SELECT count(*) FROM sales_order o JOIN reservation r USING (channel, order_ref)
        JOIN reservation_event e ON e.reservation_id = r.id
        WHERE e.to_state = 'released' AND e.at >= o.expires_at OR e.to_state = 'expired' AND e.at < o.expires_at";
    assert_eq!(course.shop.number(unfair).await, 0);
    assert_eq!(course.shop.number("SELECT sum(reserved)::bigint FROM stock").await, 0);
}

async fn buyers_meet_the_end(sweeper: bool) {
    let course = Course::laid(sweeper).await;
    let buyer = |n| order(&format!("next-{n}"), &format!("next-{n}"), &format!("S{n}"));
    let late = course.meets("order.created.web", buyer).await;
    course.shop.settled().await;
    if sweeper {
        wait_until("every first hold to end", PATIENCE, async || {
            course
                .shop
                .number("SELECT count(*) FROM sales_order WHERE state = 'held' AND order_ref LIKE 'first%'")
                .await
                == 0
        })
        .await;
        course.shop.settled().await;
    }
    course.shop.audit().await;
    let (answers, timers) = course.told().await;
    for n in 0..RACES {
        let answer = &answers[&format!("next-{n}")];
        let expired = timers.get(&format!("first-{n}")).map_or(0, Vec::len);
        match answer.what() {
            "held" => assert_eq!(expired, 1, "race {n}"),
            "rejected" => {
                assert_eq!(answer.body["reason"], "insufficient_stock", "race {n}");
                assert_eq!(expired, usize::from(sweeper), "race {n}");
            }
            other => panic!("race {n}: {other}"),
        }
    }
    let unfair = "SELECT count(*) FROM sales_order next
        JOIN sales_order first ON first.order_ref = 'first' || substr(next.order_ref, 5)
        WHERE next.order_ref LIKE 'next%' AND next.state = 'rejected' AND next.created_at >= first.expires_at";
    assert_eq!(course.shop.number(unfair).await, 0);
    for n in late {
        assert_eq!(answers[&format!("next-{n}")].what(), "held", "race {n}: it was asked after the end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_and_the_end_of_a_hold_have_one_winner_with_sweepers() {
    cancels_meet_the_end(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_and_the_end_of_a_hold_have_one_winner_without_sweepers() {
    cancels_meet_the_end(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_buyer_is_served_from_the_end_of_a_hold_on_with_sweepers() {
    buyers_meet_the_end(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_buyer_is_served_from_the_end_of_a_hold_on_without_sweepers() {
    buyers_meet_the_end(false).await;
}
