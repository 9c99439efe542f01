//! `lastunit compare FILE.csv`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use sqlx::Connection as _;

use super::{Exit, Stop, database, import, print};
use crate::config::Settings;
use crate::import::FileFault;
use crate::import::compare::{self, Comparison, Difference, Theirs};
use crate::store::{Pool, StoreError, compared};

/// What another system says, beside what stands here; ends with 1 where they differ.
#[derive(Debug, Args)]
pub struct Compare {
    /// `sku,warehouse,available`, or `channel,order_ref,expires_at`; the first line says which.
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// How far two ends of a hold may be apart and still be the same, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    within_s: u32,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Ends with 1 where a row differs or cannot be compared.
pub async fn run(command: Compare, settings: &Settings) -> Result<Exit, Stop> {
    let file = import::read(&command.file).map_err(Stop::Misuse)?;
    let unreadable = |fault: FileFault| Stop::Misuse(anyhow!(fault).context(command.file.display().to_string()));
    let theirs = compare::read(&file).map_err(unreadable)?;
    let pool = database::open(&settings.database).await?;
    let within = Duration::from_secs(command.within_s.into());
    let comparison = ask(&pool, &theirs, within).await.map_err(database::stop)?;
    print(&comparison, command.json)?;
    Ok(if comparison.different.is_empty() && comparison.bad.is_empty() { Exit::Fine } else { Exit::Found })
}

/// All of one instant, so that no row is compared with what another became meanwhile.
async fn ask(pool: &Pool, theirs: &Theirs, within: Duration) -> Result<Comparison, StoreError> {
    let mut connection = pool.acquire().await?;
    let mut snapshot = connection.begin_with(compared::SNAPSHOT).await?;
    compare::compare(&mut snapshot, theirs, within).await
}

fn print(comparison: &Comparison, json: bool) -> anyhow::Result<()> {
    if json {
        return print::document(comparison);
    }
    let Comparison { compared, different, bad } = comparison;
    for bad in bad {
        print::line(format!("line {}: {}", bad.line, bad.reason))?;
    }
    for difference in different {
        print::line(sentence(difference))?;
    }
    print::line(format!("{compared} compared, {} different, {} bad", different.len(), bad.len()))
}

fn sentence(difference: &Difference) -> String {
    match difference {
        Difference::Availability { line, sku, warehouse, theirs, ours } => {
            let ours = ours.map_or_else(|| "no row of stock".to_owned(), |units| units.to_string());
            format!("line {line}: {sku} in {warehouse}: {theirs} there, {ours} here")
        }
        Difference::Expiry { line, channel, order_ref, theirs, ours, state } => {
            let end = |end: &Option<_>, none: &str| end.map_or_else(|| none.to_owned(), |end| format!("until {end}"));
            let here = state.map_or_else(|| "no order".to_owned(), |state| end(ours, state));
            format!("line {line}: {order_ref} of {channel}: {} there, {here} here", end(theirs, "not held"))
        }
    }
}
