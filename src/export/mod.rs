//! What stands here as CSV files: those that the imports take, so that another system, or another database of this one, can take over.
//!
//! Rows are handed on as they come, however many there are. All of an export is read in one snapshot, and nothing is locked.

mod desired;
mod whole;

use std::io;

use futures::StreamExt;
use futures::stream::BoxStream;
use sqlx::PgConnection;

pub use crate::store::exported::Slots;
pub use desired::{Format, Shown, max_qty, write_desired};
pub use whole::Whole;

use crate::domain::Timestamp;
use crate::import::{mappings, reservations, resources, stock, warehouses};
use crate::messages::WireTime;
use crate::store::{StoreError, exported};

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What lies on each shelf, reserved units included.
    Stock,
    /// What channels call SKUs.
    Mappings,
    /// From which warehouses channels are served.
    Warehouses,
    /// What has slots.
    Resources,
    /// The units of orders that are under way. Slots have no place in it: [`exported::slots`] counts them.
    Reservations,
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The database's own.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file, or whoever reads it, takes no more.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl Kind {
    /// Every kind, in the order in which the imports want them.
    pub const ALL: [Self; 5] = [Self::Stock, Self::Mappings, Self::Warehouses, Self::Resources, Self::Reservations];

    /// The name of its file.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Stock => "stock.csv",
            Self::Mappings => "mappings.csv",
            Self::Warehouses => "warehouses.csv",
            Self::Resources => "resources.csv",
            Self::Reservations => "reservations.csv",
        }
    }

    /// Writes a file with its header, and returns how many rows it has.
    ///
    /// # Errors
    /// The database's own, or the writer's.
    pub async fn write(self, snapshot: &mut PgConnection, out: impl io::Write) -> Result<u64, ExportError> {
        match self {
            Self::Stock => write(exported::stock(snapshot), &stock::COLUMNS, stock_fields, out).await,
            Self::Mappings => write(exported::mappings(snapshot), &mappings::COLUMNS, item_fields, out).await,
            Self::Warehouses => write(exported::warehouses(snapshot), &warehouses::COLUMNS, map_fields, out).await,
            Self::Resources => write(exported::resources(snapshot), &resources::COLUMNS, resource_fields, out).await,
            Self::Reservations => write(exported::lines(snapshot), &reservations::COLUMNS, line_fields, out).await,
        }
    }
}

async fn write<R, const N: usize>(
    mut rows: BoxStream<'_, Result<R, StoreError>>,
    columns: &[&str; N],
    fields: impl Fn(R) -> [String; N],
    out: impl io::Write,
) -> Result<u64, ExportError> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(columns).map_err(unwritten)?;
    let mut count = 0;
    while let Some(row) = rows.next().await {
        writer.write_record(fields(row?)).map_err(unwritten)?;
        count += 1;
    }
    writer.flush()?;
    Ok(count)
}

/// What the writer said, as it said it: whether nobody reads any more is asked of its kind.
fn unwritten(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn stock_fields((sku, warehouse, on_hand): exported::StockRow) -> [String; 3] {
    [sku, warehouse, on_hand.to_string()]
}

fn item_fields((sku, channel, external_id): exported::ItemRow) -> [String; 3] {
    [sku, channel, external_id]
}

fn map_fields((warehouse, channel, external_id, priority, safety_stock): exported::MapRow) -> [String; 5] {
    [
        warehouse,
        channel,
        external_id.unwrap_or_default(),
        priority.to_string(),
        safety_stock.map(|units| units.to_string()).unwrap_or_default(),
    ]
}

fn resource_fields((resource, name): exported::ResourceRow) -> [String; 2] {
    [resource, name.unwrap_or_default()]
}

fn line_fields(row: exported::LineRow) -> [String; 7] {
    let (channel, order_ref, sku, warehouse, qty, state, expires_at) = row;
    let end = expires_at.map(|end: Timestamp| WireTime(end).to_string()).unwrap_or_default();
    [channel, order_ref, sku, warehouse, qty.to_string(), state, end]
}
