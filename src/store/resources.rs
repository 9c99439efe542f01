//! Resources: what has slots, as people have defined it.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Resource, Text};

/// A resource, and what people call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRow {
    /// Which.
    pub resource: Resource,
    /// Its name; none where it is called as it is.
    pub name: Option<Text>,
}

/// Puts resources in, and returns how many of them were new or got another name. `rows` are sorted, and each stands there once.
pub async fn put_many(connection: &mut PgConnection, rows: &[&ResourceRow]) -> Result<usize, StoreError> {
    let put = sqlx::query(include_str!("resources_put.sql"))
        .bind(rows.iter().map(|row| row.resource.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.name.as_ref().map(Text::as_str)).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(usize::try_from(put.rows_affected()).unwrap_or(usize::MAX))
}
