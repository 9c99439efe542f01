//! F9: PostgreSQL ends sessions, stops at once, comes back.

use serde_json::json;
use sqlx::AssertSqlSafe;

use super::sale::Sale;
use crate::support::{Ground, Launch, PATIENCE, Shop, order, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn every_session_is_ended_again_and_again_under_load() {
    let sale = Sale::on(Ground::new().await).await;
    for round in 1..=8 {
        // Those of the round before may still be on their way back.
        wait_until("a session to end", PATIENCE, async || sale.shop.number(END_SESSIONS).await > 0).await;
        sale.decided(600 + 200 * round).await;
    }
    sale.ends_well().await;
}

/// Of this test's database: others share the server.
const END_SESSIONS: &str = "
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE application_name = 'lastunit' AND datname = current_database()";

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_said_by_readiness_and_outlived() {
    let mut sale = Sale::on(Ground::own().await).await;
    sale.ground.postgres().stop_immediate().await.unwrap();
    for copy in &sale.copies {
        wait_until("a copy that is not ready", PATIENCE, async || copy.get("/readyz").await.0 == 503).await;
        assert!(copy.get("/readyz").await.1.contains("PostgreSQL"));
        assert_eq!(copy.get("/healthz").await.0, 200);
    }
    sale.ground.postgres().restart().await.unwrap();
    for copy in &sale.copies {
        wait_until("a copy that is ready again", PATIENCE, async || copy.get("/readyz").await.0 == 200).await;
    }
    sale.ends_well().await;
}

/// What a statement needs is not there: no message is to blame.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_in_the_database_is_waited_for() {
    let ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 5).await;
    for (there, away) in [("reservation_event", "elsewhere_1"), ("stock_movement", "elsewhere_2")] {
        sqlx::raw_sql(AssertSqlSafe(format!("ALTER TABLE {there} RENAME TO {away}"))).execute(&shop.db).await.unwrap();
    }
    shop.say("order.created.web", order("o1", "1001", "A")).await;
    shop.say("inventory.received.main", json!({ "event_id": "r1", "lines": [{ "sku": "A", "qty": 2 }] })).await;
    wait_until("both to wait", PATIENCE, async || {
        let said = program.stderr();
        said.contains("the database is not what the program needs") && said.contains("stock_movement")
    })
    .await;
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter").await, 0);
    for (there, away) in [("reservation_event", "elsewhere_1"), ("stock_movement", "elsewhere_2")] {
        sqlx::raw_sql(AssertSqlSafe(format!("ALTER TABLE {away} RENAME TO {there}"))).execute(&shop.db).await.unwrap();
    }
    assert_eq!(shop.answer_to("o1").await.what(), "held");
    shop.settled().await;
    shop.audit().await;
    let figures = shop.figures("A", "main").await.unwrap();
    assert_eq!((figures.on_hand, figures.reserved), (7, 1));
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter").await, 0);
}
