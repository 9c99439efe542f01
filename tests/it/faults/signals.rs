//! F20: clean ends under load.

use crate::support::{Ground, Launch, Shop, buyers};

const ROUNDS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn fifty_clean_ends_under_load_lose_nothing_and_repeat_little() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let steady = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count_many(&[("A", 10_000), ("B", 10_000)], "main").await;
    let load = shop.trickle(buyers("e", &["A", "B"]));
    for round in 0..ROUNDS {
        let mut other = launch.ready(&["run"]).await;
        assert_eq!(other.terminate().await, Some(0), "round {round}: {}", other.stderr());
        assert!(other.stderr().contains("everything taken was finished"), "round {round}: {}", other.stderr());
    }
    let ids = load.end().await;
    shop.settled().await;
    shop.audit().await;
    shop.assert_answered_once(&ids).await;
    let redelivered = steady.metric("lastunit_redelivered_total").await;
    assert!(redelivered * 100 <= ids.len(), "{redelivered} of {} were decided and came again", ids.len());
}
