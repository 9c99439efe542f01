//! Stock rows whose last telling is in doubt, because old figures of theirs are told again.

use sqlx::PgConnection;

use super::StoreError;
use super::stock::{key, skus, warehouses};
use crate::domain::StockKey;

/// Doubts rows. `keys` are sorted.
pub async fn add_many(connection: &mut PgConnection, keys: &[StockKey]) -> Result<(), StoreError> {
    if !keys.is_empty() {
        sqlx::query(include_str!("doubts_add.sql")).bind(skus(keys)).bind(warehouses(keys)).execute(connection).await?;
    }
    Ok(())
}

/// Doubts every row.
pub async fn add_all(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query(include_str!("doubts_add_all.sql")).execute(connection).await?;
    Ok(())
}

/// The first of them, sorted.
pub async fn some(connection: &mut PgConnection, limit: i64) -> Result<Vec<StockKey>, StoreError> {
    let rows: Vec<(String, String)> =
        sqlx::query_as(include_str!("doubts_some.sql")).bind(limit).fetch_all(connection).await?;
    Ok(rows.iter().map(|(sku, warehouse)| key(sku, warehouse)).collect())
}

/// They are doubted no more.
pub async fn remove_many(connection: &mut PgConnection, keys: &[StockKey]) -> Result<(), StoreError> {
    sqlx::query(include_str!("doubts_remove.sql")).bind(skus(keys)).bind(warehouses(keys)).execute(connection).await?;
    Ok(())
}
