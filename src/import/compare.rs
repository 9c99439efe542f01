//! Another system's figures beside the ones here, for a shadow run. Nothing is changed, nothing locked.

use std::time::Duration;

use serde::Serialize;
use sqlx::PgConnection;

use super::rows::Field;
use super::{BadRow, FileFault, Rows};
use crate::domain::{Channel, OrderKey, OrderRef, OrderState, Qty, Sku, StockKey, Timestamp, Warehouse};
use crate::messages::{WireTime, parse_instant};
use crate::store::{StoreError, compared};

/// How many rows are looked up at once.
const CHUNK: usize = 2_000;
/// The most units that are compared, and the most that another system may have sold too many.
const MAX_UNITS: Qty = 1_000_000_000;

/// What another system says is available.
#[derive(Debug)]
pub struct Available {
    key: StockKey,
    units: Qty,
}

/// When another system says an order's hold ends; none where it is not held.
#[derive(Debug)]
pub struct Ends {
    key: OrderKey,
    at: Option<Timestamp>,
}

/// A file's rows, by its header.
#[derive(Debug)]
pub enum Theirs {
    /// `sku,warehouse,available`.
    Availability(Rows<Available>),
    /// `channel,order_ref,expires_at`.
    Expiry(Rows<Ends>),
}

/// A row that says something else than the tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Difference {
    /// Of what is available.
    Availability {
        /// Its line in the file, the header's being 1.
        line: usize,
        /// What.
        sku: String,
        /// Where.
        warehouse: String,
        /// Units by the file; below 0 where more was sold than there was.
        theirs: Qty,
        /// Units here; none where there is no row.
        ours: Option<Qty>,
    },
    /// Of when a hold ends.
    Expiry {
        /// Its line in the file, the header's being 1.
        line: usize,
        /// The order's channel.
        channel: String,
        /// Its name there.
        order_ref: String,
        /// The end by the file; none where it says that nothing is held.
        theirs: Option<WireTime>,
        /// The end here; none where nothing is held.
        ours: Option<WireTime>,
        /// How the order stands here; none where it is not there.
        state: Option<&'static str>,
    },
}

/// What a comparison found.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Rows that were compared.
    pub compared: usize,
    /// Those that differ, in the file's order.
    pub different: Vec<Difference>,
    /// Rows that cannot be compared.
    pub bad: Vec<BadRow>,
}

/// Reads a file of either kind: `sku,warehouse,available`, or `channel,order_ref,expires_at`, the last of which may be empty: not held.
///
/// # Errors
/// It has neither header, or is no CSV.
pub fn read(file: &[u8]) -> Result<Theirs, FileFault> {
    match availability(file) {
        Ok(rows) => Ok(Theirs::Availability(rows)),
        Err(FileFault::Header { found, wanted }) => match expiry(file) {
            Err(FileFault::Header { wanted: or, .. }) => {
                Err(FileFault::Header { found, wanted: format!("{wanted} or {or}") })
            }
            rows => rows.map(Theirs::Expiry),
        },
        Err(fault) => Err(fault),
    }
}

fn availability(file: &[u8]) -> Result<Rows<Available>, FileFault> {
    let parse = |[sku, warehouse, available]: [Field<'_>; 3]| {
        let key = StockKey { sku: sku.name(Sku::new)?, warehouse: warehouse.name(Warehouse::new)? };
        Ok(Available { key, units: available.whole(-MAX_UNITS..=MAX_UNITS)? })
    };
    let rows = Rows::read(file, ["sku", "warehouse", "available"], parse)?;
    Ok(rows.once("this sku in this warehouse", |row| row.key.clone()))
}

fn expiry(file: &[u8]) -> Result<Rows<Ends>, FileFault> {
    let parse = |[channel, order_ref, expires_at]: [Field<'_>; 3]| {
        let key = OrderKey { channel: channel.name(Channel::new)?, order_ref: order_ref.name(OrderRef::new)? };
        let read = |field: Field<'_>| field.read("empty or an instant such as 2027-01-01T10:00:00Z", parse_instant);
        Ok(Ends { key, at: expires_at.given().map(read).transpose()? })
    };
    let rows = Rows::read(file, ["channel", "order_ref", "expires_at"], parse)?;
    Ok(rows.once("this order", |row| row.key.clone()))
}

/// Looks up what stands here beside every row. Ends of holds are the same that are at most `within` apart: no two systems hold an order from
/// the same instant on.
///
/// # Errors
/// The database's own.
pub async fn compare(
    connection: &mut PgConnection,
    theirs: &Theirs,
    within: Duration,
) -> Result<Comparison, StoreError> {
    match theirs {
        Theirs::Availability(rows) => compare_availability(connection, rows).await,
        Theirs::Expiry(rows) => compare_expiry(connection, rows, within).await,
    }
}

async fn compare_availability(connection: &mut PgConnection, rows: &Rows<Available>) -> Result<Comparison, StoreError> {
    let mut comparison = Comparison { compared: rows.good.len(), bad: in_order(&rows.bad), ..Comparison::default() };
    for chunk in rows.good.chunks(CHUNK) {
        let keys: Vec<&StockKey> = chunk.iter().map(|(_, row)| &row.key).collect();
        let ours = compared::availability(connection, &keys).await?;
        comparison.different.extend(chunk.iter().filter_map(|(line, row)| {
            let ours = ours.get(&row.key).copied();
            (ours != Some(row.units)).then(|| Difference::Availability {
                line: *line,
                sku: row.key.sku.as_str().to_owned(),
                warehouse: row.key.warehouse.as_str().to_owned(),
                theirs: row.units,
                ours,
            })
        }));
    }
    Ok(comparison)
}

async fn compare_expiry(
    connection: &mut PgConnection,
    rows: &Rows<Ends>,
    within: Duration,
) -> Result<Comparison, StoreError> {
    let mut comparison = Comparison { compared: rows.good.len(), bad: in_order(&rows.bad), ..Comparison::default() };
    for chunk in rows.good.chunks(CHUNK) {
        let keys: Vec<&OrderKey> = chunk.iter().map(|(_, row)| &row.key).collect();
        let standing = compared::expiry(connection, &keys).await?;
        comparison.different.extend(chunk.iter().filter_map(|(line, row)| {
            let order = standing.get(&row.key).copied();
            let ours = order.and_then(|(_, end)| end);
            (!same_end(row.at, order, within)).then(|| Difference::Expiry {
                line: *line,
                channel: row.key.channel.as_str().to_owned(),
                order_ref: row.key.order_ref.as_str().to_owned(),
                theirs: row.at.map(WireTime),
                ours: ours.map(WireTime),
                state: order.map(|(state, _)| state.word()),
            })
        }));
    }
    Ok(comparison)
}

/// An order that is not there differs from whatever is said of it.
fn same_end(theirs: Option<Timestamp>, ours: Option<(OrderState, Option<Timestamp>)>, within: Duration) -> bool {
    match (theirs, ours) {
        (_, None) | (Some(_), Some((_, None))) | (None, Some((_, Some(_)))) => false,
        (None, Some((_, None))) => true,
        (Some(theirs), Some((_, Some(ours)))) => (theirs - ours).unsigned_abs() <= within,
    }
}

fn in_order(bad: &[BadRow]) -> Vec<BadRow> {
    let mut bad = bad.to_vec();
    bad.sort_by_key(|bad| bad.line);
    bad
}
