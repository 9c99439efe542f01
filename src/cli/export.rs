//! `lastunit export stock|mappings|warehouses|resources|reservations [--out FILE]`, `lastunit export all --dir DIR`, `lastunit export desired --channel C`.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use sqlx::PgConnection;

use super::desired::Desired;
use super::{Exit, Stop, channels, database, print};
use crate::audit::Interrupted;
use crate::config::Settings;
use crate::export::{ExportError, Kind, Slots, Whole};
use crate::store::{audit as snapshot, exported, pool};

/// What to write.
#[derive(Debug, Subcommand)]
pub enum Export {
    /// What lies on each shelf: `sku,warehouse,on_hand`.
    Stock(Target),
    /// What channels call SKUs: `sku,channel,external_id`.
    Mappings(Target),
    /// From which warehouses channels are served: `warehouse,channel,external_warehouse_id,priority,safety_stock`.
    Warehouses(Target),
    /// What has slots: `resource,name`.
    Resources(Target),
    /// Orders that are under way: `channel,order_ref,sku,warehouse,qty,state,expires_at`. Ends with 1 where slots are under way too.
    Reservations(Target),
    /// What a channel should show, for the marketplace's cabinet: `external_id,external_warehouse_id,qty,sku,warehouse,version`.
    Desired(Desired),
    /// All five files, of one instant.
    All(Directory),
}

/// Where one file goes.
#[derive(Debug, Args)]
pub struct Target {
    /// The file, written whole or not at all; without it, standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Where all files go.
#[derive(Debug, Args)]
pub struct Directory {
    /// The directory, made if it is not there, for stock.csv, mappings.csv, warehouses.csv, resources.csv and reservations.csv: all of them or none.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

/// Ends with 1 where something that is under way has no place in the files.
pub async fn run(command: Export, settings: &Settings) -> Result<Exit, Stop> {
    if let Export::Desired(asks) = &command {
        // Judged before anything is asked: a channel that is not there needs no database.
        channels::named(settings, asks.channel())?;
    }
    drop(database::open(&settings.database).await?);
    let mut session = pool::session(&settings.database).await.map_err(|error| Interrupted::from(error).stop())?;
    let mut snapshot = snapshot::begin(&mut session).await.map_err(database::stop)?;
    let kinds = match command {
        Export::Stock(target) => one(Kind::Stock, &target, &mut snapshot).await?,
        Export::Mappings(target) => one(Kind::Mappings, &target, &mut snapshot).await?,
        Export::Warehouses(target) => one(Kind::Warehouses, &target, &mut snapshot).await?,
        Export::Resources(target) => one(Kind::Resources, &target, &mut snapshot).await?,
        Export::Reservations(target) => one(Kind::Reservations, &target, &mut snapshot).await?,
        Export::All(target) => all(&target.dir, &mut snapshot).await?,
        Export::Desired(asks) => {
            asks.write(settings, &mut snapshot).await?;
            Vec::new()
        }
    };
    if !kinds.contains(&Kind::Reservations) {
        return Ok(Exit::Fine);
    }
    Ok(say_what_is_missing(exported::slots(&mut snapshot).await.map_err(database::stop)?))
}

/// Writes one file, and returns of which kind.
async fn one(kind: Kind, target: &Target, snapshot: &mut PgConnection) -> Result<Vec<Kind>, Stop> {
    if let Some(path) = &target.out {
        write_all(&[(kind, path.clone())], snapshot).await?;
    } else {
        kind.write(snapshot, BufWriter::new(io::stdout().lock())).await.map_err(|error| match error {
            ExportError::Store(error) => database::stop(error),
            ExportError::Write(error) => Stop::Failed(print::unprinted(error)),
        })?;
    }
    Ok(vec![kind])
}

/// Writes all files, and returns of which kinds.
async fn all(dir: &Path, snapshot: &mut PgConnection) -> Result<Vec<Kind>, Stop> {
    fs::create_dir_all(dir).with_context(|| dir.display().to_string()).map_err(Stop::Misuse)?;
    write_all(&Kind::ALL.map(|kind| (kind, dir.join(kind.file_name()))), snapshot).await?;
    Ok(Kind::ALL.to_vec())
}

/// Writes every file before it puts the first in its place.
async fn write_all(files: &[(Kind, PathBuf)], snapshot: &mut PgConnection) -> Result<(), Stop> {
    let mut written = Vec::with_capacity(files.len());
    for (kind, path) in files {
        let mut whole = Whole::begin(path).with_context(|| path.display().to_string()).map_err(Stop::Misuse)?;
        let rows = kind.write(snapshot, whole.writer()).await.map_err(|error| match error {
            ExportError::Store(error) => database::stop(error),
            ExportError::Write(error) => unwritten(error, path),
        })?;
        written.push((whole, path, rows));
    }
    let mut said = String::new();
    for (whole, path, rows) in written {
        whole.finish().map_err(|error| unwritten(error, path))?;
        writeln!(said, "{}: {rows} rows", path.display()).expect("a string takes all");
    }
    Ok(print::text(said)?)
}

pub(super) fn unwritten(error: io::Error, path: &Path) -> Stop {
    Stop::Failed(anyhow!(error).context(path.display().to_string()))
}

fn say_what_is_missing(Slots { slots, orders }: Slots) -> Exit {
    if slots == 0 {
        return Exit::Fine;
    }
    print::note(format!(
        "lastunit: slots have no place in the file: {slots} slots of {orders} orders under way are not in it"
    ));
    Exit::Found
}
