//! `lastunit publisher reconcile CHANNEL`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::publisher::Named;
use super::{Exit, Stop, audit, channels, database, print};
use crate::config::Settings;
use crate::domain::{Channel, Timestamp};
use crate::publish::{Desk, Ground};
use crate::store::pushes::{self, SeenPoint};
use crate::store::turn;
use crate::store::{Pool, StoreError, audit as snapshot, channels as rows, pool as connections};
use crate::topology::Topology;

/// How often it is asked whether a running program has read the channel.
const EVERY: Duration = Duration::from_millis(200);
/// How long that may take. Its rates are the channel's.
const PATIENCE: Duration = Duration::from_mins(15);

/// Reads everything that the channel was told, through the program that tells it or, where none runs, by itself; what it finds is noted, and healed by
/// whoever tells the channel. Ends with 1 where something else is shown than should be.
pub async fn run(asks: &Named, settings: &Settings) -> Result<Exit, Stop> {
    let channel = channels::named(settings, &asks.channel)?;
    let name = Channel::new(&asks.channel).map_err(|fault| Stop::Misuse(anyhow!("CHANNEL {fault}")))?;
    let pool = database::open(&settings.database).await?;
    let asked = ask(&pool, &name, channel.safety_stock.into()).await.map_err(database::stop)?;
    let mut session = connections::session(&settings.database).await.map_err(|error| database::stop(error.into()))?;
    let since = asked.ok_or_else(|| Stop::Failed(anyhow!("the channel's row is gone")))?;
    if turn::take_channel(&mut session, &name).await.map_err(|error| database::stop(error.into()))? {
        let topology = Arc::new(Topology::of(&settings.streams)?);
        let broker = audit::reach(settings, topology).await.map_err(|why| Stop::Unreachable(anyhow!(why)))?;
        let ground = Ground {
            pool: pool.clone(),
            database: settings.database.clone(),
            jetstream: broker.jetstream,
            topology: broker.topology,
            queued: Arc::new(Notify::new()),
            outbox: Arc::new(Notify::new()),
        };
        let desk = Desk::new(&asks.channel, channel, ground).map_err(Stop::Misuse)?;
        desk.reconcile().await.map_err(|fault| Stop::Failed(anyhow!(fault).context(asks.channel.clone())))?;
    } else {
        wait(&pool, &name, since).await?;
    }
    let mut snapshot = snapshot::begin(&mut session).await.map_err(database::stop)?;
    let seen = pushes::seen_since(&mut snapshot, &name, since).await.map_err(database::stop)?;
    report(asks, &seen)
}

async fn ask(pool: &Pool, channel: &Channel, safety_stock: i64) -> Result<Option<Timestamp>, StoreError> {
    let mut connection = pool.acquire().await?;
    if rows::load(&mut connection, channel).await?.is_none() {
        rows::open(&mut connection, channel, safety_stock).await?;
    }
    rows::ask_to_reconcile(&mut connection, channel).await
}

/// Waits for the program that has the channel's turn.
async fn wait(pool: &Pool, channel: &Channel, since: Timestamp) -> Result<(), Stop> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let done = async { rows::is_reconciled(&mut *pool.acquire().await?, channel, since).await };
        if done.await.map_err(database::stop)? {
            return Ok(());
        }
        if Instant::now() > give_up {
            return Err(Stop::Failed(anyhow!(
                "the channel has not been read: lastunit publisher status {channel}, and the log of the running program, say why"
            )));
        }
        sleep(EVERY).await;
    }
}

fn report(asks: &Named, seen: &[SeenPoint]) -> Result<Exit, Stop> {
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    for point in seen {
        *verdicts.entry(&point.verdict).or_default() += 1;
    }
    let differs = |point: &&SeenPoint| point.verdict != "in_sync";
    if asks.json {
        let difference = |point: &SeenPoint| {
            json!({
                "id": point.id, "sku": point.sku, "warehouse": point.warehouse, "verdict": point.verdict,
                "observed_qty": point.observed_qty, "desired_qty": point.desired_qty, "compared_version": point.compared_version,
            })
        };
        let differences: Vec<_> = seen.iter().filter(differs).map(difference).collect();
        print::document(
            &json!({ "channel": asks.channel, "points": seen.len(), "verdicts": verdicts, "differences": differences }),
        )?;
    } else {
        for point in seen.iter().filter(differs) {
            print::line(point.says())?;
        }
        let counts: Vec<String> = verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        print::line(format!("{}: {} points read: {}", asks.channel, seen.len(), counts.join(", ")))?;
    }
    let found = seen.iter().any(|point| matches!(point.verdict.as_str(), "drift" | "absent"));
    Ok(if found { Exit::Found } else { Exit::Fine })
}

impl SeenPoint {
    fn says(&self) -> String {
        let shows = self.observed_qty.map_or_else(|| "is not listed".to_owned(), |qty| format!("shows {qty}"));
        let told = self.desired_qty.unwrap_or_default();
        format!("{}: {} in {} {shows} and was told {told}", self.verdict, self.sku, self.warehouse)
    }
}
