//! F4 and its like: `kill -9` of everything there is, under load.

use super::sale::Sale;
use crate::support::Ground;

#[tokio::test(flavor = "multi_thread")]
async fn the_program_is_killed_under_load() {
    let mut sale = Sale::on(Ground::new().await).await;
    sale.copies[0].kill().await;
    sale.decided(1_000).await;
    sale.copies[0] = sale.launch.ready(&["run"]).await;
    sale.copies[1].kill().await;
    sale.decided(1_500).await;
    sale.copies[1] = sale.launch.ready(&["run"]).await;
    sale.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_is_killed_under_load() {
    let mut sale = Sale::on(Ground::new().await).await;
    sale.ground.nats.kill().await.unwrap();
    sale.ground.nats.restart().await.unwrap();
    sale.decided(1_500).await;
    sale.ground.nats.kill().await.unwrap();
    sale.ground.nats.restart().await.unwrap();
    // Redeliveries only: the broker knows by their ids what it had stored, and nothing is told twice.
    sale.ends_well_and(async |shop| {
        assert_eq!(shop.first_told("RESERVATIONS").await.len(), shop.stream("RESERVATIONS").await.len());
        assert_eq!(shop.stream("DEAD").await.len(), 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_is_killed_under_load() {
    let mut sale = Sale::on(Ground::own().await).await;
    sale.ground.postgres().kill().await.unwrap();
    sale.ground.postgres().restart().await.unwrap();
    sale.decided(1_500).await;
    sale.ground.postgres().kill().await.unwrap();
    sale.ground.postgres().restart().await.unwrap();
    sale.ends_well().await;
}
