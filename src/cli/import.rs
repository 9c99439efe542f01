//! `lastunit import stock|mappings|warehouses|resources|reservations FILE.csv`, `lastunit import observed FILE --channel C`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};

use super::observed::{self, Observed};
use super::{Exit, Stop, database, print};
use crate::config::Settings;
use crate::import::{
    BadRows, FileFault, MAX_BYTES, Report, in_transaction, mappings, reservations, resources, stock, warehouses,
};
use crate::store::Pool;

/// What is in the file.
#[derive(Debug, Subcommand)]
pub enum Import {
    /// Rows of a table.
    #[command(flatten)]
    Rows(OfRows),
    /// What a marketplace's cabinet shows: `external_id,external_warehouse_id,qty`, held against what it had been told.
    Observed(Observed),
}

/// Rows of which table.
#[derive(Debug, Subcommand)]
pub enum OfRows {
    /// Opening figures of stock: `sku,warehouse,on_hand`.
    Stock(Source),
    /// What channels call SKUs: `sku,channel,external_id`.
    Mappings(Source),
    /// From which warehouses channels are served: `warehouse,channel,external_warehouse_id,priority,safety_stock`.
    Warehouses(Source),
    /// What has slots: `resource,name`.
    Resources(Source),
    /// Orders that are under way: `channel,order_ref,sku,warehouse,qty,state,expires_at`.
    Reservations(Source),
}

/// Where the rows are, and how they are taken.
#[derive(Debug, Args)]
pub struct Source {
    /// A CSV file in UTF-8 whose first line names the columns.
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// Take the good rows of a file that has bad ones.
    #[arg(long)]
    skip_bad: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Ends with 1 where a row is bad, taken the others or not.
pub async fn run(command: Import, settings: &Settings) -> Result<Exit, Stop> {
    match command {
        Import::Rows(command) => rows(command, settings).await,
        Import::Observed(asks) => observed::run(&asks, settings).await,
    }
}

async fn rows(command: OfRows, settings: &Settings) -> Result<Exit, Stop> {
    let (OfRows::Stock(source)
    | OfRows::Mappings(source)
    | OfRows::Warehouses(source)
    | OfRows::Resources(source)
    | OfRows::Reservations(source)) = &command;
    let file = read(&source.file).map_err(Stop::Misuse)?;
    let unreadable = |fault: FileFault| Stop::Misuse(anyhow!(fault).context(source.file.display().to_string()));
    let bad_rows = source.bad_rows();
    let taken = match &command {
        OfRows::Stock(_) => {
            let rows = stock::read(&file).map_err(unreadable)?;
            let pool = open(settings).await?;
            in_transaction(&pool, bad_rows, async |connection| stock::take(connection, &rows, bad_rows).await).await
        }
        OfRows::Mappings(_) => {
            let rows = mappings::read(&file, &settings.channels).map_err(unreadable)?;
            let pool = open(settings).await?;
            in_transaction(&pool, bad_rows, async |connection| mappings::take(connection, &rows, bad_rows).await).await
        }
        OfRows::Warehouses(_) => {
            let rows = warehouses::read(&file).map_err(unreadable)?;
            let pool = open(settings).await?;
            in_transaction(&pool, bad_rows, async |connection| warehouses::take(connection, &rows, bad_rows).await)
                .await
        }
        OfRows::Resources(_) => {
            let rows = resources::read(&file).map_err(unreadable)?;
            let pool = open(settings).await?;
            in_transaction(&pool, bad_rows, async |connection| resources::take(connection, &rows, bad_rows).await).await
        }
        OfRows::Reservations(_) => {
            let orders = reservations::read(&file).map_err(unreadable)?;
            let pool = open(settings).await?;
            in_transaction(&pool, bad_rows, async |connection| reservations::take(connection, &orders, bad_rows).await)
                .await
        }
    };
    let report = taken.map_err(database::stop)?;
    source.print(&report)?;
    Ok(if report.bad.is_empty() { Exit::Fine } else { Exit::Found })
}

async fn open(settings: &Settings) -> Result<Pool, Stop> {
    database::open(&settings.database).await
}

impl Source {
    fn bad_rows(&self) -> BadRows {
        if self.skip_bad { BadRows::Skip } else { BadRows::Refuse }
    }

    fn print(&self, report: &Report) -> anyhow::Result<()> {
        if self.json {
            return print::document(report);
        }
        let Report { taken, unchanged, bad } = report;
        for bad in bad {
            print::line(format!("line {}: {}", bad.line, bad.reason))?;
        }
        if bad.is_empty() || self.skip_bad {
            print::line(format!("{taken} taken, {unchanged} unchanged, {} bad", bad.len()))
        } else {
            print::line(format!("nothing taken: {} bad (--skip-bad takes the others)", bad.len()))
        }
    }
}

/// The whole file, if it is not too large.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .with_context(|| path.display().to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(anyhow!("{} is larger than {} MiB: split it", path.display(), MAX_BYTES >> 20));
    }
    Ok(bytes)
}
