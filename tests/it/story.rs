//! The story of `examples/story`, which `scripts/demo` plays: here, so that it cannot rot.

use crate::support::{Ground, Launch, Shop};

#[path = "../../examples/story/plot/mod.rs"]
mod plot;

#[tokio::test(flavor = "multi_thread")]
async fn the_story_ends_well_every_time() {
    let ground = Ground::new().await;
    let _program = Launch::new(&ground).env("LASTUNIT_HOLD__MIN_S", "1").ready(&["run"]).await;
    for _ in 0..2 {
        plot::play(&ground.nats.url(), &ground.database_url).await.unwrap();
    }
    let shop = Shop::open(&ground).await;
    shop.settled().await;
    shop.audit().await;
}
