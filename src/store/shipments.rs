//! Shipments that were taken, and the journal of what left shelves for orders and came back.

use std::collections::HashMap;

use sqlx::PgConnection;

use super::inbox::digest;
use super::orders::key;
use super::{StoreError, changed_all};
use crate::domain::{Digest, FiledShipment, LineId, ParcelLine, ShipmentKey, Text, Timestamp, Warehouse};

/// The digests of those of the named shipments that were taken. Their orders are locked, so none of them can be taken meanwhile.
pub async fn load_many(
    connection: &mut PgConnection,
    named: &[ShipmentKey],
) -> Result<HashMap<ShipmentKey, Digest>, StoreError> {
    if named.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<(String, String, String, String, Vec<u8>)> = sqlx::query_as(include_str!("shipments_load.sql"))
        .bind(named.iter().map(|key| key.order.channel.as_str()).collect::<Vec<_>>())
        .bind(named.iter().map(|key| key.order.order_ref.as_str()).collect::<Vec<_>>())
        .bind(named.iter().map(|key| key.shipment_ref.as_str()).collect::<Vec<_>>())
        .bind(named.iter().map(|key| key.warehouse.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    let read = |(channel, order_ref, shipment_ref, warehouse, bytes): (String, String, String, String, Vec<u8>)| {
        let key = ShipmentKey {
            order: key(&channel, &order_ref),
            shipment_ref: Text::stored(&shipment_ref),
            warehouse: Warehouse::stored(&warehouse),
        };
        Ok((key, digest(&bytes)?))
    };
    rows.into_iter().map(read).collect()
}

/// Takes shipments, each by the event that brought it.
pub async fn file_many(
    connection: &mut PgConnection,
    shipments: &[FiledShipment],
    at: Timestamp,
) -> Result<(), StoreError> {
    if shipments.is_empty() {
        return Ok(());
    }
    let filed = sqlx::query(include_str!("shipments_file.sql"))
        .bind(shipments.iter().map(|filed| filed.key.order.channel.as_str()).collect::<Vec<_>>())
        .bind(shipments.iter().map(|filed| filed.key.order.order_ref.as_str()).collect::<Vec<_>>())
        .bind(shipments.iter().map(|filed| filed.key.shipment_ref.as_str()).collect::<Vec<_>>())
        .bind(shipments.iter().map(|filed| filed.key.warehouse.as_str()).collect::<Vec<_>>())
        .bind(shipments.iter().map(|filed| filed.digest.0.as_slice()).collect::<Vec<_>>())
        .bind(shipments.iter().map(|filed| filed.event_id.as_str()).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("shipments", &filed, shipments.len())
}

/// Journals what left shelves and what came back. `new_ids` are the ids of the reservations that the same decision adds.
pub async fn insert_lines(
    connection: &mut PgConnection,
    lines: &[ParcelLine],
    new_ids: &[i64],
    at: Timestamp,
) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let id = |line| match line {
        LineId::Stored(id) => id,
        LineId::New(place) => new_ids[place],
    };
    let inserted = sqlx::query(include_str!("shipments_lines.sql"))
        .bind(lines.iter().map(|line| id(line.line)).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.sku.as_str()).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.warehouse.as_str()).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.kind.word()).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.qty).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.event_id.as_str()).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("parcel lines", &inserted, lines.len())
}
