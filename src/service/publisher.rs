//! What tells channels stock: a desk each, and what listens for all of them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Started;
use crate::cli::Stop;
use crate::config::{ChannelSettings, Database, Settings};
use crate::domain::Channel;
use crate::publish::{self, Desk, Ear};
use crate::store::points::Publishing;
use crate::store::{self, Pool};

/// Connections that desks and listener share: however much there is to tell, orders are decided as if there was nothing.
const CONNECTIONS: u32 = 4;

/// Starts it. A channel whose settings lack something only sends orders.
pub(super) fn spawn(
    started: &Started,
    settings: &Settings,
    outbox: &Arc<Notify>,
    stop: &CancellationToken,
    tasks: &mut JoinSet<()>,
) -> Result<(), Stop> {
    let pool = pool(&settings.database)?;
    let queued = Arc::new(Notify::new());
    let mut publishing = Vec::new();
    for (name, channel) in &settings.channels {
        if let Some(key) = channel.lacks() {
            tracing::warn!("channel {name} is told nothing: channels.{name}.{key} is missing");
            continue;
        }
        let desk = desk(started, settings, name, channel, (&pool, &queued, outbox))?;
        publishing.push(desk.publishing.clone());
        tasks.spawn(publish::run_desk(desk, stop.clone()));
    }
    if publishing.is_empty() {
        return Ok(());
    }
    let consumer = started.topology.consumer_of("STOCK").cloned();
    let consumer = consumer.ok_or_else(|| Stop::Misuse(anyhow!("no stream file describes a consumer of STOCK")))?;
    let ear = Ear { jetstream: started.jetstream.clone(), consumer, pool, publishing: publishing.into(), queued };
    tasks.spawn(publish::run_ear(ear, stop.clone()));
    Ok(())
}

fn desk(
    started: &Started,
    settings: &Settings,
    name: &str,
    channel: &ChannelSettings,
    (pool, queued, outbox): (&Pool, &Arc<Notify>, &Arc<Notify>),
) -> Result<Desk, Stop> {
    let market = publish::adapter(name, channel).map_err(|error| Stop::Misuse(anyhow!("channels.{name}: {error}")))?;
    let rhythm = publish::rhythm(channel, &*market);
    let channel_name = Channel::new(name).map_err(|fault| Stop::Misuse(anyhow!("channels.{name}: {fault}")))?;
    Ok(Desk {
        publishing: Publishing { channel: channel_name.clone(), safety_stock: channel.safety_stock.into() },
        channel: channel_name,
        market: market.into(),
        rhythm,
        reconcile_every: Duration::from_secs(channel.reconcile_every_s),
        pool: pool.clone(),
        database: settings.database.clone(),
        jetstream: started.jetstream.clone(),
        topology: started.topology.clone(),
        queued: queued.clone(),
        outbox: outbox.clone(),
    })
}

fn pool(database: &Database) -> Result<Pool, Stop> {
    let database = Database { max_connections: CONNECTIONS, ..database.clone() };
    store::connect(&database).map_err(|error| Stop::Misuse(anyhow!("database.url cannot be understood: {error}")))
}
