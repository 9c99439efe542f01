//! Channels that are told what is free: one that takes one warehouse a call, and one that knows versions.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::{Address, Pace, Simulator};

use crate::messages::{SKUS, WAREHOUSES};
use crate::support::{Ground, Launch, PATIENCE, Shop, Terms, wait_until, with_channel};

const CHANNELS: [(&str, ChannelKind); 2] = [("wb", ChannelKind::Wildberries), ("site", ChannelKind::Webhook)];

/// What the channels show.
pub struct Fair(Simulator);

impl Fair {
    /// Every SKU of every warehouse in both channels. Returns how the program is told of them.
    pub async fn open(ground: &Ground, launch: Launch) -> (Self, Launch) {
        let simulator = Simulator::start(Pace { ozon_interval: Duration::ZERO, has_rates: false }).await.unwrap();
        let ended = launch.run(&["migrate"]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let shop = Shop::open(ground).await;
        let mut launch = launch;
        for (name, kind) in CHANNELS {
            launch = with_channel(launch, name, &simulator.settings(kind), Terms::default());
            for (n, warehouse) in WAREHOUSES.iter().enumerate() {
                simulator.add_warehouse(kind, &number(n));
                let map =
                    "INSERT INTO channel_warehouse_map (warehouse, channel, external_warehouse_id) VALUES ($1, $2, $3)";
                sqlx::query(map).bind(warehouse).bind(name).bind(number(n)).execute(&shop.db).await.unwrap();
            }
            for (n, sku) in SKUS.iter().enumerate() {
                simulator.add_item(kind, &number(n), sku);
                let map = "INSERT INTO channel_item_map (sku, channel, external_id) VALUES ($1, $2, $3)";
                sqlx::query(map).bind(sku).bind(name).bind(number(n)).execute(&shop.db).await.unwrap();
            }
        }
        (Self(simulator), launch)
    }

    /// Waits until every channel shows what is free, as confirmed. Nothing may be sold meanwhile.
    ///
    /// # Panics
    /// With what it shows; where two sendings of an address were under way at once.
    pub async fn check(&self, shop: &Shop) {
        let shown =
            wait_until("every channel to show what is free", PATIENCE, async || self.wrong(shop).await.is_empty());
        if AssertUnwindSafe(shown).catch_unwind().await.is_err() {
            let points: Vec<String> =
                sqlx::query_scalar("SELECT point::text FROM publish_point AS point").fetch_all(&shop.db).await.unwrap();
            panic!("it is not shown: {:#?}\n{}", self.wrong(shop).await, points.join("\n"));
        }
        let unconfirmed = "SELECT count(*) FROM publish_point AS point
            LEFT JOIN stock_confirmed AS confirmed USING (sku, channel, warehouse)
            WHERE confirmed.confirmed_version IS DISTINCT FROM point.newest_version OR point.lease IS NOT NULL";
        wait_until("every point to be confirmed", PATIENCE, async || shop.number(unconfirmed).await == 0).await;
        assert_eq!(self.wrong(shop).await, [] as [String; 0]);
        assert_eq!(self.0.overlaps(), 0, "sendings of an address overlapped");
    }

    async fn wrong(&self, shop: &Shop) -> Vec<String> {
        let free: Vec<(String, String, i64)> =
            sqlx::query_as("SELECT sku, warehouse, on_hand - reserved FROM stock").fetch_all(&shop.db).await.unwrap();
        let place = |names: &[&str], name: &str| names.iter().position(|one| *one == name);
        let mut wrong = Vec::new();
        for (sku, warehouse, free) in free {
            let (Some(item), Some(shelf)) = (place(&SKUS, &sku), place(&WAREHOUSES, &warehouse)) else { continue };
            for (name, kind) in CHANNELS {
                let shown = self.0.shown(&Address::new(kind, &number(shelf), &number(item)));
                if shown != Some(free) {
                    wrong.push(format!("{sku} in {warehouse} on {name}: {shown:?} instead of {free}"));
                }
            }
        }
        wrong
    }
}

/// What both channels call it. They count from 1.
fn number(n: usize) -> String {
    (n + 1).to_string()
}
