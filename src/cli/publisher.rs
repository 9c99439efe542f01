//! `lastunit publisher pause|resume|status|reconcile|check|pull-map`.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use tokio::time::{Instant, sleep};

use super::market::{self, PullMap};
use super::print::List;
use super::{Exit, Stop, channels, database, print, reconcile};
use crate::audit::Interrupted;
use crate::config::{ChannelSettings, Settings};
use crate::domain::Timestamp;
use crate::messages::WireTime;
use crate::store::channel_switch::{self, Status};
use crate::store::{StoreError, audit as snapshot, pool};

/// How often it is asked whether flights have ended.
const EVERY: Duration = Duration::from_millis(100);

/// What to do with a channel's publisher.
#[derive(Debug, Subcommand)]
pub enum Publisher {
    /// Send nothing new to the channel, and wait until what is on its way has ended.
    Pause(Named),
    /// Go on, also where the channel's own answers had stopped it.
    Resume(Named),
    /// How channels are: paused or halted, what is due, in flight, unknown, waits for a person, is shown and not free.
    Status(Filter),
    /// Read all that the channel shows, and hold it against what it was told; ends with 1 where something else is shown.
    Reconcile(Named),
    /// Hold our maps against what the channel knows, and its key against the calendar; ends with 1 where something does not fit.
    Check(Named),
    /// Propose a map of items out of the channel's own catalogue, as a file for `import mappings`. Nothing is applied.
    PullMap(PullMap),
}

