//! How far back somebody's snapshot reaches: dead rows that are younger cannot be removed, in no table, and whoever reads past them pays.

use sqlx::PgConnection;

use super::StoreError;

/// The oldest transaction that keeps dead rows.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct Holder {
    /// Whose it is.
    pub who: String,
    /// Since how many seconds.
    pub seconds: f64,
}

/// The oldest, if there is any besides the one that asks.
///
/// # Errors
/// The database's own.
pub async fn oldest(connection: &mut PgConnection) -> Result<Option<Holder>, StoreError> {
    Ok(sqlx::query_as(include_str!("horizon.sql")).fetch_optional(connection).await?)
}
