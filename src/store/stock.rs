//! Stock rows: made, locked, changed, retold.

use std::collections::{BTreeSet, HashMap, HashSet};

use sqlx::{AssertSqlSafe, PgConnection};

use super::{Locking, StoreError, changed_all, counted};
use crate::domain::{Qty, Sku, Stock, StockChange, StockKey, Timestamp, Warehouse};

/// The version of a row that was only made: it is never told.
const MADE: i64 = 0;

/// A row to lock, or all rows of a SKU.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// What.
    pub sku: Sku,
    /// Where; none means wherever it has a row.
    pub warehouse: Option<Warehouse>,
}

/// Locked rows, and the database's clock after the last lock.
#[derive(Debug)]
pub struct Locked {
    /// The instant that decides.
    pub now: Timestamp,
    /// The rows, sorted.
    pub rows: Vec<(StockKey, Stock)>,
}

/// Makes the rows that are not there, and tells which were made. `keys` are sorted.
pub async fn make_many(connection: &mut PgConnection, keys: &[StockKey]) -> Result<HashSet<StockKey>, StoreError> {
    if keys.is_empty() {
        return Ok(HashSet::new());
    }
    let made: Vec<(String, String)> = sqlx::query_as(include_str!("stock_make.sql"))
        .bind(skus(keys))
        .bind(warehouses(keys))
        .fetch_all(connection)
        .await?;
    Ok(made.iter().map(|(sku, warehouse)| key(sku, warehouse)).collect())
}

/// Locks rows. `wanted` has no SKU both with and without a warehouse.
pub async fn lock_many(
    connection: &mut PgConnection,
    wanted: &[Wanted],
    locking: Locking,
) -> Result<Locked, StoreError> {
    let statement = locking.apply(include_str!("stock_lock.sql"));
    let rows: LockedRows = sqlx::query_as(AssertSqlSafe(statement))
        .bind(wanted.iter().map(|wanted| wanted.sku.as_str()).collect::<Vec<_>>())
        .bind(wanted.iter().map(|wanted| wanted.warehouse.as_ref().map(Warehouse::as_str)).collect::<Vec<_>>())
        .fetch_one(connection)
        .await?;
    Ok(rows.read())
}

/// Rows among the wanted that exist and are not among the locked: somebody else has them.
pub async fn missed(
    connection: &mut PgConnection,
    wanted: &[Wanted],
    locked: &Locked,
) -> Result<HashSet<StockKey>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(include_str!("stock_exist.sql"))
        .bind(wanted.iter().map(|wanted| wanted.sku.as_str()).collect::<Vec<_>>())
        .bind(wanted.iter().map(|wanted| wanted.warehouse.as_ref().map(Warehouse::as_str)).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    let locked: HashSet<&StockKey> = locked.rows.iter().map(|(key, _)| key).collect();
    let existing = rows.iter().map(|(sku, warehouse)| key(sku, warehouse));
    Ok(existing.filter(|key| !locked.contains(key)).collect())
}

/// Writes new figures.
pub async fn update_many(
    connection: &mut PgConnection,
    changes: &[StockChange],
    at: Timestamp,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let updated = sqlx::query(include_str!("stock_update.sql"))
        .bind(changes.iter().map(|change| change.key.sku.as_str()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.key.warehouse.as_str()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.on_hand).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.reserved).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.version).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.before.version).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.before.available()).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("stock rows", &updated, changes.len())
}

/// Takes away rows that this transaction made for nothing.
pub async fn unmake_many(connection: &mut PgConnection, keys: &[StockKey]) -> Result<(), StoreError> {
    if keys.is_empty() {
        return Ok(());
    }
    let deleted = sqlx::query(include_str!("stock_unmake.sql"))
        .bind(skus(keys))
        .bind(warehouses(keys))
        .bind(MADE)
        .execute(connection)
        .await?;
    changed_all("spare stock rows", &deleted, keys.len())
}

