//! Versions that are queued, sent and answered, and every attempt at it. Their points are locked.

use std::collections::HashMap;
use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use super::points::columns;
use super::{StoreError, counted};
use crate::domain::{Channel, Flight, PointKey, PushState, Qty, Sku, StockKey, Timestamp, Verdict, Warehouse};

/// A version that was to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// Of which point.
    pub key: PointKey,
    /// Its version.
    pub version: i64,
    /// What should be shown.
    pub desired_qty: Qty,
    /// What it is.
    pub state: PushState,
    /// Why a person must look first.
    pub error: Option<String>,
}

/// Queues versions.
///
/// # Errors
/// The database's own.
pub async fn queue_many(connection: &mut PgConnection, queued: &[Queued], at: Timestamp) -> Result<(), StoreError> {
    if queued.is_empty() {
        return Ok(());
    }
    let [skus, channels, warehouses] = columns(queued.iter().map(|queued| &queued.key));
    sqlx::query(include_str!("pushes_queue.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .bind(queued.iter().map(|queued| queued.version).collect::<Vec<_>>())
        .bind(queued.iter().map(|queued| queued.desired_qty).collect::<Vec<_>>())
        .bind(queued.iter().map(|queued| queued.state.word()).collect::<Vec<_>>())
        .bind(queued.iter().map(|queued| queued.error.as_deref()).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    Ok(())
}

/// Notes that flights begin.
///
/// # Errors
/// The database's own; a version that was never queued.
pub async fn fly_many(
    connection: &mut PgConnection,
    flights: &[&Flight],
    lease: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    let [skus, channels, warehouses] = columns(flights.iter().map(|flight| &flight.key));
    let (sending, begun): (i64, i64) = sqlx::query_as(include_str!("pushes_fly.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .bind(flights.iter().map(|flight| flight.version).collect::<Vec<_>>())
        .bind(flights.iter().map(|flight| flight.address.external_id.as_str()).collect::<Vec<_>>())
        .bind(flights.iter().map(|flight| flight.address.external_warehouse_id.as_str()).collect::<Vec<_>>())
        .bind(flights.iter().map(|flight| flight.qty).collect::<Vec<_>>())
        .bind(flights.iter().map(|flight| flight.withdrawal).collect::<Vec<_>>())
        .bind(flights.iter().map(|flight| flight.number).collect::<Vec<_>>())
        .bind(lease)
        .bind(at)
        .fetch_one(connection)
        .await?;
    counted("queued versions", sending.unsigned_abs(), flights.len())?;
    counted("attempts", begun.unsigned_abs(), flights.len())
}

/// How a flight ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended<'a> {
    /// Which.
    pub flight: &'a Flight,
    /// What its version is now.
    pub state: PushState,
    /// The outcome, in a word of the attempts.
    pub outcome: &'static str,
    /// What the channel said.
    pub detail: Option<&'a str>,
}

/// Notes that flights ended that began under one lease.
///
/// # Errors
/// The database's own.
pub async fn land_many(
    connection: &mut PgConnection,
    ended: &[Ended<'_>],
    lease: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    if ended.is_empty() {
        return Ok(());
    }
    let [skus, channels, warehouses] = columns(ended.iter().map(|ended| &ended.flight.key));
    sqlx::query(include_str!("pushes_land.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .bind(ended.iter().map(|ended| ended.flight.version).collect::<Vec<_>>())
        .bind(ended.iter().map(|ended| ended.flight.number).collect::<Vec<_>>())
        .bind(ended.iter().map(|ended| ended.state.word()).collect::<Vec<_>>())
        .bind(ended.iter().map(|ended| ended.detail).collect::<Vec<_>>())
        .bind(ended.iter().map(|ended| ended.outcome).collect::<Vec<_>>())
        .bind(lease)
        .bind(at)
        .execute(connection)
        .await?;
    Ok(())
}

/// Marks versions that were told last.
///
/// # Errors
/// The database's own.
pub async fn mark_many(
    connection: &mut PgConnection,
    marked: &[(&PointKey, i64, PushState, Option<&str>)],
) -> Result<(), StoreError> {
    if marked.is_empty() {
        return Ok(());
    }
    let [skus, channels, warehouses] = columns(marked.iter().map(|(key, ..)| *key));
    sqlx::query(include_str!("pushes_mark.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .bind(marked.iter().map(|(_, version, ..)| *version).collect::<Vec<_>>())
        .bind(marked.iter().map(|(_, _, state, _)| state.word()).collect::<Vec<_>>())
        .bind(marked.iter().map(|(.., error)| *error).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}

/// Notes versions that are known to be shown. One that is older than what was known changes nothing.
///
/// # Errors
/// The database's own.
pub async fn confirm_many(
    connection: &mut PgConnection,
    seen: &[(&PointKey, i64, Qty)],
    at: Timestamp,
) -> Result<(), StoreError> {
    if seen.is_empty() {
        return Ok(());
    }
    let [skus, channels, warehouses] = columns(seen.iter().map(|(key, ..)| *key));
    sqlx::query(include_str!("confirmed_write.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .bind(seen.iter().map(|(_, version, _)| *version).collect::<Vec<_>>())
        .bind(seen.iter().map(|(.., qty)| *qty).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    Ok(())
}

/// Forgets what was known to be shown under addresses that are the points' no more.
///
/// # Errors
/// The database's own.
pub async fn forget_confirmed(connection: &mut PgConnection, keys: &[&PointKey]) -> Result<(), StoreError> {
    if keys.is_empty() {
        return Ok(());
    }
    let [skus, channels, warehouses] = columns(keys.iter().copied());
    sqlx::query(include_str!("confirmed_forget.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .execute(connection)
        .await?;
    Ok(())
}

/// What is known of points beside their rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// The version that is known to have been shown.
    pub confirmed_version: Option<i64>,
    /// Whether the stock row has newer figures.
    pub behind: bool,
}

/// What is known of points of one channel beside their rows.
///
/// # Errors
/// The database's own.
pub async fn beside(
    connection: &mut PgConnection,
    keys: &[&PointKey],
) -> Result<HashMap<StockKey, Beside>, StoreError> {
    let [skus, channels, warehouses] = columns(keys.iter().copied());
    let rows: Vec<(String, String, Option<i64>, bool)> = sqlx::query_as(include_str!("confirmed_load.sql"))
        .bind(skus)
        .bind(channels)
        .bind(warehouses)
        .fetch_all(connection)
        .await?;
    let read = |(sku, warehouse, confirmed_version, behind): (String, String, Option<i64>, bool)| {
        let key = StockKey { sku: Sku::stored(&sku), warehouse: Warehouse::stored(&warehouse) };
        (key, Beside { confirmed_version, behind })
    };
    Ok(rows.into_iter().map(read).collect())
}

/// Lets go of versions that are done with and older than `keep`, at most `limit`. Returns how many.
///
/// # Errors
/// The database's own.
pub async fn prune(connection: &mut PgConnection, keep: Duration, limit: i64) -> Result<u64, StoreError> {
    let prune = sqlx::query(include_str!("pushes_prune.sql")).bind(keep.as_secs_f64()).bind(limit);
    Ok(prune.execute(connection).await?.rows_affected())
}

/// What was seen of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation<'a> {
    /// Which.
    pub key: &'a PointKey,
    /// How many are shown; none where the channel does not list it.
    pub observed_qty: Option<Qty>,
    /// What it was compared with.
    pub desired_qty: Option<Qty>,
    /// The version of that.
    pub compared_version: Option<i64>,
    /// How it compares.
    pub verdict: Verdict,
}

/// Notes what was seen of a channel's points.
///
/// # Errors
/// The database's own.
pub async fn observe_many(
    connection: &mut PgConnection,
    channel: &Channel,
    seen: &[Observation<'_>],
    at: Timestamp,
) -> Result<(), StoreError> {
    if seen.is_empty() {
        return Ok(());
    }
    let [skus, _, warehouses] = columns(seen.iter().map(|seen| seen.key));
    sqlx::query(include_str!("observations_insert.sql"))
        .bind(skus)
        .bind(channel.as_str())
        .bind(warehouses)
        .bind(seen.iter().map(|seen| seen.observed_qty).collect::<Vec<_>>())
        .bind(seen.iter().map(|seen| seen.desired_qty).collect::<Vec<_>>())
        .bind(seen.iter().map(|seen| seen.compared_version).collect::<Vec<_>>())
        .bind(seen.iter().map(|seen| seen.verdict.word()).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    Ok(())
}

/// What was seen last of a point.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct SeenPoint {
    /// The observation's row.
    pub id: i64,
    /// What.
    pub sku: String,
    /// From where.
    pub warehouse: String,
    /// How many were shown; none where the channel did not list it.
    pub observed_qty: Option<Qty>,
    /// What it was compared with.
    pub desired_qty: Option<Qty>,
    /// The version of that.
    pub compared_version: Option<i64>,
    /// How it compares, in a word.
    pub verdict: String,
}

/// What was seen last of each of a channel's points since an instant, by SKU and warehouse.
///
/// # Errors
/// The database's own.
pub async fn seen_since(
    connection: &mut PgConnection,
    channel: &Channel,
    since: Timestamp,
) -> Result<Vec<SeenPoint>, StoreError> {
    let seen = sqlx::query_as(include_str!("observed_since.sql")).bind(channel.as_str()).bind(since);
    Ok(seen.fetch_all(connection).await?)
}
