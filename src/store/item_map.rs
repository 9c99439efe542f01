//! What channels call SKUs: as large as the channels' catalogues, so that only the rows that a change touches are read.

use std::collections::HashSet;

use sqlx::PgConnection;

use super::stock::key;
use super::{StoreError, changed_all};
use crate::domain::{Channel, Sku, StockKey};

/// A row: what a channel calls a SKU.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ItemRow {
    /// The SKU.
    pub sku: Sku,
    /// The channel.
    pub channel: Channel,
    /// What the channel calls the SKU. Unique in the channel.
    pub external_id: String,
}

/// Keeps others from changing the map until this transaction ends. Who reads it is not kept waiting.
pub async fn lock(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("LOCK TABLE channel_item_map IN SHARE ROW EXCLUSIVE MODE").execute(connection).await?;
    Ok(())
}

/// The rows that stand there for the SKUs of these, or under their external ids.
pub async fn touched_many(connection: &mut PgConnection, rows: &[&ItemRow]) -> Result<HashSet<ItemRow>, StoreError> {
    let found: Vec<(String, String, String)> = sqlx::query_as(include_str!("item_map_touched.sql"))
        .bind(skus(rows))
        .bind(channels(rows))
        .bind(external_ids(rows))
        .fetch_all(connection)
        .await?;
    let read = |(sku, channel, external_id): (String, String, String)| ItemRow {
        sku: Sku::stored(&sku),
        channel: Channel::stored(&channel),
        external_id,
    };
    Ok(found.into_iter().map(read).collect())
}

/// Takes away what stands there for the SKUs of these rows, so that they may trade their external ids.
pub async fn clear_many(connection: &mut PgConnection, rows: &[&ItemRow]) -> Result<(), StoreError> {
    sqlx::query(include_str!("item_map_clear.sql")).bind(skus(rows)).bind(channels(rows)).execute(connection).await?;
    Ok(())
}

/// Puts rows in that have no predecessor any more.
pub async fn insert_many(connection: &mut PgConnection, rows: &[&ItemRow]) -> Result<(), StoreError> {
    let inserted = sqlx::query(include_str!("item_map_insert.sql"))
        .bind(skus(rows))
        .bind(channels(rows))
        .bind(external_ids(rows))
        .execute(connection)
        .await?;
    changed_all("channels' items", &inserted, rows.len())
}

/// The stock rows of these SKUs, wherever they lie, in the order in which rows are locked.
pub async fn stock_of(connection: &mut PgConnection, skus: &[&Sku]) -> Result<Vec<StockKey>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(include_str!("item_map_stock.sql"))
        .bind(skus.iter().map(|sku| sku.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(rows.iter().map(|(sku, warehouse)| key(sku, warehouse)).collect())
}

fn skus<'a>(rows: &[&'a ItemRow]) -> Vec<&'a str> {
    rows.iter().map(|row| row.sku.as_str()).collect()
}

fn channels<'a>(rows: &[&'a ItemRow]) -> Vec<&'a str> {
    rows.iter().map(|row| row.channel.as_str()).collect()
}

fn external_ids<'a>(rows: &[&'a ItemRow]) -> Vec<&'a str> {
    rows.iter().map(|row| row.external_id.as_str()).collect()
}
