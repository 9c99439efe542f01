//! `lastunit report`.

use std::sync::Arc;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::Value;
use sqlx::PgConnection;

use super::moment::{self, Moment};
use super::{Exit, Stop, audit, database, print};
use crate::audit::Interrupted;
use crate::config::Settings;
use crate::domain::Timestamp;
use crate::report::{Holds, Of, Safety, read_stages};
use crate::store::{audit as snapshot, pool, reports};
use crate::topology::Topology;

/// What to report.
#[derive(Debug, Subcommand)]
pub enum Report {
    /// How long buyers take to pay, against how long they are given, and how long a hold might be.
    Holds(OfHolds),
    /// Orders that could not have what they asked for, by SKU and channel, and a safety stock that would have kept the channel from selling them.
    Stockouts(OfSafety),
    /// Looks at which a channel showed another number than it had been told, by SKU and channel, and a safety stock to answer that with.
    Drift(OfSafety),
    /// Where an order's time went: waiting in the stream, locks, writing and telling.
    Stages(OfStages),
}

/// Which holds.
#[derive(Debug, Args)]
pub struct OfHolds {
    /// Orders made from this instant on: RFC 3339, or how long ago: 90s, 15m, 2h, 3d. Without it, all.
    #[arg(long, value_name = "T", value_parser = moment::parse)]
    since: Option<Moment>,
    /// Only those of this channel.
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Which orders or looks.
#[derive(Debug, Args)]
pub struct OfSafety {
    /// Those from this instant on: RFC 3339, or how long ago: 90s, 15m, 2h, 3d. Without it, all that are kept.
    #[arg(long, value_name = "T", value_parser = moment::parse)]
    since: Option<Moment>,
    /// Only those of this channel.
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Print one JSON array.
    #[arg(long)]
    json: bool,
}

/// Which orders.
#[derive(Debug, Args)]
pub struct OfStages {
    /// Orders that the stream received from this instant on: RFC 3339, or how long ago: 90s, 15m, 2h, 3d. Without it, all that it still has.
    #[arg(long, value_name = "T", value_parser = moment::parse)]
    since: Option<Moment>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Ends with 1 where there was nothing to report on.
pub async fn run(command: Report, settings: &Settings) -> Result<Exit, Stop> {
    drop(database::open(&settings.database).await?);
    let mut session = pool::session(&settings.database).await.map_err(|error| Interrupted::from(error).stop())?;
    match command {
        Report::Holds(asks) => holds(&asks, &mut session, settings).await,
        Report::Stockouts(asks) => safety(Of::Stockouts, &asks, &mut session).await,
        Report::Drift(asks) => safety(Of::Drift, &asks, &mut session).await,
        Report::Stages(asks) => stages(&asks, &mut session, settings).await,
    }
}

async fn holds(asks: &OfHolds, session: &mut PgConnection, settings: &Settings) -> Result<Exit, Stop> {
    let since = instant(asks.since, session).await?;
    let figures = async {
        let mut snapshot = snapshot::begin(session).await?;
        let figures = reports::holds(&mut snapshot, since, asks.channel.as_deref()).await?;
        snapshot.rollback().await?;
        Ok(figures)
    };
    let report = Holds::new(figures.await.map_err(Interrupted::stop)?, &settings.hold);
    say(asks.json, &report.to_json(), &report)?;
    Ok(if report.orders() == 0 { Exit::Found } else { Exit::Fine })
}

async fn safety(of: Of, asks: &OfSafety, session: &mut PgConnection) -> Result<Exit, Stop> {
    let since = instant(asks.since, session).await?;
    let rows = async {
        let mut snapshot = snapshot::begin(session).await?;
        let channel = asks.channel.as_deref();
        let rows = match of {
            Of::Stockouts => reports::stockouts(&mut snapshot, since, channel).await?,
            Of::Drift => reports::drift(&mut snapshot, since, channel).await?,
        };
        snapshot.rollback().await?;
        Ok(rows)
    };
    let report = Safety::new(of, rows.await.map_err(Interrupted::stop)?);
    say(asks.json, &report.to_json(), &report)?;
    Ok(if report.is_empty() { Exit::Found } else { Exit::Fine })
}

async fn stages(asks: &OfStages, session: &mut PgConnection, settings: &Settings) -> Result<Exit, Stop> {
    let topology = Arc::new(Topology::load(settings.streams.dir.as_deref(), &settings.streams.prefix)?);
    let broker = audit::reach(settings, topology).await.map_err(|why| Stop::Unreachable(anyhow!(why)))?;
    let since = instant(asks.since, session).await?;
    let stages = read_stages(session, &broker, since).await.map_err(Interrupted::stop)?;
    say(asks.json, &stages.to_json(), &stages)?;
    Ok(if stages.orders() == 0 { Exit::Found } else { Exit::Fine })
}

/// The instant from which on; without one, before everything.
async fn instant(since: Option<Moment>, session: &mut PgConnection) -> Result<Timestamp, Stop> {
    match since {
        Some(since) => Ok(since.instant(session).await.map_err(Interrupted::from).map_err(Interrupted::stop)?),
        None => Ok(Timestamp::UNIX_EPOCH),
    }
}

fn say(json: bool, document: &Value, text: &impl std::fmt::Display) -> anyhow::Result<()> {
    if json { print::document(document) } else { print::text(text) }
}
