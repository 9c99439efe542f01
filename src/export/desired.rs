//! What a channel should show, as a file for the marketplace's cabinet: the way out when its interface is down.

use std::io;

use futures::{StreamExt, TryStreamExt};
use rust_xlsxwriter::{Workbook, Worksheet, XlsxError};
use sqlx::PgConnection;

use super::{ExportError, write};
use crate::config::{ChannelKind, ChannelSettings};
use crate::domain::Qty;
use crate::store::exported::{self, DesiredRow};

/// The columns: what the channel calls the item and the warehouse, how many, and what they are here.
pub const COLUMNS: [&str; 6] = ["external_id", "external_warehouse_id", "qty", "sku", "warehouse", "version"];
/// The rows of a sheet, the header among them (Excel's limit).
const SHEET_ROWS: u32 = 1_048_576;

/// What kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// An Excel workbook of one sheet. Ids are texts in it, so that none becomes 1.2E+13.
    Xlsx,
}

/// A channel that is to show something.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Its name.
    pub channel: &'a str,
    /// Its settings.
    pub settings: &'a ChannelSettings,
}

/// The largest number that a channel takes: [`Ozon`](ChannelKind::Ozon) refuses a million and more (`STOCK_TOO_BIG`),
/// [`Wildberries`](ChannelKind::Wildberries) documents 100,000 as its maximum.
pub fn max_qty(kind: ChannelKind) -> Qty {
    match kind {
        ChannelKind::Ozon => 999_999,
        ChannelKind::Wildberries => 100_000,
        ChannelKind::Webhook => Qty::MAX,
    }
}

/// Writes the file, and returns how many rows it has.
///
/// # Errors
/// The database's own, the writer's, or more rows than a sheet has.
pub async fn write_desired(
    snapshot: &mut PgConnection,
    shown: Shown<'_>,
    format: Format,
    out: impl io::Write + Send,
) -> Result<u64, ExportError> {
    let Shown { channel, settings } = shown;
    let rows = exported::desired(snapshot, channel, settings.safety_stock.into(), max_qty(settings.kind));
    match format {
        Format::Csv => write(rows.boxed(), &COLUMNS, fields, out).await,
        Format::Xlsx => write_sheet(rows.boxed(), out).await,
    }
}

fn fields(row: DesiredRow) -> [String; 6] {
    let (external_id, external_warehouse_id, qty, sku, warehouse, version) = row;
    [external_id, external_warehouse_id, qty.to_string(), sku, warehouse, version.to_string()]
}

async fn write_sheet(
    mut rows: futures::stream::BoxStream<'_, Result<DesiredRow, crate::store::StoreError>>,
    out: impl io::Write,
) -> Result<u64, ExportError> {
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    for (column, name) in (0..).zip(COLUMNS) {
        sheet.write_string(0, column, name).map_err(unwritten)?;
    }
    let mut row = 0;
    while let Some(point) = rows.try_next().await? {
        row += 1;
        if row == SHEET_ROWS {
            let full = format!("a sheet has {} rows below its header: --format csv has no such bound", SHEET_ROWS - 1);
            return Err(io::Error::other(full).into());
        }
        write_point(sheet, row, &point).map_err(unwritten)?;
    }
    // Written to memory first: a workbook is a ZIP archive, whose writer goes back in it.
    let bytes = workbook.save_to_buffer().map_err(unwritten)?;
    let mut out = out;
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(row.into())
}

#[allow(clippy::cast_precision_loss, reason = "a sheet holds numbers as f64; units and versions are far below 2^53")]
fn write_point(sheet: &mut Worksheet, row: u32, point: &DesiredRow) -> Result<(), XlsxError> {
    let (external_id, external_warehouse_id, qty, sku, warehouse, version) = point;
    sheet
        .write_string(row, 0, external_id)?
        .write_string(row, 1, external_warehouse_id)?
        .write_number(row, 2, *qty as f64)?
        .write_string(row, 3, sku)?
        .write_string(row, 4, warehouse)?
        .write_number(row, 5, *version as f64)?;
    Ok(())
}

fn unwritten(error: XlsxError) -> io::Error {
    match error {
        XlsxError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
