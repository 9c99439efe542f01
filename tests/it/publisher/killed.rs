//! kill -9 in the middle of a call: no point is lost, and none is told an older number last.

use super::{CHANNELS, Fair, Terms, address};
use crate::support::{PATIENCE, Program, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn whatever_it_was_doing_every_point_shows_the_newest_in_the_end() {
    for point in ["publish::after_claim", "publish::after_push", "publish::before_landed"] {
        let fair = Fair::open(Terms::default()).await;
        fair.warehouse("main", 1).await;
        let skus: Vec<(String, i64)> = (0..40).map(|n| (format!("S{n}"), 5)).collect();
        for (n, (sku, _)) in skus.iter().enumerate() {
            fair.item(sku, 100 + n).await;
        }
        let mut doomed: Program =
            fair.launch.clone().env("FAILPOINTS", format!("{point}=1*return")).ready(&["run"]).await;
        fair.shop.count_many(&skus, "main").await;
        doomed.wait(PATIENCE).await;
        let left = "SELECT count(*) FROM publish_point WHERE lease IS NOT NULL";
        assert!(fair.shop.number(left).await > 0, "{point}: it died in the middle");

        let _program = fair.launch.ready(&["run"]).await;
        let fewer: Vec<(String, i64)> = skus.iter().map(|(sku, _)| (sku.clone(), 3)).collect();
        fair.shop.count_many(&fewer, "main").await;
        for n in 0..skus.len() {
            fair.shows(&CHANNELS, 100 + n, 1, 3).await;
        }
        fair.quiet().await;
        for (_, kind) in CHANNELS {
            for n in 0..skus.len() {
                let told = fair.simulator.told(&address(kind, 1, 100 + n));
                assert!(told.is_sorted_by(|earlier, later| earlier >= later), "{point}: {told:?}");
            }
        }
        assert_eq!(
            fair.shop.number("SELECT count(*) FROM stock_push WHERE state IN ('pending', 'sending', 'unknown')").await,
            0
        );
        wait_until("what nobody saw the end of to be known as that", PATIENCE, async || {
            fair.shop.number("SELECT count(*) FROM push_attempt WHERE ended_at IS NULL").await == 0
        })
        .await;
        fair.audit().await;
    }
}
