//! What was told is kept for a time, what was not is kept.

use std::time::Duration;

use lastunit::store::broker::Mark;
use lastunit::store::generations::{Kept, Rotation};
use lastunit::store::outbox::{self, Entry, Lane, Needed, Parcel};
use sqlx::PgPool;
use time::OffsetDateTime;

use super::{DAY, GENERATION, HASTY, MONTH, age, current, metric, rotate, tables};
use crate::support::{Ground, PATIENCE, Shop, order, overlay, wait_until};

async fn write(db: &PgPool, lane: Lane) -> i64 {
    let at = OffsetDateTime::UNIX_EPOCH;
    let body = b"{}";
    let entry =
        Entry::Event { event_id: uuid::Uuid::now_v7(), subject: "reservation.held.web", body, traceparent: None };
    let mut connection = db.acquire().await.unwrap();
    outbox::insert_many(&mut connection, &[(lane, Parcel { at_us: 0, entries: vec![entry] })], at).await.unwrap();
    outbox::last_unsent(&mut connection, lane).await.unwrap().unwrap()
}

/// Makes everything older that was told.
async fn age_told(db: &PgPool, by: Duration) {
    let older = sqlx::query("UPDATE outbox SET sent_at = sent_at - make_interval(secs => $1)").bind(by.as_secs_f64());
    older.execute(db).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untold_row_is_never_thrown_away_and_a_told_one_not_before_its_time() {
    let ground = Ground::new().await;
    let db = tables(&ground).await;
    let (told, untold) = (write(&db, Lane::Stock).await, write(&db, Lane::Dead).await);
    outbox::mark_sent(&mut db.acquire().await.unwrap(), &[told], ("STOCK", Mark::default())).await.unwrap();
    for _ in 0..3 {
        age(&db, Kept::Outbox, GENERATION).await;
        age_told(&db, GENERATION).await;
        assert_eq!(rotate(&db, Kept::Outbox).await.unwrap(), Rotation::Done);
    }
    age(&db, Kept::Outbox, 10 * MONTH).await;
    age_told(&db, 10 * MONTH).await;
    let needed = rotate(&db, Kept::Outbox).await.unwrap();
    assert!(matches!(&needed, Rotation::Needed(Needed::Untold { stream, .. }) if stream == "DEAD"), "{needed:?}");

    // Told now, after all that time, it is kept from now on.
    outbox::mark_sent(&mut db.acquire().await.unwrap(), &[untold], ("STOCK", Mark::default())).await.unwrap();
    assert_eq!(rotate(&db, Kept::Outbox).await.unwrap(), Rotation::Needed(Needed::ToldLately));
    age_told(&db, 29 * DAY).await;
    assert_eq!(rotate(&db, Kept::Outbox).await.unwrap(), Rotation::Needed(Needed::ToldLately));
    let kept: Vec<i64> = sqlx::query_scalar("SELECT id FROM outbox ORDER BY id").fetch_all(&db).await.unwrap();
    assert_eq!(kept, [told, untold]);
    age_told(&db, DAY).await;
    assert_eq!(rotate(&db, Kept::Outbox).await.unwrap(), Rotation::Done);
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox").fetch_one(&db).await.unwrap();
    assert_eq!((kept, current(&db, Kept::Outbox).await), (0, 0));
    assert!(write(&db, Lane::Stock).await > untold, "numbers never begin again");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_several_generations_are_told_in_the_order_they_were_written() {
    let ground = Ground::new().await;
    let db = tables(&ground).await;
    let mut written = Vec::new();
    for _ in 0..4 {
        written.push(write(&db, Lane::Stock).await);
        write(&db, Lane::Reservations).await;
        age(&db, Kept::Outbox, GENERATION).await;
        rotate(&db, Kept::Outbox).await.unwrap();
    }
    let generations: i64 =
        sqlx::query_scalar("SELECT count(DISTINCT generation) FROM outbox").fetch_one(&db).await.unwrap();
    assert_eq!(generations, 4);
    let mut connection = db.acquire().await.unwrap();
    let unsent = |rows: Vec<outbox::Row>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(unsent(outbox::unsent(&mut connection, Lane::Stock, 0, 10).await.unwrap()), written);
    outbox::mark_sent(&mut connection, &written[..3], ("STOCK", Mark::default())).await.unwrap();
    assert_eq!(unsent(outbox::unsent(&mut connection, Lane::Stock, 0, 10).await.unwrap()), written[3..]);
}

/// A stream is full for longer than anything is kept: its rows wait, with a warning, and are told when there is room.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_told_for_longer_than_anything_is_kept_is_told_in_the_end() {
    let ground = Ground::new().await;
    let launch = overlay(&ground, &[("RESERVATIONS.stream.json", "max_msgs", 1.into())]).config(HASTY);
    let program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    for n in 0..2 {
        shop.say("order.created.web", order(&format!("e{n}"), &format!("o{n}"), "A")).await;
        shop.wait_for("RESERVATIONS", 1).await;
    }
    let overdue = "lastunit_rotation_overdue_seconds{kept=\"outbox\"}";
    wait_until("a rotation to be overdue", PATIENCE, async || metric(&program, overdue).await > 1.0).await;
    wait_until("a warning", PATIENCE, async || program.stderr().contains("RESERVATIONS has not been told")).await;
    let rows = "SELECT count(*) FROM outbox WHERE stream = 'RESERVATIONS' AND sent_at IS NULL";
    assert_eq!(shop.number(rows).await, 1);

    shop.js.get_stream("RESERVATIONS").await.unwrap().purge().await.unwrap();
    let told = shop.wait_for("RESERVATIONS", 1).await;
    assert_eq!((told[0].what(), &told[0].body["in_reply_to"]), ("held", &"e1".into()));
    wait_until("everything that was told to be let go of", PATIENCE, async || {
        shop.number("SELECT count(*) FROM outbox").await == 0
    })
    .await;
    wait_until("nothing to be overdue", PATIENCE, async || metric(&program, overdue).await == 0.0).await;
}
