//! A sale that a fault falls into: two copies, more buyers than units.

use std::collections::HashMap;

use crate::support::{Ground, Launch, Load, PATIENCE, Program, Shop, buyers, wait_until};

/// What is on sale.
pub const SKUS: [&str; 5] = ["SALE-1", "SALE-2", "SALE-3", "SALE-4", "SALE-5"];
/// How many units of each there are.
const UNITS: i64 = 400;
/// How many buyers there are.
const BUYERS: usize = 3_000;

/// A sale that goes on.
pub struct Sale {
    pub launch: Launch,
    pub copies: [Program; 2],
    pub shop: Shop,
    pub ground: Ground,
    pub load: Load,
}

impl Sale {
    /// Opens and waits until a good part of the buyers has been served.
    pub async fn on(ground: Ground) -> Self {
        let launch = Launch::impatient(&ground);
        let copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
        let shop = Shop::open(&ground).await;
        shop.count_many(&SKUS.map(|sku| (sku, UNITS)), "main").await;
        let load = shop.load(buyers("sale", &SKUS).take(BUYERS));
        let sale = Self { launch, copies, shop, ground, load };
        sale.decided(BUYERS / 5).await;
        sale
    }

    /// Waits until so many orders have been decided.
    pub async fn decided(&self, orders: usize) {
        let orders = i64::try_from(orders).unwrap();
        wait_until(&format!("{orders} orders to be decided"), PATIENCE, async || {
            self.shop.number("SELECT count(*) FROM sales_order").await >= orders
        })
        .await;
    }

    /// Waits for the end: every unit was sold once, every buyer was answered once.
    pub async fn ends_well(self) {
        let ids = self.load.all().await;
        self.shop.settled().await;
        self.shop.audit().await;
        let tally = self.shop.assert_answered_once(&ids).await;
        assert_eq!(tally, HashMap::from([("held".into(), 2_000), ("rejected".into(), 1_000)]));
        for sku in SKUS {
            assert_eq!(self.shop.figures(sku, "main").await.unwrap().reserved, UNITS, "{sku}");
        }
    }
}
