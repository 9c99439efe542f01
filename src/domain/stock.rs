//! A stock row: two counters and a version; what is available follows.

use std::collections::{BTreeMap, HashMap};

use super::Qty;
use super::names::{Sku, Warehouse};

/// Which row of stock: ordered by SKU, then warehouse, the order in which rows are locked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StockKey {
    /// What.
    pub sku: Sku,
    /// Where.
    pub warehouse: Warehouse,
}

/// The figures of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stock {
    /// Units on the shelf.
    pub on_hand: Qty,
    /// Units promised and not shipped; never more than `on_hand`.
    pub reserved: Qty,
    /// Grows with every change that the world is told of.
    pub version: i64,
}

impl Stock {
    /// What may still be promised.
    pub fn available(&self) -> Qty {
        self.on_hand - self.reserved
    }
}

/// The rows of a snapshot, by SKU, then by warehouse in order of name.
#[derive(Debug, Clone, Default)]
pub struct StockTable(HashMap<Sku, BTreeMap<Warehouse, Stock>>);

impl StockTable {
    /// Puts a row in.
    pub fn insert(&mut self, key: StockKey, stock: Stock) {
        self.0.entry(key.sku).or_default().insert(key.warehouse, stock);
    }

    /// The row, if there is one.
    pub fn get(&self, sku: &Sku, warehouse: &Warehouse) -> Option<&Stock> {
        self.0.get(sku)?.get(warehouse)
    }

    /// The row to change, if there is one.
    pub fn get_mut(&mut self, sku: &Sku, warehouse: &Warehouse) -> Option<&mut Stock> {
        self.0.get_mut(sku)?.get_mut(warehouse)
    }

    /// What may be promised there; 0 where there is no row.
    pub fn available(&self, sku: &Sku, warehouse: &Warehouse) -> Qty {
        self.get(sku, warehouse).map_or(0, Stock::available)
    }

    /// The warehouses that have a row of this SKU, by name.
    pub fn warehouses_of(&self, sku: &Sku) -> impl Iterator<Item = &Warehouse> {
        self.0.get(sku).into_iter().flat_map(BTreeMap::keys)
    }

    /// Whether any row of this SKU stands here.
    pub fn has_sku(&self, sku: &Sku) -> bool {
        self.0.contains_key(sku)
    }
}

impl FromIterator<(StockKey, Stock)> for StockTable {
    fn from_iter<I: IntoIterator<Item = (StockKey, Stock)>>(rows: I) -> Self {
        let mut table = Self::default();
        for (key, stock) in rows {
            table.insert(key, stock);
        }
        table
    }
}
