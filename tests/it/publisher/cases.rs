//! What went wrong elsewhere.

use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::Fault;

use super::{CHANNELS, Fair, Terms, address};
use crate::support::{PATIENCE, wait_until};

/// One item in one warehouse, told and confirmed everywhere.
async fn one_item(terms: Terms, units: i64) -> (Fair, crate::support::Program) {
    let fair = Fair::open(terms).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    let program = fair.launch.ready(&["run"]).await;
    fair.shop.count("A", "main", units).await;
    fair.shows(&CHANNELS, 10, 1, units).await;
    fair.quiet().await;
    (fair, program)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_was_told_before_is_told_again() {
    let (fair, _program) = one_item(Terms::default(), 5).await;
    for units in [4, 5] {
        fair.shop.count("A", "main", units).await;
        fair.shows(&CHANNELS, 10, 1, units).await;
        fair.quiet().await;
    }
    for (_, kind) in CHANNELS {
        assert_eq!(fair.simulator.told(&address(kind, 1, 10)), [5, 4, 5], "{kind:?}");
    }
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marketplace_that_accepts_and_never_shows_is_seen_through_and_a_person_asked() {
    let (fair, _program) = one_item(Terms::default(), 5).await;
    for (_, kind) in CHANNELS {
        fair.simulator.arm_item(&address(kind, 1, 10), Fault::Lie, 100);
    }
    fair.shop.count("A", "main", 0).await;
    let asked = "SELECT count(*) FROM review_item WHERE kind = 'push_unapplied' AND resolved_at IS NULL";
    wait_until("a question for each channel", PATIENCE, async || fair.shop.number(asked).await == 3).await;
    // The first time and three more; and the observation stands beside the question.
    let sent = "SELECT count(*) FROM push_attempt WHERE qty = 0 AND outcome = 'accepted'";
    assert_eq!(fair.shop.number(sent).await, 12);
    let beside = "SELECT count(*) FROM review_item WHERE subject @> '{\"sku\": \"A\", \"warehouse\": \"main\", \"desired_qty\": 0, \"observed_qty\": 5}'";
    assert_eq!(fair.shop.number(beside).await, 3);
    assert_eq!(fair.shop.number("SELECT count(*) FROM stock_push WHERE state = 'needs_review'").await, 3);
    // Each time before it was told again, and before the question; it is looked at after that too.
    let seen =
        "SELECT count(*) FROM stock_observation WHERE verdict = 'drift' AND observed_qty = 5 AND desired_qty = 0";
    assert!(fair.shop.number(seen).await >= 12);

    fair.simulator.disarm();
    let ids: Vec<i64> = sqlx::query_scalar("SELECT id FROM review_item").fetch_all(&fair.shop.db).await.unwrap();
    for id in ids {
        let ended = fair.launch.run(&["reviews", "resolve", &id.to_string(), "--note", "they mended it"]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    fair.shows(&CHANNELS, 10, 1, 0).await;
    fair.quiet().await;
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_throttled_or_dead_channel_delays_no_other() {
    let (fair, _program) = one_item(Terms::default(), 5).await;
    let (ozon, wildberries) = (address(ChannelKind::Ozon, 1, 10), address(ChannelKind::Wildberries, 1, 10));
    fair.simulator.arm(ChannelKind::Ozon, Fault::Throttled(Some(600)));
    for _ in 0..100 {
        fair.simulator.arm(ChannelKind::Wildberries, Fault::Drip);
    }
    for units in 6..30 {
        fair.shop.count("A", "main", units).await;
        fair.shows(&CHANNELS[2..], 10, 1, units).await;
    }
    assert_eq!(fair.simulator.told(&ozon), [5]);
    assert!(fair.shop.number("SELECT count(*) FROM push_attempt WHERE channel = 'ozon' AND qty > 5").await <= 1);
    // A channel that takes what it is told and never says so is read: nothing is taken for accepted.
    assert_eq!(
        fair.shop
            .number("SELECT count(*) FROM push_attempt WHERE channel = 'wb' AND qty > 5 AND outcome = 'accepted'")
            .await,
        0
    );
    fair.simulator.disarm();
    wait_until("the slow one to show the newest", PATIENCE, async || fair.simulator.shown(&wildberries) == Some(29))
        .await;
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_corrects_every_correction_is_not_fought_for_ever() {
    let (fair, _program) = one_item(Terms::default(), 5).await;
    let shelf = address(ChannelKind::Wildberries, 1, 10);
    let asked = "SELECT count(*) FROM review_item WHERE kind = 'push_unapplied' AND resolved_at IS NULL";
    wait_until("a person to be asked", 2 * PATIENCE, async || {
        // Somebody sets it to 9 whenever it is right.
        if fair.simulator.shown(&shelf) == Some(5) {
            fair.simulator.set(&shelf, 9);
        }
        fair.shop.number(asked).await == 1
    })
    .await;
    assert_eq!(fair.simulator.told(&shelf), [5; 4], "told, and healed three times");
    assert_eq!(fair.simulator.shown(&shelf), Some(9));
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_list_leaves_out_is_zero_only_where_zero_was_told() {
    let (fair, _program) = one_item(Terms::default(), 0).await;
    fair.simulator.hide_zeros(true);
    let listed =
        "SELECT count(DISTINCT channel) FROM stock_observation WHERE observed_qty IS NULL AND verdict = $$in_sync$$";
    wait_until("marketplaces to be read", PATIENCE, async || fair.shop.number(listed).await == 2).await;
    // A receiver of webhooks has no such custom.
    let absent =
        "SELECT count(*) FROM stock_observation WHERE channel = 'site' AND verdict = 'absent' AND observed_qty IS NULL";
    wait_until("the receiver to be read", PATIENCE, async || fair.shop.number(absent).await > 0).await;
    assert_eq!(
        fair.shop.number("SELECT count(*) FROM stock_observation WHERE channel <> 'site' AND verdict = 'absent'").await,
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_is_told_no_more_often_than_the_channel_takes_it_and_always_the_newest() {
    let (fair, _program) = one_item(Terms { min_interval: 1, ..Terms::default() }, 50).await;
    for units in (10..50).rev() {
        fair.shop.count("A", "main", units).await;
    }
    fair.shows(&CHANNELS, 10, 1, 10).await;
    fair.quiet().await;
    assert_eq!(fair.shop.number("SELECT count(*) FROM push_attempt WHERE outcome <> 'accepted'").await, 0);
    let early = "SELECT count(*) FROM (
            SELECT began_at - lag(began_at) OVER (PARTITION BY sku, channel, warehouse ORDER BY flight) AS apart FROM push_attempt
        ) AS step WHERE apart < interval '1 second'";
    assert_eq!(fair.shop.number(early).await, 0);
    // What came in between was never sent, and is not kept.
    let kept =
        "SELECT max(rows) FROM (SELECT count(*) AS rows FROM stock_push WHERE attempts = 0 GROUP BY channel) AS kept";
    assert!(fair.shop.number(kept).await <= 1);
    fair.audit().await;
}
