//! Rows that an audit found wrong: what their figures should be, and what was done about them.

use sqlx::PgConnection;

use super::stock::{key, skus, warehouses};
use super::{StoreError, audit, changed_all};
use crate::domain::{Repaired, RowFacts, Stock, StockKey, Timestamp};

/// What these rows are and what they should be, in the order of `keys`. In a transaction: whole tables are read, by plans for that.
///
/// # Errors
/// The database's own.
pub async fn facts(connection: &mut PgConnection, keys: &[StockKey]) -> Result<Vec<(StockKey, RowFacts)>, StoreError> {
    audit::sweep_again(connection).await?;
    let rows: Vec<FactsRow> = sqlx::query_as(include_str!("repair_rows.sql"))
        .bind(skus(keys))
        .bind(warehouses(keys))
        .fetch_all(&mut *connection)
        .await?;
    audit::look_up(connection).await?;
    Ok(rows.into_iter().map(FactsRow::read).collect())
}

/// Notes what was repaired.
///
/// # Errors
/// The database's own.
pub async fn insert_many(connection: &mut PgConnection, done: &[Repaired], at: Timestamp) -> Result<(), StoreError> {
    if done.is_empty() {
        return Ok(());
    }
    let inserted = sqlx::query(include_str!("repair_insert.sql"))
        .bind(done.iter().map(|done| done.event_id.as_str()).collect::<Vec<_>>())
        .bind(done.iter().map(|done| done.entry.word()).collect::<Vec<_>>())
        .bind(done.iter().map(|done| done.key.sku.as_str()).collect::<Vec<_>>())
        .bind(done.iter().map(|done| done.key.warehouse.as_str()).collect::<Vec<_>>())
        .bind(done.iter().map(|done| done.entry.before).collect::<Vec<_>>())
        .bind(done.iter().map(|done| done.entry.after).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("repairs", &inserted, done.len())
}

#[derive(sqlx::FromRow)]
struct FactsRow {
    sku: String,
    warehouse: String,
    on_hand: Option<i64>,
    reserved: Option<i64>,
    version: Option<i64>,
    lines: i64,
    steps: i64,
    movements: i64,
}

impl FactsRow {
    fn read(self) -> (StockKey, RowFacts) {
        let figures = self.on_hand.zip(self.reserved).zip(self.version);
        let stock = figures.map(|((on_hand, reserved), version)| Stock { on_hand, reserved, version });
        let facts = RowFacts { stock, lines: self.lines, steps: self.steps, movements: self.movements };
        (key(&self.sku, &self.warehouse), facts)
    }
}
