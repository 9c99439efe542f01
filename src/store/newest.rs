//! How far the base knows.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::Timestamp;

/// The newest instant that stands in the base; none where nothing ever happened.
pub async fn newest(connection: &mut PgConnection) -> Result<Option<Timestamp>, StoreError> {
    Ok(sqlx::query_scalar(include_str!("newest.sql")).fetch_one(connection).await?)
}
