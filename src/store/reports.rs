//! What reports ask of the tables. Asked in the audit's snapshot (`audit::begin`).

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{EventId, OrderKey, Timestamp};

/// What became of holds: orders that were held for money.
#[derive(Debug, Clone, Default, PartialEq, sqlx::FromRow)]
pub struct Holds {
    /// All of them; the following add up to it.
    pub orders: i64,
    /// Paid while held.
    pub in_time: i64,
    /// Paid after the hold had ended, and had again.
    pub had_again: i64,
    /// Paid after the hold had ended, and the money went back: what it paid for was sold.
    pub sent_back: i64,
    /// The hold ended, and no money ever came.
    pub never_paid: i64,
    /// Still held.
    pub open: i64,
    /// Cancelled, given back after a failed payment, or paid with money that did not agree.
    pub otherwise: i64,
    /// Seconds from the order to its first money, of those paid in time or late: half of them, 90, 95, 99 and all of 100 took no longer.
    pub paid_s: Option<Vec<f64>>,
    /// Seconds from the beginning of holds to their ends, as prolonged, in the same parts.
    pub hold_s: Option<Vec<f64>>,
    /// How much of its hold an order that was paid took, in the same parts: above 1 is late.
    pub paid_of_hold: Option<Vec<f64>>,
}

/// What became of the holds of orders made since then, in one channel or all.
pub async fn holds(
    connection: &mut PgConnection,
    since: Timestamp,
    channel: Option<&str>,
) -> Result<Holds, StoreError> {
    Ok(sqlx::query_as(include_str!("report_holds.sql")).bind(since).bind(channel).fetch_one(connection).await?)
}

/// What is stored of an order's way. All by the database's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct Way {
    /// Its batch had begun, and claimed it. None: it is unknown, or another message made it.
    pub claimed_at: Option<Timestamp>,
    /// Its batch had all locks, and decided. None as well where it was rejected: that leaves no journal.
    pub decided_at: Option<Timestamp>,
    /// The broker had acknowledged its answer, and that was noted. None as well once the outbox has let go of it.
    pub told_at: Option<Timestamp>,
}

/// The ways of the orders that these events were to make, one each, in their order.
pub async fn ways(connection: &mut PgConnection, orders: &[(OrderKey, EventId)]) -> Result<Vec<Way>, StoreError> {
    Ok(sqlx::query_as(include_str!("report_stages.sql"))
        .bind(orders.iter().map(|(order, _)| order.channel.to_string()).collect::<Vec<_>>())
        .bind(orders.iter().map(|(order, _)| order.order_ref.to_string()).collect::<Vec<_>>())
        .bind(orders.iter().map(|(_, event)| event.to_string()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?)
}

/// How often a channel promised more of a SKU than there was, or showed more than it had been told.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Excess {
    /// What.
    pub sku: String,
    /// Where it was promised or shown.
    pub channel: String,
    /// All cases that were looked at.
    pub cases: i64,
    /// Those of them in which it was more.
    pub above: i64,
    /// By how many units, in 95 of 100 of these at most; none where there is none.
    pub p95: Option<i64>,
    /// By how many at most.
    pub most: Option<i64>,
}

/// Orders made since then that could not have what they asked for; more is promised in those that the channel had sold already.
pub async fn stockouts(
    connection: &mut PgConnection,
    since: Timestamp,
    channel: Option<&str>,
) -> Result<Vec<Excess>, StoreError> {
    Ok(sqlx::query_as(include_str!("report_stockouts.sql")).bind(since).bind(channel).fetch_all(connection).await?)
}

/// Looks since then at which a channel showed another number than it had been told.
pub async fn drift(
    connection: &mut PgConnection,
    since: Timestamp,
    channel: Option<&str>,
) -> Result<Vec<Excess>, StoreError> {
    Ok(sqlx::query_as(include_str!("report_drift.sql")).bind(since).bind(channel).fetch_all(connection).await?)
}