/// A channel.
#[derive(Debug, Args)]
pub struct Named {
    /// The channel, which must stand in the settings.
    #[arg(value_name = "CHANNEL")]
    pub(super) channel: String,
    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

/// Which channels.
#[derive(Debug, Args)]
pub struct Filter {
    /// Only this one, which must stand in the settings.
    #[arg(value_name = "CHANNEL")]
    channel: Option<String>,
    /// Print one JSON array.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: Publisher, settings: &Settings) -> Result<Exit, Stop> {
    match command {
        Publisher::Pause(asks) => pause(&asks, settings).await,
        Publisher::Resume(asks) => resume(&asks, settings).await,
        Publisher::Status(asks) => status(&asks, settings).await,
        Publisher::Reconcile(asks) => reconcile::run(&asks, settings).await,
        Publisher::Check(asks) => market::check(&asks, settings).await,
        Publisher::PullMap(asks) => market::pull_map(&asks, settings).await,
    }
}

/// Ends with 1 where something was still on its way when it was given up on: for as long as a lease of that lives.
async fn pause(asks: &Named, settings: &Settings) -> Result<Exit, Stop> {
    let channel = channels::named(settings, &asks.channel)?;
    let pool = database::open(&settings.database).await?;
    let paused = async {
        let mut connection = pool.acquire().await?;
        // Nothing takes off while the pause is being written: what is counted here is all there is.
        let mut transaction = connection.begin().await?;
        let at = channel_switch::pause(&mut transaction, &asks.channel, channel.safety_stock.into()).await?;
        let flying = channel_switch::flying(&mut transaction, &asks.channel).await?;
        transaction.commit().await?;
        Ok((at, landed(&mut connection, &asks.channel, channel, flying).await?))
    };
    let (at, Landed { ended, left }) = paused.await.map_err(database::stop)?;
    if asks.json {
        print::document(&json!({
            "channel": asks.channel, "paused_at": WireTime(at), "flights_ended": ended, "flights_left": left,
        }))?;
    } else {
        print::line(format!("{} is paused since {}: {ended} flights ended, {left} left", asks.channel, WireTime(at)))?;
    }
    Ok(if left == 0 { Exit::Fine } else { Exit::Found })
}

/// What became of what was on its way.
struct Landed {
    ended: i64,
    left: i64,
}

/// Waits for what is on its way to a channel, for no longer than a lease lives: three times the channel's timeout.
async fn landed(
    connection: &mut PgConnection,
    name: &str,
    channel: &ChannelSettings,
    flying: i64,
) -> Result<Landed, StoreError> {
    let until = Instant::now() + 3 * Duration::from_secs(channel.timeout_s);
    let mut left = flying;
    while left > 0 && Instant::now() < until {
        sleep(EVERY).await;
        left = channel_switch::flying(connection, name).await?;
    }
    Ok(Landed { ended: flying - left, left })
}

async fn resume(asks: &Named, settings: &Settings) -> Result<Exit, Stop> {
    let channel = channels::named(settings, &asks.channel)?;
    let pool = database::open(&settings.database).await?;
    let resumed = async {
        let mut connection = pool.acquire().await?;
        channel_switch::resume(&mut connection, &asks.channel, channel.safety_stock.into()).await
    };
    resumed.await.map_err(database::stop)?;
    if asks.json {
        print::document(&json!({ "channel": asks.channel, "paused_at": Value::Null }))?;
    } else {
        print::line(format!("{} goes on", asks.channel))?;
    }
    Ok(Exit::Fine)
}

async fn status(asks: &Filter, settings: &Settings) -> Result<Exit, Stop> {
    if let Some(channel) = &asks.channel {
        channels::named(settings, channel)?;
    }
    drop(database::open(&settings.database).await?);
    let mut session = pool::session(&settings.database).await.map_err(|error| Interrupted::from(error).stop())?;
    let mut snapshot = snapshot::begin(&mut session).await.map_err(database::stop)?;
    let names: Vec<&str> = settings.channels.keys().map(String::as_str).collect();
    let statuses = channel_switch::statuses(&mut snapshot, &names, asks.channel.as_deref()).await;
    let mut out = List::begin(asks.json);
    for status in statuses.map_err(database::stop)? {
        let channel = settings.channels.get(&status.channel);
        out.add_lines(&document(&status, channel), || lines(&status, channel))?;
    }
    out.end(Some("no channel stands in the settings"))?;
    Ok(Exit::Fine)
}

fn document(status: &Status, channel: Option<&ChannelSettings>) -> Value {
    let at = |at: Option<Timestamp>| at.map(WireTime);
    json!({
        "id": status.channel, "channel": status.channel, "kind": channel.map(|channel| channel.kind),
        "lacks": channel.and_then(ChannelSettings::lacks), "paused_at": at(status.paused_at),
        "halted_until": at(status.halted_until), "halted_reason": status.halted_reason, "points": status.points,
        "due": status.due, "oldest_due_at": at(status.oldest_due_at), "in_flight": status.in_flight,
        "unknown": status.unknown, "parked": status.parked, "exposed_units": status.exposed_units,
        "exposed_since": at(status.exposed_since), "reconciled_at": at(status.reconciled_at),
        "checked_at": at(status.checked_at),
    })
}

fn lines(status: &Status, channel: Option<&ChannelSettings>) -> String {
    let since =
        |at: Option<Timestamp>, word: &str| at.map_or_else(String::new, |at| format!(" ({word} {})", WireTime(at)));
    let when = |at: Option<Timestamp>| at.map_or_else(|| "never".to_owned(), |at| WireTime(at).to_string());
    format!(
        "{}: {}\n  {} points: {} due{}, {} in flight, {} unknown, {} wait for a person\n  {} units shown that are not free{}\n  \
         reconciled {}, checked {}",
        status.channel,
        condition(status, channel),
        status.points,
        status.due,
        since(status.oldest_due_at, "the oldest since"),
        status.in_flight,
        status.unknown,
        status.parked,
        status.exposed_units,
        since(status.exposed_since, "since"),
        when(status.reconciled_at),
        when(status.checked_at),
    )
}

/// Whether anything is sent, and if not, why.
fn condition(status: &Status, channel: Option<&ChannelSettings>) -> String {
    let mut reasons = Vec::new();
    match channel.map(ChannelSettings::lacks) {
        None => reasons.push("not in the settings any more".to_owned()),
        Some(Some(key)) => reasons.push(format!("told nothing: the settings lack {key}")),
        Some(None) => {}
    }
    reasons.extend(status.paused_at.map(|at| format!("paused since {}", WireTime(at))));
    if let (Some(until), Some(reason)) = (status.halted_until, &status.halted_reason) {
        reasons.push(format!("halted until {}: {reason}", WireTime(until)));
    }
    if reasons.is_empty() { "told what changes".to_owned() } else { reasons.join("; ") }
}
