//! Which SKUs and warehouses are known.

use std::collections::BTreeSet;

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Sku, Warehouse};

/// Those of the SKUs that have a stock row anywhere.
pub async fn skus(connection: &mut PgConnection, named: &BTreeSet<Sku>) -> Result<Vec<Sku>, StoreError> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let known: Vec<String> = sqlx::query_scalar(include_str!("known_skus.sql"))
        .bind(named.iter().map(Sku::as_str).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(known.iter().map(|sku| Sku::stored(sku)).collect())
}

/// Those of the warehouses that have a stock row or a place in a channel's map.
pub async fn warehouses(
    connection: &mut PgConnection,
    named: &BTreeSet<Warehouse>,
) -> Result<Vec<Warehouse>, StoreError> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let known: Vec<String> = sqlx::query_scalar(include_str!("known_warehouses.sql"))
        .bind(named.iter().map(Warehouse::as_str).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(known.iter().map(|warehouse| Warehouse::stored(warehouse)).collect())
}
