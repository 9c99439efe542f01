//! F9: PostgreSQL ends sessions, stops at once, comes back.

use super::sale::Sale;
use crate::support::{Ground, PATIENCE, wait_until};

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
