//! Channels that are told stock: what people ask of them, and how they are.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Channel, Qty, StockKey, Timestamp};

/// What a channel's worker must know before each round.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct Control {
    /// A person wants nothing to be sent.
    pub paused: bool,
    /// The channel takes nothing, for a while.
    pub halted: bool,
    /// A person wants all of it to be read.
    pub reconcile_asked: bool,
    /// How long ago all of it was read, in seconds.
    pub reconciled_s: Option<f64>,
}

/// How a channel's points are.
#[derive(Debug, Clone, Copy, PartialEq, sqlx::FromRow)]
pub struct Gauges {
    /// Points that should be sent now.
    pub due: i64,
    /// For how long the oldest of them, in seconds.
    pub due_s: f64,
    /// Points that are being sent.
    pub flying: i64,
    /// Points that wait for a person.
    pub parked: i64,
    /// Units that are shown and are not free.
    pub exposed: i64,
    /// For how long the oldest of them, in seconds.
    pub exposed_s: f64,
}

/// Makes the channel's row, or notes its safety stock. Returns the one that was noted before, if any.
///
/// # Errors
/// The database's own.
pub async fn open(
    connection: &mut PgConnection,
    channel: &Channel,
    safety_stock: Qty,
) -> Result<Option<Qty>, StoreError> {
    let before = sqlx::query_scalar(include_str!("channels_open.sql")).bind(channel.as_str()).bind(safety_stock);
    Ok(before.fetch_one(connection).await?)
}

/// What the channel's worker must know; none before the row is made.
///
/// # Errors
/// The database's own.
pub async fn load(connection: &mut PgConnection, channel: &Channel) -> Result<Option<Control>, StoreError> {
    let control = sqlx::query_as(include_str!("channels_load.sql")).bind(channel.as_str());
    Ok(control.fetch_optional(connection).await?)
}

/// How its points are.
///
/// # Errors
/// The database's own.
pub async fn gauges(connection: &mut PgConnection, channel: &Channel) -> Result<Gauges, StoreError> {
    Ok(sqlx::query_as(include_str!("channels_gauges.sql")).bind(channel.as_str()).fetch_one(connection).await?)
}

/// Sends nothing for a while, each time longer.
///
/// # Errors
/// The database's own.
pub async fn halt(connection: &mut PgConnection, channel: &Channel, reason: &str) -> Result<(), StoreError> {
    let halt = sqlx::query(include_str!("channels_halt.sql")).bind(channel.as_str()).bind(reason);
    halt.execute(connection).await?;
    Ok(())
}

/// It takes again what it is told.
///
/// # Errors
/// The database's own.
pub async fn calm(connection: &mut PgConnection, channel: &Channel) -> Result<(), StoreError> {
    sqlx::query(include_str!("channels_calm.sql")).bind(channel.as_str()).execute(connection).await?;
    Ok(())
}

/// Notes that all of it was read, from `began` on.
///
/// # Errors
/// The database's own.
pub async fn reconciled(connection: &mut PgConnection, channel: &Channel, began: Timestamp) -> Result<(), StoreError> {
    let reconciled = sqlx::query(include_str!("channels_reconciled.sql")).bind(channel.as_str()).bind(began);
    reconciled.execute(connection).await?;
    Ok(())
}

/// Asks for all of it to be read. Returns the instant; none where the channel has no row.
///
/// # Errors
/// The database's own.
pub async fn ask_to_reconcile(
    connection: &mut PgConnection,
    channel: &Channel,
) -> Result<Option<Timestamp>, StoreError> {
    let asked = sqlx::query_scalar(include_str!("channels_ask.sql")).bind(channel.as_str());
    Ok(asked.fetch_optional(connection).await?)
}

/// Whether all of it was read since then.
///
/// # Errors
/// The database's own.
pub async fn is_reconciled(
    connection: &mut PgConnection,
    channel: &Channel,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let reconciled = sqlx::query_scalar(include_str!("channels_is_reconciled.sql")).bind(channel.as_str()).bind(since);
    Ok(reconciled.fetch_optional(connection).await?.unwrap_or(false))
}

/// Notes that it was checked.
///
/// # Errors
/// The database's own.
pub async fn checked(connection: &mut PgConnection, channel: &Channel) -> Result<(), StoreError> {
    sqlx::query(include_str!("channels_checked.sql")).bind(channel.as_str()).execute(connection).await?;
    Ok(())
}

/// Whether an order of the channel was refused and nobody has seen to it.
///
/// # Errors
/// The database's own.
pub async fn has_refused_orders(connection: &mut PgConnection, channel: &Channel) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar(include_str!("channels_refused.sql")).bind(channel.as_str()).fetch_one(connection).await?)
}

/// The next stock rows that the channel has points of, behind one, in the order in which rows are locked.
///
/// # Errors
/// The database's own.
pub async fn rows_after(
    connection: &mut PgConnection,
    channel: &Channel,
    after: Option<&StockKey>,
    limit: i64,
) -> Result<Vec<StockKey>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(include_str!("points_of.sql"))
        .bind(channel.as_str())
        .bind(after.map_or("", |key| key.sku.as_str()))
        .bind(after.map_or("", |key| key.warehouse.as_str()))
        .bind(limit)
        .fetch_all(connection)
        .await?;
    Ok(rows.iter().map(|(sku, warehouse)| super::stock::key(sku, warehouse)).collect())
}
