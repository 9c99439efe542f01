//! `lastunit bench`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::{Exit, Stop, print};
use crate::bench::{self, Extent};
use crate::config::Settings;
use crate::dev::Binaries;

/// How much to measure, and where to put it.
#[derive(Debug, Args)]
pub struct Bench {
    /// Orders of each throughput measurement.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(100..=5_000_000))]
    orders: u32,
    /// Seconds of each measurement of the naive rate and of latency.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Write the figures as JSON to this file too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON document instead of the table.
    #[arg(long)]
    json: bool,
}

pub async fn run(args: Bench, settings: &Settings) -> Result<Exit, Stop> {
    let dev = &settings.dev;
    let binaries = Binaries::find(dev.postgres_bin.as_deref(), dev.nats_server.as_deref()).map_err(Stop::Misuse)?;
    let program = std::env::current_exe().context("this program's own file")?;
    let extent = Extent { orders: args.orders as usize, seconds: args.seconds };
    let report = Box::pin(bench::run(&binaries, &program, extent, |step| print::note(format!("{step} …")))).await?;
    let document = serde_json::to_string_pretty(&report.to_json()).context("figures as JSON")?;
    if let Some(out) = &args.out {
        std::fs::write(out, &document).with_context(|| format!("{}", out.display()))?;
    }
    if args.json {
        print::text(document)?;
    } else {
        print::text(report)?;
    }
    Ok(Exit::Fine)
}
