//! Somebody holds a snapshot open, or a table: nothing grows without bound, and nobody waits.

use lastunit::store::generations::Kept;
use sqlx::{Connection, PgConnection};

use super::{GENERATION, HASTY, age, cancel_one, current, metric, one_large_order, pass_a_generation, reserved};
use crate::support::{Ground, Launch, PATIENCE, Shop, buyers, wait_until};

/// How many bytes all generations of a table take, with their indexes.
async fn size(shop: &Shop, table: &'static str) -> i64 {
    let size = "SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = $1::regclass";
    sqlx::query_scalar(size).bind(table).fetch_one(&shop.db).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_snapshot_lets_nothing_grow() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).config("outbox.keep_s = 1\ndatabase.snapshot_warn_s = 1");
    let program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    let empty = [size(&shop, "outbox").await, size(&shop, "processed_event").await];
    one_large_order(&shop, 900).await;

    let mut session = PgConnection::connect(&ground.database_url).await.unwrap();
    let mut snapshot = session.begin().await.unwrap();
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").execute(&mut *snapshot).await.unwrap();
    let seen = "SELECT reserved FROM stock WHERE sku = 'A'";
    let before: i64 = sqlx::query_scalar(seen).fetch_one(&mut *snapshot).await.unwrap();

    let mut cancelled = 0;
    for round in 0..4 {
        let orders = buyers(&format!("b{round}"), &["NONE"]).take(300);
        let cancels = (0..100).map(move |n| cancel_one(&format!("c{round}-{n}"), "1"));
        shop.load(orders.chain(cancels)).all().await;
        cancelled += 100;
        shop.settled().await;
        assert_eq!(reserved(&shop).await, 900 - cancelled);
        assert!(size(&shop, "processed_event").await > empty[1]);
        pass_a_generation(&shop).await;
    }
    for _ in 0..3 {
        pass_a_generation(&shop).await;
    }
    // Under that snapshot no dead row can be removed. Yet both are as small as they were in the beginning.
    wait_until("the outbox to be empty", PATIENCE, async || size(&shop, "outbox").await == empty[0]).await;
    assert_eq!(size(&shop, "processed_event").await, empty[1]);

    assert!(metric(&program, "lastunit_oldest_snapshot_seconds").await >= 1.0);
    assert!(metric(&program, "lastunit_rotations_total{kept=\"inbox\"}").await >= 7.0);
    wait_until("a warning", PATIENCE, async || program.stderr().contains("keeps a transaction open")).await;
    let still: i64 = sqlx::query_scalar(seen).fetch_one(&mut *snapshot).await.unwrap();
    assert_eq!(still, before, "it was one snapshot all the time");
    snapshot.commit().await.unwrap();
    wait_until("nobody to hold a snapshot", PATIENCE, async || {
        metric(&program, "lastunit_oldest_snapshot_seconds").await < 1.0
    })
    .await;
    shop.settled().await;
    assert_eq!(shop.number("SELECT count(*) FROM reservation_event WHERE qty = -1").await, cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_the_inbox_for_long_holds_up_a_rotation_and_no_batch() {
    let ground = Ground::new().await;
    let program = Launch::new(&ground).config(HASTY).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    one_large_order(&shop, 100).await;
    let mut session = PgConnection::connect(&ground.database_url).await.unwrap();
    let mut reader = session.begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM processed_event").execute(&mut *reader).await.unwrap();
    age(&shop.db, Kept::Inbox, GENERATION).await;
    let overdue = "lastunit_rotation_overdue_seconds{kept=\"inbox\"}";
    wait_until("a rotation to be overdue", PATIENCE, async || metric(&program, overdue).await > 0.0).await;

    // Each goes by itself, so that it meets the rotation that tries again and again.
    for n in 0..20 {
        let (subject, body) = cancel_one(&format!("c{n}"), "1");
        shop.say(&subject, body).await;
        shop.answer_to(&format!("c{n}")).await;
    }
    assert_eq!(reserved(&shop).await, 80);
    assert_eq!(current(&shop.db, Kept::Inbox).await, 0);
    reader.commit().await.unwrap();
    wait_until("the rotation", PATIENCE, async || current(&shop.db, Kept::Inbox).await == 1).await;
    wait_until("nothing to be overdue", PATIENCE, async || metric(&program, overdue).await == 0.0).await;
    shop.settled().await;
    shop.audit().await;
}
