//! What channels were told is kept for its time, and what still counts for ever.

use super::{CHANNELS, Fair, Terms};
use crate::support::{PATIENCE, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn old_versions_attempts_and_observations_go_and_the_newest_stays() {
    let fair = Fair::open(Terms { reconcile_every: 86_400, ..Terms::default() }).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    let program = fair.launch.clone().env("LASTUNIT_PUBLISHER__KEEP_S", "3600").ready(&["run"]).await;
    for units in [5, 4, 3] {
        fair.shop.count("A", "main", units).await;
        fair.shows(&CHANNELS, 10, 1, units).await;
        fair.quiet().await;
    }
    assert_eq!(fair.shop.number("SELECT count(*) FROM stock_push").await, 9);
    let told = fair.shop.number("SELECT count(*) FROM push_attempt").await;
    assert!(told >= 9 && fair.shop.number("SELECT count(*) FROM stock_observation").await >= 9);

    sqlx::query("UPDATE stock_push SET created_at = created_at - interval '2 h'").execute(&fair.shop.db).await.unwrap();
    wait_until("old versions to go", PATIENCE, async || fair.shop.number("SELECT count(*) FROM stock_push").await == 3)
        .await;
    let newest = "SELECT count(*) FROM stock_push JOIN publish_point AS point USING (sku, channel, warehouse) WHERE version = point.newest_version";
    assert_eq!(fair.shop.number(newest).await, 3);

    for generation in 0..4 {
        let current =
            "SELECT sum(number)::bigint FROM generation WHERE current AND kept IN ('attempts', 'observations')";
        let before = fair.shop.number(current).await;
        assert_eq!(before, generation * 2);
        sqlx::query(
            "UPDATE generation SET opened_at = opened_at - interval '25 min', closed_at = closed_at - interval '25 min'
             WHERE kept IN ('attempts', 'observations')",
        )
        .execute(&fair.shop.db)
        .await
        .unwrap();
        let next = (generation + 1) % 4 * 2;
        wait_until("both to rotate", PATIENCE, async || fair.shop.number(current).await == next).await;
    }
    assert_eq!(fair.shop.number("SELECT count(*) FROM push_attempt").await, 0);
    assert_eq!(fair.shop.number("SELECT count(*) FROM stock_observation").await, 0);
    // What was forgotten is missed by nobody.
    fair.shop.count("A", "main", 9).await;
    fair.shows(&CHANNELS, 10, 1, 9).await;
    fair.quiet().await;
    drop(program);
    fair.audit().await;
}
