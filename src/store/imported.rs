//! Orders that an import claims before it knows whether it takes them.

use std::collections::HashSet;

use sqlx::PgConnection;

use super::orders::{self, OrderClaim};
use super::{StoreError, changed_all};
use crate::domain::{HoldBounds, OrderKey, OrderState};

/// An awaited order is not held.
const NO_HOLD: HoldBounds = HoldBounds { default_s: 0, min_s: 0, max_s: 0 };

/// Claims orders as awaited, and tells which had been taken before. `keys` are sorted.
pub async fn claim_many(connection: &mut PgConnection, keys: &[OrderKey]) -> Result<HashSet<OrderKey>, StoreError> {
    let claims: Vec<OrderClaim<'_>> = keys.iter().map(|key| OrderClaim { key: key.clone(), creation: None }).collect();
    Ok(orders::claim_many(connection, &claims, NO_HOLD).await?.taken)
}

/// Takes away orders that this transaction claimed and does not take. `keys` are sorted.
pub async fn unclaim_many(connection: &mut PgConnection, keys: &[OrderKey]) -> Result<(), StoreError> {
    if keys.is_empty() {
        return Ok(());
    }
    let deleted = sqlx::query(include_str!("imported_unclaim.sql"))
        .bind(keys.iter().map(|key| key.channel.as_str()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.order_ref.as_str()).collect::<Vec<_>>())
        .bind(OrderState::Awaited.word())
        .execute(connection)
        .await?;
    changed_all("claimed orders", &deleted, keys.len())
}
