//! The present state of an order or of a SKU, for whoever asks.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{OrderKey, Timestamp};

/// A line or a slot of an order with the order's own columns; an order without either is one row without them.
#[derive(Debug, sqlx::FromRow)]
pub struct OrderPart {
    /// What became of the order.
    pub state: String,
    /// How it is paid.
    pub payment_mode: String,
    /// What it costs, in minor units.
    pub total_amount: Option<i64>,
    /// Of which currency.
    pub currency: Option<String>,
    /// Why it was rejected.
    pub rejection: Option<String>,
    /// When it came.
    pub created_at: Timestamp,
    /// When its hold ends.
    pub expires_at: Option<Timestamp>,
    /// Of a line: what.
    pub sku: Option<String>,
    /// Of a line: where.
    pub warehouse: Option<String>,
    /// Of a line: units, less what was cancelled in part.
    pub qty: Option<i64>,
    /// Of a line: units that left the shelf.
    pub shipped_qty: Option<i64>,
    /// Of a line: units that came back.
    pub returned_qty: Option<i64>,
    /// Of a slot: of what.
    pub resource: Option<String>,
    /// Of a slot: from when.
    pub begins: Option<Timestamp>,
    /// Of a slot: to when, excluded.
    pub ends: Option<Timestamp>,
    /// What became of the line or slot.
    pub part_state: Option<String>,
}

/// The order's lines in order, then its slots; nothing where the order is not known.
pub async fn order(connection: &mut PgConnection, order: &OrderKey) -> Result<Vec<OrderPart>, StoreError> {
    let asked = sqlx::query_as(include_str!("query_order.sql"));
    Ok(asked.bind(order.channel.as_str()).bind(order.order_ref.as_str()).fetch_all(connection).await?)
}

/// A stock row of a SKU.
#[derive(Debug, sqlx::FromRow)]
pub struct StockRow {
    /// Where.
    pub warehouse: String,
    /// On the shelf.
    pub on_hand: i64,
    /// Promised.
    pub reserved: i64,
    /// Of which version these figures are.
    pub version: i64,
}

/// The SKU's rows by warehouse, or the one of this warehouse.
pub async fn stock(
    connection: &mut PgConnection,
    sku: &str,
    warehouse: Option<&str>,
) -> Result<Vec<StockRow>, StoreError> {
    Ok(sqlx::query_as(include_str!("query_stock.sql")).bind(sku).bind(warehouse).fetch_all(connection).await?)
}
