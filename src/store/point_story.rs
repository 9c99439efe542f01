//! Everything that is known of a point, for somebody who asks why. Asked in the audit's snapshot.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Qty, Timestamp};

/// A point: a SKU of a warehouse as a channel sells it.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// What.
    pub sku: &'a str,
    /// To whom it is shown.
    pub channel: &'a str,
    /// Where it lies.
    pub warehouse: &'a str,
}

/// A point and what surrounds it. All of it may be missing but the clock.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PointFacts {
    /// The database's clock.
    pub now: Timestamp,
    /// Units on the shelf.
    pub on_hand: Option<Qty>,
    /// Of them promised.
    pub reserved: Option<Qty>,
    /// The version of these figures.
    pub stock_version: Option<i64>,
    /// What the channel calls the SKU, by the map.
    pub mapped_id: Option<String>,
    /// What it calls the warehouse.
    pub mapped_warehouse_id: Option<String>,
    /// The warehouse's own safety stock.
    pub safety_stock: Option<Qty>,
    /// Since when people have stopped the channel.
    pub paused_at: Option<Timestamp>,
    /// Until when its own answers have, if that is still to come.
    pub halted_until: Option<Timestamp>,
    /// Why.
    pub halted_reason: Option<String>,
    /// The newest version that was queued.
    pub newest_version: Option<i64>,
    /// What should be shown by it.
    pub desired_qty: Option<Qty>,
    /// What was sent last: its version.
    pub told_version: Option<i64>,
    /// How many.
    pub told_qty: Option<Qty>,
    /// When.
    pub told_at: Option<Timestamp>,
    /// To which item.
    pub told_external_id: Option<String>,
    /// In which warehouse.
    pub told_external_warehouse_id: Option<String>,
    /// Until when somebody is believed to be sending.
    pub lease_until: Option<Timestamp>,
    /// When the newest figures go out.
    pub due_at: Option<Timestamp>,
    /// When the channel is read for it.
    pub look_at: Option<Timestamp>,
    /// Since when it has been seen to show less than it should.
    pub low_since: Option<Timestamp>,
    /// Why it waits for a person.
    pub parked: Option<String>,
    /// What it shows, as far as is known.
    pub shown_qty: Option<Qty>,
    /// How many of that are not free.
    pub exposed_units: Option<Qty>,
    /// What was seen to be shown: its version.
    pub confirmed_version: Option<i64>,
    /// How many.
    pub confirmed_qty: Option<Qty>,
    /// When.
    pub confirmed_at: Option<Timestamp>,
    /// The open review about it.
    pub review_id: Option<i64>,
}

/// Each time that something was sent.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct AttemptFacts {
    /// Its row.
    pub id: i64,
    /// Of which version.
    pub version: i64,
    /// To which item.
    pub external_id: String,
    /// In which warehouse.
    pub external_warehouse_id: String,
    /// How many.
    pub qty: Qty,
    /// Whether it was 0 for an address that is no more.
    pub withdrawal: bool,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended; none where it was cut off, or has not.
    pub ended_at: Option<Timestamp>,
    /// What became of it.
    pub outcome: Option<String>,
    /// What the channel said.
    pub detail: Option<String>,
}

/// Each time that it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct ObservationFacts {
    /// Its row.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// What it showed; none where the channel did not list it.
    pub observed_qty: Option<Qty>,
    /// What it had been told.
    pub desired_qty: Option<Qty>,
    /// Of which version.
    pub compared_version: Option<i64>,
    /// What that means.
    pub verdict: String,
}

/// A version that was queued.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct PushFacts {
    /// Its row.
    pub id: i64,
    /// Which.
    pub version: i64,
    /// What should be shown by it.
    pub desired_qty: Qty,
    /// What became of it.
    pub state: String,
    /// How often it was sent.
    pub attempts: i32,
    /// What the channel said last.
    pub last_error: Option<String>,
    /// When it was queued.
    pub created_at: Timestamp,
}

/// The point and what surrounds it.
pub async fn facts(snapshot: &mut PgConnection, point: Point<'_>) -> Result<PointFacts, StoreError> {
    let asked = sqlx::query_as(include_str!("point_story.sql"));
    Ok(asked.bind(point.sku).bind(point.channel).bind(point.warehouse).fetch_one(snapshot).await?)
}

/// The last attempts, newest first.
pub async fn attempts(
    snapshot: &mut PgConnection,
    point: Point<'_>,
    limit: i64,
) -> Result<Vec<AttemptFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("point_story_attempts.sql"));
    Ok(asked.bind(point.sku).bind(point.channel).bind(point.warehouse).bind(limit).fetch_all(snapshot).await?)
}

/// The last observations, newest first.
pub async fn observations(
    snapshot: &mut PgConnection,
    point: Point<'_>,
    limit: i64,
) -> Result<Vec<ObservationFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("point_story_observations.sql"));
    Ok(asked.bind(point.sku).bind(point.channel).bind(point.warehouse).bind(limit).fetch_all(snapshot).await?)
}

/// What is queued and not settled, and the newest that was queued at all; newest first.
pub async fn pushes(snapshot: &mut PgConnection, point: Point<'_>) -> Result<Vec<PushFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("point_story_pushes.sql"));
    Ok(asked.bind(point.sku).bind(point.channel).bind(point.warehouse).fetch_all(snapshot).await?)
}
