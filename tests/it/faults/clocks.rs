//! F14: the clocks of the program's processes are wrong, each in its own direction. Only the database's decides.

use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::support::{Ground, Launch, PATIENCE, Program, Shop, order, wait_until};

const TEN_MINUTES: i64 = 600;

/// How far its clock is from ours, in seconds, by the first line it logged.
fn skew(program: &Program) -> i64 {
    let log = program.stderr();
    let at = log.split_whitespace().next().unwrap();
    let at = OffsetDateTime::parse(at, &Rfc3339).unwrap_or_else(|error| panic!("{at}: {error}"));
    #[allow(clippy::disallowed_methods, reason = "it is our own clock that it is compared with")]
    let now = OffsetDateTime::now_utc();
    (at - now).whole_seconds()
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_end_by_the_clock_of_the_database_whatever_the_copies_believe() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).config("[hold]\nmin_s = 1\n[sweeper]\nmax_interval_ms = 100");
    let fast = launch.clone().clock(TEN_MINUTES).ready(&["run"]).await;
    let slow = launch.clone().clock(-TEN_MINUTES).ready(&["run"]).await;
    assert!((540..=600).contains(&skew(&fast)), "{}", skew(&fast));
    assert!((-660..=-600).contains(&skew(&slow)), "{}", skew(&slow));

    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 1_000).await;
    // Half of them for a second, half of them for ten minutes less than the clocks are apart.
    for n in 0..100 {
        let mut body = order(&format!("e{n}"), &format!("o{n}"), "A");
        body["hold_for_s"] = json!(if n % 2 == 0 { 1 } else { 590 });
        shop.say("order.created.web", body).await;
    }
    wait_until("the short holds to end", PATIENCE, async || {
        shop.number("SELECT count(*) FROM sales_order WHERE state = 'expired'").await == 50
    })
    .await;
    shop.settled().await;
    shop.audit().await;
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 50);

    // By the database, not a moment early, and as long as was asked for.
    let wrong = "SELECT count(*) FROM sales_order o JOIN reservation r USING (channel, order_ref)
        JOIN reservation_event e ON e.reservation_id = r.id
        WHERE (e.to_state = 'expired' AND e.at < o.expires_at)
           OR (e.to_state = 'held' AND e.at NOT BETWEEN clock_timestamp() - interval '2 minutes' AND clock_timestamp())
           OR extract(epoch FROM o.expires_at - o.created_at)::int NOT IN (1, 590)";
    assert_eq!(shop.number(wrong).await, 0);
    // And so it is told.
    let told = shop.stream("RESERVATIONS").await;
    assert_eq!(told.iter().filter(|told| told.what() == "held").count(), 100);
    for told in &told {
        let at = OffsetDateTime::parse(told.body["occurred_at"].as_str().unwrap(), &Rfc3339).unwrap();
        #[allow(clippy::disallowed_methods, reason = "the database runs on this machine")]
        let age = OffsetDateTime::now_utc() - at;
        assert!((0..120).contains(&age.whole_seconds()), "{}", told.body);
    }
}
