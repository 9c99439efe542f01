//! What a channel was seen to show, by somebody who looked for us: compared with what had been told by then, and kept.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Qty, Timestamp};

/// An address in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// What the channel calls the item.
    pub external_id: String,
    /// What it calls the warehouse.
    pub external_warehouse_id: String,
}

/// The point at an address, and what it had been told by an instant.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PointThen {
    /// The place of the address in the question, from 1 on.
    pub place: i64,
    /// What.
    pub sku: String,
    /// Where.
    pub warehouse: String,
    /// The newest version that is to be shown, as of now.
    pub newest_version: i64,
    /// When something was sent last, as of now.
    pub told_at: Option<Timestamp>,
    /// What had been sent to this address by the instant, last: its version. None where nothing had, or it is not known any more.
    pub version: Option<i64>,
    /// How many.
    pub qty: Option<Qty>,
    /// When.
    pub began_at: Option<Timestamp>,
}

/// The points at these addresses of a channel, and what they had been told by `at`. An address that the channel does not have is left out.
pub async fn points(
    connection: &mut PgConnection,
    channel: &str,
    addresses: &[&Address],
    at: Timestamp,
) -> Result<Vec<PointThen>, StoreError> {
    Ok(sqlx::query_as(include_str!("observed_points.sql"))
        .bind(vec![channel; addresses.len()])
        .bind(addresses.iter().map(|address| address.external_id.as_str()).collect::<Vec<_>>())
        .bind(addresses.iter().map(|address| address.external_warehouse_id.as_str()).collect::<Vec<_>>())
        .bind(at)
        .fetch_all(connection)
        .await?)
}

/// What a point was seen to show, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What.
    pub sku: String,
    /// Where.
    pub warehouse: String,
    /// How many it shows.
    pub observed_qty: Qty,
    /// How many it had been told.
    pub desired_qty: Option<Qty>,
    /// Of which version.
    pub compared_version: Option<i64>,
    /// `in_sync`, `lagging` or `drift`.
    pub verdict: &'static str,
}

/// Keeps what was seen of a channel at an instant, and returns how much of it was not kept before.
pub async fn insert_many(
    connection: &mut PgConnection,
    channel: &str,
    seen: &[Seen],
    at: Timestamp,
) -> Result<usize, StoreError> {
    let inserted = sqlx::query(include_str!("observed_insert.sql"))
        .bind(channel)
        .bind(at)
        .bind(seen.iter().map(|one| one.sku.as_str()).collect::<Vec<_>>())
        .bind(seen.iter().map(|one| one.warehouse.as_str()).collect::<Vec<_>>())
        .bind(seen.iter().map(|one| one.observed_qty).collect::<Vec<_>>())
        .bind(seen.iter().map(|one| one.desired_qty).collect::<Vec<_>>())
        .bind(seen.iter().map(|one| one.compared_version).collect::<Vec<_>>())
        .bind(seen.iter().map(|one| one.verdict).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(usize::try_from(inserted.rows_affected()).unwrap_or(usize::MAX))
}

/// Has these points of a channel looked at as soon as may be, but for those that somebody is sending to now.
pub async fn look_many(connection: &mut PgConnection, channel: &str, seen: &[&Seen]) -> Result<u64, StoreError> {
    let asked = sqlx::query(include_str!("observed_look.sql"))
        .bind(seen.iter().map(|one| one.sku.as_str()).collect::<Vec<_>>())
        .bind(vec![channel; seen.len()])
        .bind(seen.iter().map(|one| one.warehouse.as_str()).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(asked.rows_affected())
}
