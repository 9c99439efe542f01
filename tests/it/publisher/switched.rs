//! What a person may do with a channel, and how the program ends in the middle of it.

use std::time::Duration;

use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::Fault;

use super::{CHANNELS, Fair, Terms, address};
use crate::support::{PATIENCE, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_channel_is_told_nothing_and_then_the_newest() {
    let fair = Fair::open(Terms::default()).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    let _program = fair.launch.ready(&["run"]).await;
    fair.shop.count("A", "main", 5).await;
    fair.shows(&CHANNELS, 10, 1, 5).await;
    fair.quiet().await;
    let paused = fair.launch.run(&["publisher", "pause", "wb"]).await;
    assert_eq!(paused.code, Some(0), "{}", paused.stderr);
    for units in [4, 3, 2] {
        fair.shop.count("A", "main", units).await;
        fair.shows(&[CHANNELS[0], CHANNELS[2]], 10, 1, units).await;
    }
    assert_eq!(fair.simulator.told(&address(ChannelKind::Wildberries, 1, 10)), [5]);
    assert_eq!(fair.launch.run(&["publisher", "resume", "wb"]).await.code, Some(0));
    fair.shows(&CHANNELS, 10, 1, 2).await;
    fair.quiet().await;
    assert_eq!(fair.simulator.told(&address(ChannelKind::Wildberries, 1, 10)), [5, 2]);
    assert_eq!(fair.launch.run(&["publisher", "pause", "nobody"]).await.code, Some(2));
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_not_taken_halts_its_channel_until_somebody_says_so() {
    let fair = Fair::open(Terms::default()).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    let program = fair.launch.ready(&["run"]).await;
    fair.simulator.arm(ChannelKind::Ozon, Fault::Banned);
    fair.shop.count("A", "main", 5).await;
    fair.shows(&CHANNELS[1..], 10, 1, 5).await;
    let halted = "SELECT count(*) FROM publish_channel WHERE halted_until > now() AND channel = 'ozon'";
    wait_until("the channel to be halted", PATIENCE, async || fair.shop.number(halted).await == 1).await;
    assert_eq!(
        fair.shop.number("SELECT count(*) FROM stock_push WHERE channel = 'ozon' AND state = 'pending'").await,
        1
    );
    assert_eq!(program.get("/readyz").await.0, 200);
    assert_eq!(fair.launch.run(&["publisher", "resume", "ozon"]).await.code, Some(0));
    fair.shows(&CHANNELS, 10, 1, 5).await;
    fair.quiet().await;
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_at_the_end_lands_first() {
    let fair = Fair::open(Terms { timeout: 5, ..Terms::default() }).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    let mut program = fair.launch.ready(&["run"]).await;
    fair.simulator.arm(ChannelKind::Wildberries, Fault::Slow(Duration::from_secs(2)));
    fair.shop.count("A", "main", 5).await;
    let flying = "SELECT count(*) FROM publish_point WHERE channel = 'wb' AND lease IS NOT NULL";
    wait_until("it to be in flight", PATIENCE, async || fair.shop.number(flying).await == 1).await;
    program.terminate().await;
    assert_eq!(fair.shop.number("SELECT count(*) FROM push_attempt WHERE ended_at IS NULL").await, 0);
    assert_eq!(
        fair.shop.number("SELECT count(*) FROM stock_push WHERE channel = 'wb' AND state = 'accepted'").await,
        1
    );
    fair.audit().await;
}
