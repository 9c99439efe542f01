//! From which warehouses a channel is served.

use std::collections::{BTreeSet, HashMap};

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::{Channel, Warehouse};

/// The routes of those channels that have a map.
pub async fn load_many(
    connection: &mut PgConnection,
    channels: &BTreeSet<Channel>,
) -> Result<HashMap<Channel, Vec<Warehouse>>, StoreError> {
    let mut routes: HashMap<Channel, Vec<Warehouse>> = HashMap::new();
    if channels.is_empty() {
        return Ok(routes);
    }
    let rows: Vec<(String, String)> = sqlx::query_as(include_str!("routes.sql"))
        .bind(channels.iter().map(Channel::as_str).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    for (channel, warehouse) in rows {
        routes.entry(Channel::stored(&channel)).or_default().push(Warehouse::stored(&warehouse));
    }
    Ok(routes)
}