/// Raises the versions of rows whose last telling is in doubt. `keys` are sorted.
pub async fn retell_many(connection: &mut PgConnection, keys: &[StockKey]) -> Result<Locked, StoreError> {
    let rows: Vec<(String, String, i64, i64, i64, Timestamp)> = sqlx::query_as(include_str!("stock_retell.sql"))
        .bind(skus(keys))
        .bind(warehouses(keys))
        .fetch_all(connection)
        .await?;
    let now = rows.iter().map(|row| row.5).max().unwrap_or(Timestamp::UNIX_EPOCH);
    let read = |(sku, warehouse, on_hand, reserved, version, _): (String, String, _, _, _, _)| {
        (key(&sku, &warehouse), Stock { on_hand, reserved, version })
    };
    Ok(Locked { now, rows: rows.into_iter().map(read).collect() })
}

/// What those of the rows that exist were opened with: 0 where the first units came later.
pub async fn openings(connection: &mut PgConnection, keys: &[&StockKey]) -> Result<HashMap<StockKey, Qty>, StoreError> {
    let rows: Vec<(String, String, Qty)> = sqlx::query_as(include_str!("stock_openings.sql"))
        .bind(keys.iter().map(|key| key.sku.as_str()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.warehouse.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|(sku, warehouse, units)| (key(&sku, &warehouse), units)).collect())
}

/// Makes rows that must be new, and returns the clock after the last of them. `rows` are sorted; nothing in them is reserved.
pub async fn open_many(connection: &mut PgConnection, rows: &[(StockKey, Stock)]) -> Result<Timestamp, StoreError> {
    let (opened, now): (i64, Timestamp) = sqlx::query_as(include_str!("stock_open.sql"))
        .bind(rows.iter().map(|(key, _)| key.sku.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|(key, _)| key.warehouse.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, stock)| stock.on_hand).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, stock)| stock.version).collect::<Vec<_>>())
        .fetch_one(connection)
        .await?;
    counted("stock rows to open", opened.unsigned_abs(), rows.len())?;
    Ok(now)
}

/// The next rows of these warehouses after a key, from the first where none is given, in the order in which rows are locked.
pub async fn keys_after(
    connection: &mut PgConnection,
    warehouses: &BTreeSet<&Warehouse>,
    after: Option<&StockKey>,
    limit: usize,
) -> Result<Vec<StockKey>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(include_str!("stock_after.sql"))
        .bind(warehouses.iter().map(|warehouse| warehouse.as_str()).collect::<Vec<_>>())
        .bind(after.map_or("", |key| key.sku.as_str()))
        .bind(after.map_or("", |key| key.warehouse.as_str()))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?;
    Ok(rows.iter().map(|(sku, warehouse)| key(sku, warehouse)).collect())
}

/// The SKUs of keys, for binding.
pub(super) fn skus(keys: &[StockKey]) -> Vec<&str> {
    keys.iter().map(|key| key.sku.as_str()).collect()
}

/// The warehouses of keys, for binding.
pub(super) fn warehouses(keys: &[StockKey]) -> Vec<&str> {
    keys.iter().map(|key| key.warehouse.as_str()).collect()
}

/// A row's key as it is stored.
pub(super) fn key(sku: &str, warehouse: &str) -> StockKey {
    StockKey { sku: Sku::stored(sku), warehouse: Warehouse::stored(warehouse) }
}

#[derive(sqlx::FromRow)]
struct LockedRows {
    now: Timestamp,
    skus: Vec<String>,
    warehouses: Vec<String>,
    on_hand: Vec<i64>,
    reserved: Vec<i64>,
    versions: Vec<i64>,
}

impl LockedRows {
    fn read(self) -> Locked {
        let keys = self.skus.iter().zip(&self.warehouses).map(|(sku, warehouse)| key(sku, warehouse));
        let figures = self.on_hand.into_iter().zip(self.reserved).zip(self.versions);
        let figures = figures.map(|((on_hand, reserved), version)| Stock { on_hand, reserved, version });
        Locked { now: self.now, rows: keys.zip(figures).collect() }
    }
}
