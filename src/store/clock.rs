//! The database's clock, the only one that counts.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::Timestamp;

/// The instant.
pub async fn now(connection: &mut PgConnection) -> Result<Timestamp, StoreError> {
    Ok(sqlx::query_scalar(include_str!("clock.sql")).fetch_one(connection).await?)
}
