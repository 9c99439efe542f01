//! Dead letters go when they were resolved long enough ago and nobody may be told of them any more.

use lastunit::store::dead_letters;
use serde_json::json;
use sqlx::PgPool;

use super::MONTH;
use crate::support::{Ground, Launch, PATIENCE, Shop, wait_until};

async fn prune(db: &PgPool) -> u64 {
    dead_letters::prune(&mut db.acquire().await.unwrap(), MONTH, 100).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_goes_when_it_is_resolved_old_and_told_of_no_more() {
    let ground = Ground::new().await;
    let mut program = Launch::new(&ground).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    for n in 0..3 {
        shop.say("order.created.web", json!({ "event_id": format!("e{n}"), "order_ref": n.to_string(), "lines": [] }))
            .await;
    }
    shop.wait_for("DEAD", 3).await;
    shop.settled().await;
    assert_eq!(program.terminate().await, Some(0));
    let db = &shop.db;
    let letters: Vec<i64> = sqlx::query_scalar("SELECT id FROM dead_letter ORDER BY id").fetch_all(db).await.unwrap();
    let [old, fresh, open] = letters[..] else { panic!("{letters:?}") };

    let resolve = "UPDATE dead_letter SET resolved_at = now() - make_interval(days => $2) WHERE id = $1";
    for (id, days_ago) in [(old, 31), (fresh, 29)] {
        sqlx::query(resolve).bind(id).bind(days_ago).execute(db).await.unwrap();
    }
    assert_eq!(prune(db).await, 0, "the outbox tells of it");
    sqlx::query("UPDATE outbox SET written_at = written_at - interval '60 days' WHERE stream = 'DEAD'")
        .execute(db)
        .await
        .unwrap();
    assert_eq!(prune(db).await, 0, "the outbox may tell of it");
    sqlx::query("TRUNCATE outbox").execute(db).await.unwrap();
    assert_eq!(prune(db).await, 1);
    let left: Vec<i64> = sqlx::query_scalar("SELECT id FROM dead_letter ORDER BY id").fetch_all(db).await.unwrap();
    assert_eq!(left, [fresh, open]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_lets_go_of_dead_letters_by_itself() {
    let ground = Ground::new().await;
    let program = Launch::new(&ground).config("outbox.keep_s = 1").ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    for n in 0..2 {
        shop.say("order.created.web", json!({ "event_id": format!("e{n}"), "order_ref": n.to_string(), "lines": [] }))
            .await;
    }
    shop.wait_for("DEAD", 2).await;
    let resolve =
        "UPDATE dead_letter SET resolved_at = now() - interval '31 days', opened_at = now() - interval '40 days'
                   WHERE id = (SELECT min(id) FROM dead_letter)";
    sqlx::query(resolve).execute(&shop.db).await.unwrap();
    wait_until("the resolved one to go", PATIENCE, async || {
        program.metric("lastunit_dead_letters_pruned_total").await == 1
    })
    .await;
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter WHERE resolved_at IS NULL").await, 1);
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter").await, 1);
}
