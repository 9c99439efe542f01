//! One adapter before a simulator of its own.

use std::time::{Duration, SystemTime};

use lastunit::config::{ChannelKind, ChannelSettings};
use lastunit::dev::marketplace::{Address, Pace, Simulator};
use lastunit::domain::{Qty, Sku, Timestamp, Warehouse};
use lastunit::publish::{Item, Marketplace, Outcome, adapter};

/// What is not known to any of them.
pub const STRANGER: &str = "999999";
/// The warehouses of the seller.
pub const WAREHOUSES: [&str; 2] = ["1001", "1002"];

pub struct Bench {
    pub kind: ChannelKind,
    pub simulator: Simulator,
    pub market: Box<dyn Marketplace>,
}

impl Bench {
    /// No time between two changes of a pair, as the tests have none.
    pub async fn new(kind: ChannelKind) -> Self {
        Self::with(kind, |_| {}).await
    }

    /// Its settings changed.
    pub async fn with(kind: ChannelKind, change: impl FnOnce(&mut ChannelSettings)) -> Self {
        let pace = Pace { ozon_interval: Duration::ZERO, has_rates: true };
        Self::at_pace(kind, pace, change).await
    }

    pub async fn at_pace(kind: ChannelKind, pace: Pace, change: impl FnOnce(&mut ChannelSettings)) -> Self {
        let simulator = Simulator::start(pace).await.unwrap();
        for warehouse in WAREHOUSES {
            simulator.add_warehouse(kind, warehouse);
        }
        for id in ["1", "2", "3"] {
            simulator.add_item(kind, id, &format!("SKU-{id}"));
        }
        let mut settings = simulator.settings(kind);
        change(&mut settings);
        let market = adapter("shop", &settings).unwrap();
        Self { kind, simulator, market }
    }

    pub fn address(&self, id: &str) -> Address {
        Address::new(self.kind, WAREHOUSES[0], id)
    }

    /// What is shown of an item in the first warehouse.
    pub fn shown(&self, id: &str) -> Option<Qty> {
        self.simulator.shown(&self.address(id))
    }

    pub async fn push(&self, items: &[Item]) -> Vec<Outcome> {
        let outcomes = self.market.push(items, now()).await;
        assert_eq!(outcomes.len(), items.len());
        outcomes
    }

    /// Tells one item.
    pub async fn tell(&self, id: &str, qty: Qty, version: i64) -> Outcome {
        self.push(&[item(id, qty, version)]).await.remove(0)
    }

    pub async fn observe(&self, ids: &[&str]) -> Vec<Option<Qty>> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        self.market.observe(WAREHOUSES[0], &ids).await.unwrap()
    }
}

/// An item of the first warehouse.
pub fn item(id: &str, qty: Qty, version: i64) -> Item {
    Item {
        sku: Sku::new(&format!("SKU-{id}")).unwrap(),
        warehouse: Warehouse::new("main").unwrap(),
        external_id: id.to_owned(),
        external_warehouse_id: WAREHOUSES[0].to_owned(),
        qty,
        version,
        repeats: 0,
    }
}

pub fn words(outcomes: &[Outcome]) -> Vec<&'static str> {
    outcomes.iter().map(Outcome::word).collect()
}

/// How long to wait, of one that is to be told again.
pub fn wait_of(outcome: &Outcome) -> Option<Duration> {
    match outcome {
        Outcome::Again { after, .. } => Some(*after),
        _ => None,
    }
}

/// There is no database here whose clock it could be.
#[expect(clippy::disallowed_methods, reason = "who receives webhooks has this machine's clock")]
pub fn now() -> Timestamp {
    SystemTime::now().into()
}
