//! What stands here, row by row, as the imports take it. Everything of one export is of one snapshot, in plans that read tables whole
//! ([`super::audit::begin`]).

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use super::StoreError;
use crate::domain::{Qty, Timestamp};

/// SKU, warehouse, units on the shelf.
pub type StockRow = (String, String, Qty);
/// SKU, channel, what the channel calls the SKU.
pub type ItemRow = (String, String, String);
/// Warehouse, channel, what the channel calls the warehouse, priority, units kept from the channel.
pub type MapRow = (String, String, Option<String>, i32, Option<Qty>);
/// What the channel calls the item and the warehouse, how many it should show, SKU, warehouse, version.
pub type DesiredRow = (String, String, Qty, String, String, i64);
/// Resource, its name.
pub type ResourceRow = (String, Option<String>);
/// Channel, order, SKU, warehouse, units, held or confirmed, the end of a hold.
pub type LineRow = (String, String, String, String, Qty, String, Option<Timestamp>);

/// Every row of stock.
pub fn stock(snapshot: &mut PgConnection) -> BoxStream<'_, Result<StockRow, StoreError>> {
    rows(snapshot, include_str!("exported_stock.sql"))
}

/// What channels call SKUs.
pub fn mappings(snapshot: &mut PgConnection) -> BoxStream<'_, Result<ItemRow, StoreError>> {
    rows(snapshot, include_str!("exported_mappings.sql"))
}

/// The channels' warehouses.
pub fn warehouses(snapshot: &mut PgConnection) -> BoxStream<'_, Result<MapRow, StoreError>> {
    rows(snapshot, include_str!("exported_warehouses.sql"))
}

/// What has slots.
pub fn resources(snapshot: &mut PgConnection) -> BoxStream<'_, Result<ResourceRow, StoreError>> {
    rows(snapshot, include_str!("exported_resources.sql"))
}

/// What is outstanding of orders that are under way, the lines of an order together.
pub fn lines(snapshot: &mut PgConnection) -> BoxStream<'_, Result<LineRow, StoreError>> {
    rows(snapshot, include_str!("exported_lines.sql"))
}

/// What a channel should show at every point that it sells, where it has this safety stock and takes no more than `max_qty`.
pub fn desired<'a>(
    snapshot: &'a mut PgConnection,
    channel: &'a str,
    safety_stock: Qty,
    max_qty: Qty,
) -> BoxStream<'a, Result<DesiredRow, StoreError>> {
    let asked = sqlx::query_as(include_str!("exported_desired.sql"));
    asked.bind(channel).bind(safety_stock).bind(max_qty).fetch(snapshot).err_into().boxed()
}

fn rows<'a, R>(snapshot: &'a mut PgConnection, statement: &'static str) -> BoxStream<'a, Result<R, StoreError>>
where
    R: for<'r> sqlx::FromRow<'r, PgRow> + Send + Unpin + 'a,
{
    sqlx::query_as(statement).fetch(snapshot).err_into().boxed()
}

/// Slots that are under way: held, or confirmed and not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Slots {
    /// How many.
    pub slots: i64,
    /// Of how many orders.
    pub orders: i64,
}

/// How many slots are under way.
pub async fn slots(snapshot: &mut PgConnection) -> Result<Slots, StoreError> {
    Ok(sqlx::query_as(include_str!("exported_slots.sql")).fetch_one(snapshot).await?)
}
