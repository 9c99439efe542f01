//! What channels are told and show, through the whole program and over real HTTP, against marketplaces that are not there.

mod cases;
mod converges;
mod healing;
mod kept;
#[cfg(feature = "failpoints")]
mod killed;
mod moved;
mod secrets;
mod switched;

use std::time::Duration;

use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::{Address, Pace, Simulator};
use lastunit::domain::Qty;
use serde_json::json;

use crate::support::{Ground, Launch, PATIENCE, Shop, Terms, wait_until, with_channel};

/// The channels, by the names they have in the tests.
const CHANNELS: [(&str, ChannelKind); 3] =
    [("ozon", ChannelKind::Ozon), ("wb", ChannelKind::Wildberries), ("site", ChannelKind::Webhook)];

/// A shop with its marketplaces.
struct Fair {
    ground: Ground,
    shop: Shop,
    simulator: Simulator,
    launch: Launch,
}

impl Fair {
    /// With no item and no warehouse.
    async fn open(terms: Terms) -> Self {
        Self::open_on(Ground::new().await, terms).await
    }

    async fn open_on(ground: Ground, terms: Terms) -> Self {
        let shop = Shop::open(&ground).await;
        // What is told a second apart may arrive a little closer.
        let pace = Pace { ozon_interval: Duration::from_secs(terms.min_interval) * 4 / 5, has_rates: false };
        let simulator = Simulator::start(pace).await.unwrap();
        let mut launch = Launch::impatient(&ground);
        for (name, kind) in CHANNELS {
            launch = with_channel(launch, name, &simulator.settings(kind), terms);
        }
        Launch::new(&ground).run(&["migrate"]).await;
        Self { ground, shop, simulator, launch }
    }

    /// A warehouse that every channel sells from: there it is called by its channel's and its own name.
    async fn warehouse(&self, warehouse: &str, number: usize) {
        for (channel, kind) in CHANNELS {
            self.simulator.add_warehouse(kind, &number.to_string());
            sqlx::query("INSERT INTO channel_warehouse_map (warehouse, channel, external_warehouse_id, priority) VALUES ($1, $2, $3, 0)")
                .bind(warehouse)
                .bind(channel)
                .bind(number.to_string())
                .execute(&self.shop.db)
                .await
                .unwrap();
        }
    }

    /// An item that every channel sells, and calls by this number.
    async fn item(&self, sku: &str, number: usize) {
        for (channel, kind) in CHANNELS {
            self.simulator.add_item(kind, &number.to_string(), sku);
            self.map(sku, channel, &number.to_string()).await;
        }
    }

    async fn map(&self, sku: &str, channel: &str, external_id: &str) {
        sqlx::query(
            "INSERT INTO channel_item_map (sku, channel, external_id) VALUES ($1, $2, $3)
             ON CONFLICT (sku, channel) DO UPDATE SET external_id = EXCLUDED.external_id",
        )
        .bind(sku)
        .bind(channel)
        .bind(external_id)
        .execute(&self.shop.db)
        .await
        .unwrap();
    }

    /// Waits until all these channels show it.
    async fn shows(&self, channels: &[(&str, ChannelKind)], item: usize, warehouse: usize, qty: Qty) {
        for (name, kind) in channels {
            let address = Address::new(*kind, &warehouse.to_string(), &item.to_string());
            let what = format!("{qty} of item {item} in warehouse {warehouse} on {name}");
            wait_until(&what, PATIENCE, async || self.simulator.shown(&address) == Some(qty)).await;
        }
    }

    /// Waits until nothing is due, in flight, unknown, or unconfirmed, but what waits for a person.
    async fn quiet(&self) {
        self.shop.settled().await;
        let restless = "SELECT count(*) FROM publish_point AS point
            LEFT JOIN stock_confirmed AS confirmed USING (sku, channel, warehouse)
            WHERE point.parked IS NULL
                AND (point.due_at IS NOT NULL OR point.lease IS NOT NULL OR confirmed.confirmed_version IS DISTINCT FROM point.newest_version)";
        let behind = "SELECT count(*) FROM stock JOIN publish_point AS point USING (sku, warehouse) WHERE point.newest_version < stock.version";
        wait_until("every point to be shown", 2 * PATIENCE, async || {
            self.shop.number(behind).await == 0 && self.shop.number(restless).await == 0
        })
        .await;
    }

    /// Invariants, and that nothing of a point was ever told while something of it was under way.
    async fn audit(&self) {
        self.shop.audit().await;
        assert_eq!(self.simulator.overlaps(), 0);
    }

    async fn order(&self, id: &str, channel: &str, sku: &str, qty: i64) {
        let body =
            json!({ "event_id": id, "order_ref": id, "payment": "prepaid", "lines": [{ "sku": sku, "qty": qty }] });
        self.shop.say(&format!("order.created.{channel}"), body).await;
    }
}

fn address(kind: ChannelKind, warehouse: usize, item: usize) -> Address {
    Address::new(kind, &warehouse.to_string(), &item.to_string())
}
