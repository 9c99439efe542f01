//! The journals: every step of a reservation, every change of what lies on a shelf.

use sqlx::PgConnection;

use super::{StoreError, changed_all};
use crate::domain::{EventId, JournalEntry, LineId, Movement, ReservationState, Timestamp};

/// Writes steps. `new_ids` are the ids of the reservations that the same decision adds.
pub async fn insert_steps(
    connection: &mut PgConnection,
    steps: &[JournalEntry],
    new_ids: &[i64],
    at: Timestamp,
) -> Result<(), StoreError> {
    if steps.is_empty() {
        return Ok(());
    }
    let id = |line| match line {
        LineId::Stored(id) => id,
        LineId::New(place) => new_ids[place],
    };
    let inserted = sqlx::query(include_str!("journal_steps.sql"))
        .bind(steps.iter().map(|step| id(step.line)).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.sku.as_str()).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.warehouse.as_str()).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.from.map(ReservationState::word)).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.to.word()).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.qty).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.reason.as_deref()).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.event_id.as_ref().map(EventId::as_str)).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("journal", &inserted, steps.len())
}

/// Writes movements.
pub async fn insert_movements(
    connection: &mut PgConnection,
    movements: &[Movement],
    at: Timestamp,
) -> Result<(), StoreError> {
    if movements.is_empty() {
        return Ok(());
    }
    let inserted = sqlx::query(include_str!("journal_movements.sql"))
        .bind(movements.iter().map(|movement| movement.key.sku.as_str()).collect::<Vec<_>>())
        .bind(movements.iter().map(|movement| movement.key.warehouse.as_str()).collect::<Vec<_>>())
        .bind(movements.iter().map(|movement| movement.delta).collect::<Vec<_>>())
        .bind(movements.iter().map(|movement| movement.kind.word()).collect::<Vec<_>>())
        .bind(movements.iter().map(|movement| movement.event_id.as_ref().map(EventId::as_str)).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("movements", &inserted, movements.len())
}
