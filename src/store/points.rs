//! Points: made, locked, chosen and written back. Whoever writes a point has its row locked.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{StoreError, changed_all};
use crate::domain::{
    Address, Channel, Flight, Lease, News, Point, PointKey, Qty, Sku, StockKey, Timestamp, Told, Warehouse,
};

/// A channel that is told stock, as far as its points depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publishing {
    /// Which.
    pub channel: Channel,
    /// Units that it is never told of, where the map has no number of its own.
    pub safety_stock: Qty,
}

/// Figures that were told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Of which row.
    pub key: StockKey,
    /// Their version.
    pub version: i64,
    /// What is free by them.
    pub available: Qty,
}

/// What channels should show by these figures, in the order in which points are locked.
///
/// # Errors
/// The database's own.
pub async fn wanted(
    connection: &mut PgConnection,
    figures: &[Figures],
    publishing: &[Publishing],
) -> Result<Vec<(PointKey, News)>, StoreError> {
    let rows: Vec<WantedRow> = sqlx::query_as(include_str!("points_wanted.sql"))
        .bind(figures.iter().map(|told| told.key.sku.as_str()).collect::<Vec<_>>())
        .bind(figures.iter().map(|told| told.key.warehouse.as_str()).collect::<Vec<_>>())
        .bind(figures.iter().map(|told| told.version).collect::<Vec<_>>())
        .bind(figures.iter().map(|told| told.available).collect::<Vec<_>>())
        .bind(publishing.iter().map(|publishing| publishing.channel.as_str()).collect::<Vec<_>>())
        .bind(publishing.iter().map(|publishing| publishing.safety_stock).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(WantedRow::read).collect())
}

/// Figures, behind a row, that a channel's points have not got.
///
/// # Errors
/// The database's own.
pub async fn missed(
    connection: &mut PgConnection,
    channel: &Channel,
    after: Option<&StockKey>,
    limit: i64,
) -> Result<Vec<Figures>, StoreError> {
    let rows: Vec<(String, String, i64, Qty)> = sqlx::query_as(include_str!("points_missed.sql"))
        .bind(channel.as_str())
        .bind(after.map_or("", |key| key.sku.as_str()))
        .bind(after.map_or("", |key| key.warehouse.as_str()))
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let read = |(sku, warehouse, version, available): (String, String, i64, Qty)| Figures {
        key: super::stock::key(&sku, &warehouse),
        version,
        available,
    };
    Ok(rows.into_iter().map(read).collect())
}

/// Makes the rows that are missing. `keys` are sorted.
///
/// # Errors
/// The database's own.
pub async fn make_many(connection: &mut PgConnection, keys: &[&PointKey]) -> Result<(), StoreError> {
    let [skus, channels, warehouses] = columns(keys.iter().copied());
    sqlx::query(include_str!("points_make.sql")).bind(skus).bind(channels).bind(warehouses).execute(connection).await?;
    Ok(())
}

/// Locks those that exist, in their order. `keys` are sorted.
///
/// # Errors
/// The database's own.
pub async fn lock_many(connection: &mut PgConnection, keys: &[&PointKey]) -> Result<Vec<Point>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let [skus, channels, warehouses] = columns(keys.iter().copied());
    let rows: Vec<PointRow> = sqlx::query_as(include_str!("points_lock.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(PointRow::read).collect())
}

/// Locks the points that one call of at most `limit` may take now, each with whether the address that it was told under is another point's by now.
/// What others have locked is left out.
///
/// # Errors
/// The database's own.
pub async fn lock_due(
    connection: &mut PgConnection,
    channel: &Channel,
    limit: usize,
    one_warehouse: bool,
) -> Result<Vec<(Point, bool)>, StoreError> {
    let rows: Vec<DueRow> = sqlx::query_as(include_str!("points_due.sql"))
        .bind(channel.as_str())
        .bind(i32::try_from(limit).unwrap_or(i32::MAX))
        .bind(one_warehouse)
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|row| (row.point.read(), row.anothers)).collect())
}

