//! Opening figures: what lay on the shelves when this program took over.
//!
//! A row is opened once, with a movement that says so. The same opening again changes nothing, whatever was sold since; another one is a bad
//! row, because what is on a shelf by now is for a stock-take to say.

use sqlx::PgConnection;

use super::rows::Field;
use super::{BadRows, FileFault, Report, Rows};
use crate::domain::{Movement, MovementKind, Qty, Sku, Stock, StockKey, Warehouse};
use crate::engine::tell_figures;
use crate::store::{StoreError, journal, stock};

/// How many rows are judged, written and told at once: as many as a batch of messages may bring.
const CHUNK: usize = 2_000;
/// The most units that a shelf may open with.
const MAX_ON_HAND: Qty = 1_000_000_000;

/// The columns of a file.
pub const COLUMNS: [&str; 3] = ["sku", "warehouse", "on_hand"];

/// A row of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Which row of stock.
    pub key: StockKey,
    /// Units on the shelf, 0 to 1,000,000,000.
    pub on_hand: Qty,
}

/// Reads a file: `sku,warehouse,on_hand`. The rows come sorted by key, the order in which rows are written everywhere.
///
/// # Errors
/// It has other columns, or is no CSV.
pub fn read(file: &[u8]) -> Result<Rows<Opening>, FileFault> {
    let parse = |[sku, warehouse, on_hand]: [Field<'_>; 3]| {
        let key = StockKey { sku: sku.name(Sku::new)?, warehouse: warehouse.name(Warehouse::new)? };
        Ok(Opening { key, on_hand: on_hand.whole(0..=MAX_ON_HAND)? })
    };
    let rows = Rows::read(file, COLUMNS, parse)?;
    let mut rows = rows.once("this sku in this warehouse", |opening| opening.key.clone());
    rows.good.sort_by(|(_, left), (_, right)| left.key.cmp(&right.key));
    Ok(rows)
}

/// Judges the rows against the tables, and opens those that are new. Nothing is locked that exists: an opening never changes.
///
/// # Errors
/// The database's own, and a conflict where somebody else made a row meanwhile.
pub async fn take(
    connection: &mut PgConnection,
    rows: &Rows<Opening>,
    bad_rows: BadRows,
) -> Result<Report, StoreError> {
    let mut report = Report { bad: rows.bad.clone(), ..Report::default() };
    let mut new = Vec::with_capacity(rows.good.len());
    for chunk in rows.good.chunks(CHUNK) {
        new.extend(judge(connection, chunk, &mut report).await?);
    }
    if report.allows(bad_rows) {
        for chunk in new.chunks(CHUNK) {
            open(connection, chunk).await?;
        }
        report.taken = new.len();
    }
    Ok(report)
}

/// Those that are new.
async fn judge<'a>(
    connection: &mut PgConnection,
    chunk: &'a [(usize, Opening)],
    report: &mut Report,
) -> Result<Vec<&'a Opening>, StoreError> {
    let keys: Vec<&StockKey> = chunk.iter().map(|(_, opening)| &opening.key).collect();
    let openings = stock::openings(connection, &keys).await?;
    let mut new = Vec::new();
    for (line, opening) in chunk {
        match openings.get(&opening.key) {
            None => new.push(opening),
            Some(opened) if *opened == opening.on_hand => report.unchanged += 1,
            Some(opened) => report.refuse(
                *line,
                format!(
                    "{} in {} is there already, opened with {opened} and not {}: a stock-take says what is there now",
                    opening.key.sku, opening.key.warehouse, opening.on_hand
                ),
            ),
        }
    }
    Ok(new)
}

async fn open(connection: &mut PgConnection, chunk: &[&Opening]) -> Result<(), StoreError> {
    let figures: Vec<(StockKey, Stock)> = chunk
        .iter()
        .map(|opening| (opening.key.clone(), Stock { on_hand: opening.on_hand, reserved: 0, version: 1 }))
        .collect();
    let movements: Vec<Movement> = chunk
        .iter()
        .filter(|opening| opening.on_hand > 0)
        .map(|opening| Movement {
            key: opening.key.clone(),
            delta: opening.on_hand,
            kind: MovementKind::Opening,
            event_id: None,
        })
        .collect();
    let now = stock::open_many(connection, &figures).await?;
    journal::insert_movements(connection, &movements, now).await?;
    tell_figures(connection, &figures, now).await
}
