//! The command line: one file a subcommand, and what all of them share: how a command ends.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::Settings;

mod audit;
mod bench;
mod channels;
mod compare;
mod config;
pub(crate) mod database;
mod dead_letters;
mod desired;
mod dev;
mod explain;
mod export;
mod import;
mod locks;
mod market;
mod migrate;
mod moment;
mod observed;
mod print;
mod publisher;
mod reconcile;
mod recover;
mod replay;
mod report;
mod reviews;
mod run;
mod story;
mod streams;

/// How a command that did its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Fine: exit code 0.
    Fine,
    /// The check failed, or something was found (or not found): exit code 1.
    Found,
}

/// Why a command could not do its work. Printed once, as one sentence with its causes, to standard error.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// It went wrong on the way: exit code 1.
    #[error("{0:#}")]
    Failed(anyhow::Error),
    /// Wrong use or configuration, an unmigrated database, a stream shaped otherwise: exit code 2.
    #[error("{0:#}")]
    Misuse(anyhow::Error),
    /// A dependency cannot be reached: exit code 3.
    #[error("{0:#}")]
    Unreachable(anyhow::Error),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

#[derive(Debug, Parser)]
#[command(name = "lastunit", version, about = "Makes sure the last unit on the shelf is sold once.")]
struct Cli {
    /// The configuration file; `lastunit.toml` of the working directory, if there is one, when not given.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service until SIGTERM.
    Run,
    /// Run the service on a PostgreSQL and a NATS of its own, started here and ended with it.
    Dev(dev::Dev),
    /// Apply pending migrations to the database.
    Migrate,
    /// Check the invariants of tables and streams; ends with 1 where something was found.
    Audit(audit::Audit),
    /// Say why: the whole story of an order, or the figures of a shelf at a moment.
    Explain(explain::Explain),
    /// Measure on private servers: throughput beside one transaction per order, latency, statements per batch.
    Bench(bench::Bench),
    /// After the database went back in time: rewind the consumers, raise the versions, say what cannot be known.
    Recover(recover::Recover),
    /// Show or apply the topology: streams and durable consumers.
    #[command(subcommand)]
    Streams(streams::Streams),
    /// Take over what another system has, out of a CSV file.
    #[command(subcommand)]
    Import(import::Import),
    /// Write what stands here into the CSV files that the imports take.
    #[command(subcommand)]
    Export(export::Export),
    /// Hold what another system says against what stands here; ends with 1 where they differ.
    Compare(compare::Compare),
    /// List, show or replay messages that could not be processed.
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLetters),
    /// List, show or resolve what a person must look at.
    #[command(subcommand)]
    Reviews(reviews::Reviews),
    /// Say who holds or waits for which stock row.
    Locks(locks::Locks),
    /// Stop a channel's publisher or let it go on, say how it is, and ask the channel what it knows.
    #[command(subcommand)]
    Publisher(publisher::Publisher),
    /// Tell again what was told since an instant: the broker has lost it.
    Replay(replay::Replay),
    /// Reports that a shop decides by.
    #[command(subcommand)]
    Report(report::Report),
    /// Play a story on real messages and show what is told.
    #[command(hide = true)]
    Story,
    /// Judge or show the configuration.
    #[command(subcommand)]
    Config(config::Config),
}

/// Parses the command line, runs the command and tells how it ended.
pub fn main() -> ExitCode {
    let _failpoints = fail::FailScenario::setup();
    let cli = Cli::parse();
    match dispatch(cli) {
        Ok(Exit::Fine) => ExitCode::SUCCESS,
        Ok(Exit::Found) => ExitCode::from(1),
        Err(stop) => {
            if !print::is_unread(&stop) {
                print::note(format!("lastunit: {stop}"));
            }
            ExitCode::from(match stop {
                Stop::Failed(_) => 1,
                Stop::Misuse(_) => 2,
                Stop::Unreachable(_) => 3,
            })
        }
    }
}

fn dispatch(cli: Cli) -> Result<Exit, Stop> {
    let settings = Settings::load(cli.config.as_deref()).map_err(|error| Stop::Misuse(error.into()))?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Stop::Failed(error.into()))?;
    runtime.block_on(async {
        match cli.command {
            Command::Run => run::run(settings).await,
            Command::Dev(command) => Box::pin(dev::run(command, settings)).await,
            Command::Migrate => migrate::run(&settings).await,
            Command::Audit(command) => Box::pin(audit::run(&command, &settings)).await,
            Command::Explain(command) => Box::pin(explain::run(command, &settings)).await,
            Command::Bench(args) => Box::pin(bench::run(args, &settings)).await,
            Command::Recover(command) => Box::pin(recover::run(command, &settings)).await,
            Command::Streams(command) => streams::run(command, &settings).await,
            Command::Import(command) => import::run(command, &settings).await,
            Command::Export(command) => Box::pin(export::run(command, &settings)).await,
            Command::Compare(command) => compare::run(command, &settings).await,
            Command::DeadLetters(command) => dead_letters::run(command, &settings).await,
            Command::Locks(command) => locks::run(&command, &settings).await,
            Command::Reviews(command) => Box::pin(reviews::run(command, &settings)).await,
            Command::Publisher(command) => Box::pin(publisher::run(command, &settings)).await,
            Command::Replay(replay) => Box::pin(replay::run(replay, &settings)).await,
            Command::Report(command) => Box::pin(report::run(command, &settings)).await,
            Command::Story => story::run(&settings).await,
            Command::Config(command) => config::run(command, &settings),
        }
    })
}
