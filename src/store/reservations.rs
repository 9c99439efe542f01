//! Lines of orders.

use std::collections::HashMap;

use sqlx::PgConnection;

use super::orders::key;
use super::{StoreError, changed_all};
use crate::domain::{
    LineId, NewReservation, OrderKey, Reservation, ReservationChange, ReservationState, Sku, Timestamp, Warehouse,
};

/// The lines of orders, in order of their rows.
pub async fn load_many(
    connection: &mut PgConnection,
    orders: &[OrderKey],
) -> Result<HashMap<OrderKey, Vec<Reservation>>, StoreError> {
    let mut lines: HashMap<OrderKey, Vec<Reservation>> = HashMap::new();
    if orders.is_empty() {
        return Ok(lines);
    }
    let rows: Vec<StoredLine> = sqlx::query_as(include_str!("reservations_load.sql"))
        .bind(orders.iter().map(|key| key.channel.as_str()).collect::<Vec<_>>())
        .bind(orders.iter().map(|key| key.order_ref.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    for row in rows {
        lines.entry(key(&row.channel, &row.order_ref)).or_default().push(row.read()?);
    }
    Ok(lines)
}

/// Takes as many new ids, in order.
pub async fn new_ids(connection: &mut PgConnection, count: usize) -> Result<Vec<i64>, StoreError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    Ok(sqlx::query_scalar(include_str!("reservations_ids.sql")).bind(count).fetch_one(connection).await?)
}

/// Adds lines under the given ids.
pub async fn insert_many(
    connection: &mut PgConnection,
    lines: &[NewReservation],
    ids: &[i64],
    at: Timestamp,
) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let inserted = sqlx::query(include_str!("reservations_insert.sql"))
        .bind(ids)
        .bind(lines.iter().map(|line| line.order.channel.as_str()).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.order.order_ref.as_str()).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.reservation.sku.as_str()).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.reservation.warehouse.as_str()).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.reservation.qty).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.reservation.state.word()).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.reservation.named).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.reservation.cancelled).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.expires_at).collect::<Vec<_>>())
        .bind(at)
        .bind(lines.iter().map(|line| line.reservation.shipped_qty).collect::<Vec<_>>())
        .bind(lines.iter().map(|line| line.reservation.returned_qty).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    changed_all("new reservations", &inserted, lines.len())
}

/// Writes the changed columns of lines.
pub async fn update_many(connection: &mut PgConnection, changes: &[ReservationChange]) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let updated = sqlx::query(include_str!("reservations_update.sql"))
        .bind(changes.iter().map(|change| change.id).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.before.word()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.qty_before).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.state.word()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.warehouse.as_str()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.qty).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.cancelled).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.expires_at).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.shipped_before).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.returned_before).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.shipped_qty).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.returned_qty).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    changed_all("reservations", &updated, changes.len())
}

#[derive(sqlx::FromRow)]
struct StoredLine {
    channel: String,
    order_ref: String,
    id: i64,
    sku: String,
    warehouse: String,
    named: bool,
    qty: i64,
    shipped_qty: i64,
    returned_qty: i64,
    state: String,
    cancelled: bool,
}

impl StoredLine {
    fn read(self) -> Result<Reservation, StoreError> {
        let state = ReservationState::from_word(&self.state).ok_or_else(|| StoreError::Unreadable {
            what: "reservation",
            detail: format!("state {} of {}", self.state, self.id),
        })?;
        Ok(Reservation {
            id: LineId::Stored(self.id),
            sku: Sku::stored(&self.sku),
            warehouse: Warehouse::stored(&self.warehouse),
            named: self.named,
            qty: self.qty,
            shipped_qty: self.shipped_qty,
            returned_qty: self.returned_qty,
            state,
            cancelled: self.cancelled,
        })
    }
}
