//! The locked state that a decision is made on.

use std::collections::{HashMap, HashSet};

use super::Timestamp;
use super::command::{Digest, EventKey};
use super::names::{Channel, Resource, Sku, Text, Warehouse};
use super::order::{Order, OrderKey};
use super::payment::Payment;
use super::shipment::ShipmentKey;
use super::slot::SlotTable;
use super::stock::{StockKey, StockTable};

/// What the settings say about deciding.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Bounds of a hold.
    pub hold: HoldBounds,
    /// Whether new orders, rejected retries and renewals of ended holds are taken.
    pub accept_orders: bool,
    /// What payments do to holds.
    pub payments: PaymentPolicy,
    /// Channels whose orders were sold elsewhere already: marketplaces.
    pub sold_elsewhere: HashSet<Channel>,
}

/// What payments do to holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentPolicy {
    /// How far a started payment prolongs a hold, in seconds from then.
    pub window_s: u64,
    /// Whether a failed payment leaves the hold to its own end.
    pub failure_keeps: bool,
}

impl PaymentPolicy {
    /// How far a started payment prolongs a hold.
    pub fn window(self) -> time::Duration {
        time::Duration::seconds(i64::try_from(self.window_s).unwrap_or(i64::MAX))
    }
}

/// How long a hold may be, in seconds: `min_s ≤ default_s ≤ max_s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldBounds {
    /// When the order does not say.
    pub default_s: u64,
    /// At least.
    pub min_s: u64,
    /// At most, renewals included.
    pub max_s: u64,
}

impl HoldBounds {
    /// The hold that an order gets which asks for `asked` seconds.
    pub fn clamp(self, asked: Option<u64>) -> time::Duration {
        let seconds = asked.unwrap_or(self.default_s).clamp(self.min_s, self.max_s);
        time::Duration::seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// The longest that an order may be held without being had again.
    pub fn longest(self) -> time::Duration {
        self.clamp(Some(u64::MAX))
    }
}

/// Everything that a batch's commands touch, locked, and the instant after the last lock.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The database's clock, read after the last lock.
    pub now: Timestamp,
    /// From when new holds run: when the orders were claimed, unless waiting for locks took long after that.
    pub hold_from: Timestamp,
    /// Every order that a command names.
    pub orders: HashMap<OrderKey, Order>,
    /// Every stock row that a command may touch.
    pub stock: StockTable,
    /// Of the resources that a command may touch, all held and confirmed periods that overlap those it may ask for.
    pub slots: SlotTable,
    /// Stock rows that this transaction made.
    pub new_stock: HashSet<StockKey>,
    /// The warehouses of the channels that have a map, by priority.
    pub routes: HashMap<Channel, Vec<Warehouse>>,
    /// What is known, among what the commands name.
    pub known: Known,
    /// Events, among the commands', that were decided or kept waiting before this batch.
    pub seen: HashSet<EventKey>,
    /// Payments that a command names, and those of the orders that a payment or a cancel names.
    pub payments: Vec<Payment>,
    /// Documents, among the commands', that were taken before this batch, by full subject and reference.
    pub documents: HashMap<(std::sync::Arc<str>, Text), Digest>,
    /// Shipments, among the commands', that were taken before this batch.
    pub shipments: HashMap<ShipmentKey, Digest>,
}

/// SKUs, warehouses and resources that are known: a SKU with a stock row anywhere, a warehouse with a stock row or a place in a channel's map.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// SKUs with a row.
    pub skus: HashSet<Sku>,
    /// Warehouses with a row or a place in a map.
    pub warehouses: HashSet<Warehouse>,
    /// Resources that were imported.
    pub resources: HashSet<Resource>,
}
