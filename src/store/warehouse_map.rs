//! The channels' warehouses, and what marketplaces call them, as a whole: a small table that is rarely changed.

use sqlx::PgConnection;

use super::{StoreError, changed_all};
use crate::domain::{Channel, Qty, Warehouse};

/// A row: from which warehouse a channel is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapRow {
    /// The warehouse.
    pub warehouse: Warehouse,
    /// The channel.
    pub channel: Channel,
    /// What the channel calls the warehouse; none where it is not a marketplace. Unique in the channel.
    pub external_warehouse_id: Option<String>,
    /// The lowest is tried first.
    pub priority: i32,
    /// Units not to be shown to the channel; none where the channel's own setting holds.
    pub safety_stock: Option<Qty>,
}

type Row = (String, String, Option<String>, i32, Option<Qty>);

/// Keeps others from changing the map until this transaction ends, and reads it. Who reads it is not kept waiting.
pub async fn lock(connection: &mut PgConnection) -> Result<Vec<MapRow>, StoreError> {
    sqlx::query("LOCK TABLE channel_warehouse_map IN SHARE ROW EXCLUSIVE MODE").execute(&mut *connection).await?;
    let rows: Vec<Row> = sqlx::query_as(include_str!("warehouse_map.sql")).fetch_all(connection).await?;
    let read = |(warehouse, channel, external_warehouse_id, priority, safety_stock): Row| MapRow {
        warehouse: Warehouse::stored(&warehouse),
        channel: Channel::stored(&channel),
        external_warehouse_id,
        priority,
        safety_stock,
    };
    Ok(rows.into_iter().map(read).collect())
}

/// Puts rows in, in place of those of the same warehouse and channel. These go first, so that rows may trade their external ids.
pub async fn replace_many(connection: &mut PgConnection, rows: &[&MapRow]) -> Result<(), StoreError> {
    let warehouses: Vec<_> = rows.iter().map(|row| row.warehouse.as_str()).collect();
    let channels: Vec<_> = rows.iter().map(|row| row.channel.as_str()).collect();
    sqlx::query(include_str!("warehouse_map_clear.sql"))
        .bind(&warehouses)
        .bind(&channels)
        .execute(&mut *connection)
        .await?;
    let inserted = sqlx::query(include_str!("warehouse_map_insert.sql"))
        .bind(&warehouses)
        .bind(&channels)
        .bind(rows.iter().map(|row| row.external_warehouse_id.as_deref()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.priority).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.safety_stock).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    changed_all("channels' warehouses", &inserted, rows.len())
}
