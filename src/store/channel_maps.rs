//! Both maps of one channel, whole: to be held against what the channel knows.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Sku, Warehouse};

/// The items that a channel is to show, and what it calls them.
pub async fn items(connection: &mut PgConnection, channel: &str) -> Result<Vec<(Sku, String)>, StoreError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as(include_str!("channel_maps_items.sql")).bind(channel).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(sku, id)| (Sku::stored(&sku), id)).collect())
}

/// The warehouses that a channel has a name for, and the names.
pub async fn warehouses(connection: &mut PgConnection, channel: &str) -> Result<Vec<(Warehouse, String)>, StoreError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as(include_str!("channel_maps_warehouses.sql")).bind(channel).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(warehouse, id)| (Warehouse::stored(&warehouse), id)).collect())
}
