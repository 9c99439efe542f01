//! A channel's publisher, as people stop it and let it go on, and how it is.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Qty, Timestamp};

/// Stops a channel: nothing new is sent. Returns since when it is stopped. `safety_stock` is the channel's own, for a row that is not there yet.
pub async fn pause(connection: &mut PgConnection, channel: &str, safety_stock: Qty) -> Result<Timestamp, StoreError> {
    let asked = sqlx::query_scalar(include_str!("channel_switch_pause.sql"));
    Ok(asked.bind(channel).bind(safety_stock).fetch_one(connection).await?)
}

/// Lets a channel go on, whether people or its own answers had stopped it.
pub async fn resume(connection: &mut PgConnection, channel: &str, safety_stock: Qty) -> Result<(), StoreError> {
    let asked = sqlx::query(include_str!("channel_switch_resume.sql"));
    asked.bind(channel).bind(safety_stock).execute(connection).await?;
    Ok(())
}

/// How many points of a channel somebody is sending to now.
pub async fn flying(connection: &mut PgConnection, channel: &str) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(include_str!("channel_switch_flying.sql")).bind(channel).fetch_one(connection).await?)
}

/// How a channel's publisher is.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Status {
    /// The channel.
    pub channel: String,
    /// Since when people have stopped it.
    pub paused_at: Option<Timestamp>,
    /// Until when it was stopped by its own answers, if that is still to come.
    pub halted_until: Option<Timestamp>,
    /// Why.
    pub halted_reason: Option<String>,
    /// Points that it sells.
    pub points: i64,
    /// Of all its points: those that wait to be sent to.
    pub due: i64,
    /// Since when the first of them is due.
    pub oldest_due_at: Option<Timestamp>,
    /// Those that somebody is sending to.
    pub in_flight: i64,
    /// Those of which nobody knows whether what was sent was taken.
    pub unknown: i64,
    /// Those that wait for a person.
    pub parked: i64,
    /// Units shown that are not free.
    pub exposed_units: i64,
    /// Since when the first of them are.
    pub exposed_since: Option<Timestamp>,
    /// When it was read as a whole the last time.
    pub reconciled_at: Option<Timestamp>,
    /// When its maps were last held against what it knows.
    pub checked_at: Option<Timestamp>,
}

/// How these channels are, and those that the tables know besides, by name; or only that one. Asked in the audit's snapshot.
pub async fn statuses(
    snapshot: &mut PgConnection,
    channels: &[&str],
    only: Option<&str>,
) -> Result<Vec<Status>, StoreError> {
    let asked = sqlx::query_as(include_str!("channel_switch_status.sql"));
    Ok(asked.bind(channels).bind(only).fetch_all(snapshot).await?)
}
