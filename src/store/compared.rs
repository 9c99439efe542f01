//! What stands here of what another system says too.

use std::collections::HashMap;

use sqlx::PgConnection;

use super::StoreError;
use super::orders::key as order_key;
use super::stock::key as stock_key;
use crate::domain::{OrderKey, OrderState, Qty, StockKey, Timestamp};

/// How a transaction begins that reads all rows as of one instant.
pub const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// What is available in those of the rows that exist.
pub async fn availability(
    connection: &mut PgConnection,
    keys: &[&StockKey],
) -> Result<HashMap<StockKey, Qty>, StoreError> {
    let rows: Vec<(String, String, Qty)> = sqlx::query_as(include_str!("compared_availability.sql"))
        .bind(keys.iter().map(|key| key.sku.as_str()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.warehouse.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|(sku, warehouse, units)| (stock_key(&sku, &warehouse), units)).collect())
}

/// How those of the orders stand that exist, and when their holds end if they are held.
pub async fn expiry(
    connection: &mut PgConnection,
    keys: &[&OrderKey],
) -> Result<HashMap<OrderKey, (OrderState, Option<Timestamp>)>, StoreError> {
    let rows: Vec<(String, String, String, Option<Timestamp>)> = sqlx::query_as(include_str!("compared_expiry.sql"))
        .bind(keys.iter().map(|key| key.channel.as_str()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.order_ref.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    let read = |(channel, order_ref, state, end): (String, String, String, Option<Timestamp>)| {
        let unreadable = || StoreError::Unreadable { what: "order", detail: format!("state of {order_ref}") };
        let state = OrderState::from_word(&state).ok_or_else(unreadable)?;
        Ok((order_key(&channel, &order_ref), (state, end)))
    };
    rows.into_iter().map(read).collect()
}
