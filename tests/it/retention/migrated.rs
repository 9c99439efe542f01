//! A database from before there were generations.

use std::fs;
use std::path::Path;

use lastunit::store::broker::Mark;
use lastunit::store::migrate;
use lastunit::store::outbox::{self, Lane};
use sqlx::migrate::Migrator;
use sqlx::postgres::PgPoolOptions;

use super::{claim, events};
use crate::support::Ground;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_before_the_generations_is_there_after() {
    let ground = Ground::new().await;
    let db = PgPoolOptions::new().max_connections(2).connect(&ground.database_url).await.unwrap();
    let (all, before) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations"), ground.dir().join("before"));
    fs::create_dir(&before).unwrap();
    for entry in fs::read_dir(all).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_str().unwrap() < "0006" {
            fs::copy(entry.path(), before.join(entry.file_name())).unwrap();
        }
    }
    Migrator::new(before).await.unwrap().run(&db).await.unwrap();
    let rows = "INSERT INTO outbox (stream, entries, written_at, sent_at)
                SELECT 'STOCK', '\\x01', now(), CASE WHEN n < 3 THEN now() END FROM generate_series(1, 4) AS n RETURNING id";
    let ids: Vec<i64> = sqlx::query_scalar(rows).fetch_all(&db).await.unwrap();
    sqlx::query("INSERT INTO processed_event VALUES ('order.cancelled.web', 'e1', now())").execute(&db).await.unwrap();

    assert_eq!(migrate::apply(&db, "public").await.unwrap()[..2], [6, 7]);
    assert_eq!(claim(&db, &events(["e1".into(), "e2".into()])).await.unwrap(), 1);
    let mut connection = db.acquire().await.unwrap();
    let unsent = outbox::unsent(&mut connection, Lane::Stock, 0, 10).await.unwrap();
    assert_eq!(unsent.iter().map(|row| row.id).collect::<Vec<_>>(), ids[2..]);
    outbox::mark_sent(&mut connection, &ids[2..], ("STOCK", Mark::default())).await.unwrap();
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL")
        .fetch_one(&mut *connection)
        .await
        .unwrap();
    assert_eq!(kept, 4);
    // A copy of the program from before, that is still running.
    let old = "INSERT INTO outbox (stream, entries, written_at) VALUES ('STOCK', '\\x01', now()) RETURNING id";
    let next: i64 = sqlx::query_scalar(old).fetch_one(&mut *connection).await.unwrap();
    assert!(next > *ids.last().unwrap());
    let old = "INSERT INTO processed_event (subject, event_id, at) VALUES ('order.cancelled.web', 'e2', now()) ON CONFLICT DO NOTHING";
    assert_eq!(sqlx::query(old).execute(&mut *connection).await.unwrap().rows_affected(), 0);
}
