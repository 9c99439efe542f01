//! An event counts once as long as it is kept, also when a boundary between two generations moves in the middle of a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lastunit::store::generations::{Kept, Rotation};
use lastunit::store::{Fault, Pool};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    DAY, GENERATION, HASTY, MONTH, age, cancel_one, claim, current, events, one_large_order, pass_a_generation,
    reserved, rotate, tables,
};
use crate::support::{Ground, Launch, PATIENCE, Shop, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_old_goes_and_what_is_not_stays() {
    let ground = Ground::new().await;
    let db = tables(&ground).await;
    let (first, second, again) = (events(["first".into()]), events(["second".into()]), events(["again".into()]));
    assert_eq!(rotate(&db, Kept::Inbox).await.unwrap(), Rotation::NotDue);
    assert_eq!(claim(&db, &first).await.unwrap(), 1);
    assert_eq!(claim(&db, &again).await.unwrap(), 1);
    for generation in 1..=3 {
        age(&db, Kept::Inbox, GENERATION).await;
        assert_eq!(rotate(&db, Kept::Inbox).await.unwrap(), Rotation::Done);
        assert_eq!(current(&db, Kept::Inbox).await, generation);
        if generation == 1 {
            assert_eq!(claim(&db, &second).await.unwrap(), 1);
        }
        assert_eq!(claim(&db, &again).await.unwrap(), 0, "in generation {generation}");
        assert_eq!(kept(&db).await, [("again", generation), ("first", 0), ("second", 1)].map(named));
    }
    // The first was claimed thirty days ago, in a generation that ended twenty days ago.
    age(&db, Kept::Inbox, 9 * DAY).await;
    assert_eq!(rotate(&db, Kept::Inbox).await.unwrap(), Rotation::NotDue);
    assert_eq!(kept(&db).await, [("again", 3), ("first", 0), ("second", 1)].map(named), "kept longer than a month");
    age(&db, Kept::Inbox, DAY).await;
    assert_eq!(rotate(&db, Kept::Inbox).await.unwrap(), Rotation::Done);
    assert_eq!(current(&db, Kept::Inbox).await, 0);
    assert_eq!(claim(&db, &second).await.unwrap(), 0);
    assert_eq!(claim(&db, &first).await.unwrap(), 1, "forgotten");
    assert_eq!(claim(&db, &again).await.unwrap(), 0, "as old, but recognised since");
    assert_eq!(kept(&db).await, [("again", 0), ("first", 0), ("second", 0)].map(named));
}

fn named((event, generation): (&str, i16)) -> (String, i16) {
    (event.to_owned(), generation)
}

/// What is kept, and in which generation.
async fn kept(db: &Pool) -> Vec<(String, i16)> {
    sqlx::query_as("SELECT event_id, generation FROM processed_event ORDER BY 1").fetch_all(db).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_longer_time_to_keep_holds_at_once() {
    let ground = Ground::new().await;
    let db = tables(&ground).await;
    claim(&db, &events(["e".into()])).await.unwrap();
    for _ in 0..3 {
        age(&db, Kept::Inbox, GENERATION).await;
        assert_eq!(rotate(&db, Kept::Inbox).await.unwrap(), Rotation::Done);
    }
    age(&db, Kept::Inbox, GENERATION).await;
    let mut connection = db.acquire().await.unwrap();
    let longer = lastunit::store::generations::rotate(&mut connection, Kept::Inbox, MONTH + DAY).await;
    assert_eq!(longer.unwrap(), Rotation::NotDue);
    assert_eq!(claim(&db, &events(["e".into()])).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_waits_for_a_batch_in_the_middle_of_its_claims_but_not_for_long() {
    let ground = Ground::new().await;
    let db = tables(&ground).await;
    let early = events(["e".into()]);
    let mut batch = db.begin().await.unwrap();
    lastunit::store::inbox::claim_many(&mut batch, &early).await.unwrap();
    age(&db, Kept::Inbox, GENERATION).await;
    let error = rotate(&db, Kept::Inbox).await.expect_err("a batch is in the middle of its claims");
    assert_eq!(error.fault(), Fault::Locked, "{error}");
    assert_eq!(current(&db, Kept::Inbox).await, 0);
    batch.commit().await.unwrap();
    assert_eq!(rotate(&db, Kept::Inbox).await.unwrap(), Rotation::Done);
    assert_eq!(claim(&db, &early).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_that_rotate_at_once_rotate_once() {
    let ground = Ground::new().await;
    let db = tables(&ground).await;
    for round in 1..=20 {
        age(&db, Kept::Inbox, GENERATION).await;
        let all = futures::future::join_all((0..4).map(|_| rotate(&db, Kept::Inbox))).await;
        let done = all.iter().filter(|ended| matches!(ended, Ok(Rotation::Done))).count();
        assert_eq!((done, current(&db, Kept::Inbox).await), (1, round % 4), "{all:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_rolled_back_beyond_a_boundary_was_none() {
    let ground = Ground::new().await;
    let db = tables(&ground).await;
    let event = events(["e".into()]);
    let mut batch = db.begin().await.unwrap();
    lastunit::store::inbox::claim_many(&mut batch, &event).await.unwrap();
    batch.rollback().await.unwrap();
    age(&db, Kept::Inbox, GENERATION).await;
    assert_eq!(rotate(&db, Kept::Inbox).await.unwrap(), Rotation::Done);
    assert_eq!(claim(&db, &event).await.unwrap(), 1);
    // A refused event is forgotten in whatever generation it is.
    age(&db, Kept::Inbox, GENERATION).await;
    assert_eq!(rotate(&db, Kept::Inbox).await.unwrap(), Rotation::Done);
    lastunit::store::inbox::forget_many(&mut db.acquire().await.unwrap(), &event).await.unwrap();
    assert_eq!(claim(&db, &event).await.unwrap(), 1);
}

/// Two copies of the program claim the same events over and over while the boundary moves.
#[tokio::test(flavor = "multi_thread")]
async fn before_on_and_after_a_boundary_an_event_is_new_once() {
    const ROUNDS: usize = 60;
    const EVENTS: usize = 8;
    let ground = Ground::new().await;
    let copies = [tables(&ground).await, tables(&ground).await];
    for round in 0..ROUNDS {
        let all = events((0..EVENTS).map(|n| format!("{round}-{n}")));
        let (new, passed) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
        let mut claims = JoinSet::new();
        for (n, db) in copies.iter().cycle().take(2 * copies.len()).cloned().enumerate() {
            let (all, new, passed) = (all.clone(), new.clone(), passed.clone());
            claims.spawn(async move {
                let mut claimed = 0;
                // At least every part of them, and until both boundaries are passed.
                while claimed < 3 || !passed.is_cancelled() {
                    let part = all.iter().enumerate().filter(|(at, _)| (at + n + claimed) % 3 != 0);
                    let part: Vec<_> = part.map(|(_, event)| event.clone()).collect();
                    new.fetch_add(claim(&db, &part).await.unwrap(), Ordering::Relaxed);
                    claimed += 1;
                }
            });
        }
        // Twice while they claim: what they claimed first is twenty days old then, and remembered.
        for _ in 0..2 {
            age(&copies[0], Kept::Inbox, GENERATION).await;
            wait_until("a rotation", PATIENCE, async || {
                matches!(rotate(&copies[1], Kept::Inbox).await, Ok(Rotation::Done))
            })
            .await;
        }
        passed.cancel();
        while let Some(claimed) = claims.join_next().await {
            claimed.unwrap();
        }
        assert_eq!(new.load(Ordering::Relaxed), EVENTS, "in round {round}");
        assert_eq!(claim(&copies[0], &all).await.unwrap(), 0, "in round {round}");
    }
    // Every second round goes through the ring of four once: nothing is left but the last rounds.
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM processed_event").fetch_one(&copies[0]).await.unwrap();
    assert!(kept <= i64::try_from(3 * EVENTS).unwrap(), "{kept}");
}

/// The same through the whole program: partial cancels, of which a second effect would show.
#[tokio::test(flavor = "multi_thread")]
async fn two_copies_that_are_told_everything_three_times_over_two_boundaries_do_it_once() {
    const CANCELS: usize = 200;
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).config(HASTY);
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    one_large_order(&shop, 500).await;

    let mut said: Vec<_> = (0..3 * CANCELS).map(|n| cancel_one(&format!("c{}", n % CANCELS), "1")).collect();
    fastrand::shuffle(&mut said);
    let load = shop.load(said);
    pass_a_generation(&shop).await;
    pass_a_generation(&shop).await;
    load.all().await;
    shop.settled().await;
    assert_eq!(reserved(&shop).await, 300);
    assert_eq!(shop.number("SELECT count(*) FROM reservation_event WHERE qty = -1").await, 200);
    shop.audit().await;
}

/// CASES 8 and 27: the streams tell everything again, a month later in effect.
#[tokio::test(flavor = "multi_thread")]
async fn a_month_later_everything_is_delivered_again_and_nothing_happens() {
    let ground = Ground::new().await;
    let program = Launch::new(&ground).config(HASTY).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    one_large_order(&shop, 10).await;
    for n in 0..5 {
        let (subject, body) = cancel_one(&format!("c{n}"), "1");
        shop.say(&subject, body).await;
    }
    let repeat = json!({ "event_id": "o2", "order_ref": "1", "lines": [{ "sku": "A", "qty": 10 }] });
    shop.say("order.created.web", repeat).await;
    shop.settled().await;
    let (figures, told) = (shop.figures("A", "main").await, shop.stream("RESERVATIONS").await.len());
    assert_eq!(figures.unwrap().reserved, 5);

    pass_a_generation(&shop).await;
    pass_a_generation(&shop).await;
    pass_a_generation(&shop).await;
    // All was claimed thirty days ago, in a generation that ended twenty days ago.
    let redelivered = program.metric("lastunit_redelivered_total").await;
    for (stream, durable) in [("ORDERS", "lastunit-orders"), ("INVENTORY", "lastunit-inventory")] {
        shop.js.delete_consumer_from_stream(durable, stream).await.unwrap();
    }
    wait_until("everything to be delivered again", PATIENCE, async || {
        program.metric("lastunit_redelivered_total").await >= redelivered + 8
    })
    .await;
    shop.settled().await;
    assert_eq!(shop.figures("A", "main").await, figures);
    assert_eq!(shop.stream("RESERVATIONS").await.len(), told);
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter").await, 0);
    shop.audit().await;
}

/// What waits is remembered by waiting, however long ago it came.
#[tokio::test(flavor = "multi_thread")]
async fn what_still_waits_is_known_when_the_inbox_has_forgotten_it() {
    let ground = Ground::new().await;
    let _program = Launch::new(&ground).config(HASTY).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    let (subject, cancel) = cancel_one("c1", "1");
    shop.say(&subject, cancel.clone()).await;
    shop.settled().await;
    for _ in 0..4 {
        pass_a_generation(&shop).await;
    }
    assert_eq!(shop.number("SELECT count(*) FROM processed_event").await, 0);
    shop.say(&subject, cancel).await;
    shop.settled().await;
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter").await, 0);
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 1);

    let order = json!({ "event_id": "o1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 5 }] });
    shop.say("order.created.web", order).await;
    shop.settled().await;
    assert_eq!(reserved(&shop).await, 4);
}
