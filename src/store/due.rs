//! Holds that have ended.

use std::time::Duration;

use sqlx::PgConnection;

use super::StoreError;
use super::orders::key;
use super::stock::{skus, warehouses};
use crate::domain::{OrderKey, StockKey, Timestamp};

/// Orders with a hold on one of these rows that had ended by `now`; at most `limit`, the longest overdue first.
pub async fn on_rows(
    connection: &mut PgConnection,
    rows: &[StockKey],
    now: Timestamp,
    limit: i64,
) -> Result<Vec<OrderKey>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let orders: Vec<(String, String)> = sqlx::query_as(include_str!("due_on_rows.sql"))
        .bind(skus(rows))
        .bind(warehouses(rows))
        .bind(now)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    Ok(orders.iter().map(|(channel, order_ref)| key(channel, order_ref)).collect())
}

/// Orders whose hold has ended; at most `limit`, the longest overdue first.
pub async fn orders(connection: &mut PgConnection, limit: i64) -> Result<Vec<OrderKey>, StoreError> {
    let orders: Vec<(String, String)> =
        sqlx::query_as(include_str!("due_orders.sql")).bind(limit).fetch_all(connection).await?;
    Ok(orders.iter().map(|(channel, order_ref)| key(channel, order_ref)).collect())
}

/// How long it is until the next hold ends, if any order is held.
pub async fn next(connection: &mut PgConnection) -> Result<Option<Duration>, StoreError> {
    let milliseconds: Option<i64> = sqlx::query_scalar(include_str!("due_next.sql")).fetch_optional(connection).await?;
    Ok(milliseconds.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0))))
}