/// Locks points whose sender is believed dead, each with the flight that it began.
///
/// # Errors
/// The database's own.
pub async fn lock_flown(
    connection: &mut PgConnection,
    channel: &Channel,
    limit: i64,
) -> Result<Vec<(Point, Flight)>, StoreError> {
    let rows: Vec<FlownRow> = sqlx::query_as(include_str!("points_flown.sql"))
        .bind(channel.as_str())
        .bind(limit)
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(FlownRow::read).collect())
}

/// A point as it was when a reading of it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Which.
    pub key: PointKey,
    /// Where it is shown.
    pub address: Address,
    /// How often something had been sent.
    pub flights: i64,
}

/// Points that are to be looked at now, all of one warehouse of the channel.
///
/// # Errors
/// The database's own.
pub async fn to_look_at(
    connection: &mut PgConnection,
    channel: &Channel,
    limit: usize,
) -> Result<Vec<Shown>, StoreError> {
    let rows: Vec<ShownRow> = sqlx::query_as(include_str!("points_look.sql"))
        .bind(channel.as_str())
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|row| row.read(channel)).collect())
}

/// The next points that were told something and are not being told, address by address (warehouse, then item), behind one.
///
/// # Errors
/// The database's own.
pub async fn shown_after(
    connection: &mut PgConnection,
    channel: &Channel,
    after: Option<&Address>,
    limit: i64,
) -> Result<Vec<Shown>, StoreError> {
    let rows: Vec<ShownRow> = sqlx::query_as(include_str!("points_shown.sql"))
        .bind(channel.as_str())
        .bind(after.map_or("", |address| address.external_warehouse_id.as_str()))
        .bind(after.map_or("", |address| address.external_id.as_str()))
        .bind(limit)
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|row| row.read(channel)).collect())
}

/// Writes points back.
///
/// # Errors
/// The database's own; one that is not there.
pub async fn write_many(connection: &mut PgConnection, points: &[&Point]) -> Result<(), StoreError> {
    if points.is_empty() {
        return Ok(());
    }
    let [skus, channels, warehouses] = columns(points.iter().map(|point| &point.key));
    let address = |point: &&Point| point.address.clone().map(|at| (at.external_id, at.external_warehouse_id)).unzip();
    let (external_ids, external_warehouse_ids): (Vec<Option<String>>, Vec<Option<String>>) =
        points.iter().map(address).unzip();
    let told_address = |point: &&Point| {
        point.told.clone().map(|told| (told.address.external_id, told.address.external_warehouse_id)).unzip()
    };
    let (told_ids, told_warehouse_ids): (Vec<Option<String>>, Vec<Option<String>>) =
        points.iter().map(told_address).unzip();
    let written = sqlx::query(include_str!("points_write.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .bind(external_ids)
        .bind(external_warehouse_ids)
        .bind(points.iter().map(|point| point.newest_version).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.available).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.desired_qty).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.told.as_ref().map(|told| told.version)).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.told.as_ref().map(|told| told.qty)).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.told.as_ref().map(|told| told.at)).collect::<Vec<_>>())
        .bind(told_ids)
        .bind(told_warehouse_ids)
        .bind(points.iter().map(|point| point.free_at).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.flights).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.lease.map(|lease| lease.id)).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.lease.map(|lease| lease.until)).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.due_at).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.look_at).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.failures).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.heals).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.low_since).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.call_max).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.parked.as_deref()).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.shown_qty).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.exposed_units()).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.exposed_since).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.repeats).collect::<Vec<_>>())
        .bind(points.iter().map(|point| point.refused).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    changed_all("points", &written, points.len())
}

/// Keys as columns, for binding.
pub(super) fn columns<'a>(keys: impl Iterator<Item = &'a PointKey>) -> [Vec<&'a str>; 3] {
    let mut columns = [const { Vec::new() }; 3];
    for key in keys {
        columns[0].push(key.sku.as_str());
        columns[1].push(key.channel.as_str());
        columns[2].push(key.warehouse.as_str());
    }
    columns
}

fn key(sku: &str, channel: &str, warehouse: &str) -> PointKey {
    PointKey { sku: Sku::stored(sku), channel: Channel::stored(channel), warehouse: Warehouse::stored(warehouse) }
}

fn address(external_id: Option<String>, external_warehouse_id: Option<String>) -> Option<Address> {
    let (external_id, external_warehouse_id) = external_id.zip(external_warehouse_id)?;
    Some(Address { external_id, external_warehouse_id })
}

#[derive(sqlx::FromRow)]
struct WantedRow {
    sku: String,
    channel: String,
    warehouse: String,
    version: i64,
    available: Qty,
    desired_qty: Qty,
    external_id: Option<String>,
    external_warehouse_id: Option<String>,
}

impl WantedRow {
    fn read(self) -> (PointKey, News) {
        let key = key(&self.sku, &self.channel, &self.warehouse);
        let Self { version, available, desired_qty, .. } = self;
        (key, News { version, available, desired_qty, address: address(self.external_id, self.external_warehouse_id) })
    }
}

#[derive(sqlx::FromRow)]
struct PointRow {
    sku: String,
    channel: String,
    warehouse: String,
    external_id: Option<String>,
    external_warehouse_id: Option<String>,
    newest_version: i64,
    available: Qty,
    desired_qty: Qty,
    told_version: Option<i64>,
    told_qty: Option<Qty>,
    told_at: Option<Timestamp>,
    told_external_id: Option<String>,
    told_external_warehouse_id: Option<String>,
    free_at: Option<Timestamp>,
    flights: i64,
    lease: Option<Uuid>,
    lease_until: Option<Timestamp>,
    due_at: Option<Timestamp>,
    look_at: Option<Timestamp>,
    failures: i32,
    heals: i32,
    repeats: i64,
    low_since: Option<Timestamp>,
    call_max: Option<i32>,
    parked: Option<String>,
    refused: bool,
    shown_qty: Option<Qty>,
    exposed_since: Option<Timestamp>,
}

impl PointRow {
    fn read(self) -> Point {
        let told = address(self.told_external_id, self.told_external_warehouse_id);
        let told = told.zip(self.told_version).zip(self.told_qty).zip(self.told_at);
        Point {
            key: key(&self.sku, &self.channel, &self.warehouse),
            address: address(self.external_id, self.external_warehouse_id),
            newest_version: self.newest_version,
            available: self.available,
            desired_qty: self.desired_qty,
            told: told.map(|(((address, version), qty), at)| Told { version, qty, at, address }),
            free_at: self.free_at,
            flights: self.flights,
            lease: self.lease.zip(self.lease_until).map(|(id, until)| Lease { id, until }),
            due_at: self.due_at,
            look_at: self.look_at,
            failures: self.failures,
            heals: self.heals,
            repeats: self.repeats,
            low_since: self.low_since,
            call_max: self.call_max,
            parked: self.parked,
            refused: self.refused,
            shown_qty: self.shown_qty,
            exposed_since: self.exposed_since,
        }
    }
}

#[derive(sqlx::FromRow)]
struct DueRow {
    #[sqlx(flatten)]
    point: PointRow,
    anothers: bool,
}

#[derive(sqlx::FromRow)]
struct FlownRow {
    #[sqlx(flatten)]
    point: PointRow,
    flown_version: i64,
    flown_qty: Qty,
    flown_external_id: String,
    flown_external_warehouse_id: String,
    flown_withdrawal: bool,
    flown_at: Timestamp,
}

impl FlownRow {
    fn read(self) -> (Point, Flight) {
        let point = self.point.read();
        let address =
            Address { external_id: self.flown_external_id, external_warehouse_id: self.flown_external_warehouse_id };
        let flight = Flight {
            key: point.key.clone(),
            number: point.flights,
            version: self.flown_version,
            qty: self.flown_qty,
            address,
            withdrawal: self.flown_withdrawal,
            repeats: point.repeats,
            at: self.flown_at,
        };
        (point, flight)
    }
}

#[derive(sqlx::FromRow)]
struct ShownRow {
    sku: String,
    warehouse: String,
    external_id: String,
    external_warehouse_id: String,
    flights: i64,
}

impl ShownRow {
    fn read(self, channel: &Channel) -> Shown {
        let key = PointKey {
            sku: Sku::stored(&self.sku),
            channel: channel.clone(),
            warehouse: Warehouse::stored(&self.warehouse),
        };
        let address = Address { external_id: self.external_id, external_warehouse_id: self.external_warehouse_id };
        Shown { key, address, flights: self.flights }
    }
}
