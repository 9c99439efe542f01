//! What tells channels stock: a desk each, and what listens for all of them.

use std::sync::Arc;

use anyhow::anyhow;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Started;
use crate::cli::Stop;
use crate::config::{Database, Settings};
use crate::publish::{self, Desk, Ear, Ground};
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
    let ground = Ground {
        pool: pool(&settings.database)?,
        database: settings.database.clone(),
        jetstream: started.jetstream.clone(),
        topology: started.topology.clone(),
        queued: Arc::new(Notify::new()),
        outbox: outbox.clone(),
    };
    let mut publishing = Vec::new();
    for (name, channel) in &settings.channels {
        if let Some(key) = channel.lacks() {
            tracing::warn!("channel {name} is told nothing: channels.{name}.{key} is missing");
            continue;
        }
        let desk = Desk::new(name, channel, ground.clone()).map_err(Stop::Misuse)?;
        publishing.push(desk.publishing.clone());
        tasks.spawn(publish::run_desk(desk, stop.clone()));
    }
    if publishing.is_empty() {
        return Ok(());
    }
    let consumer = started.topology.consumer_of("STOCK").cloned();
    let consumer = consumer.ok_or_else(|| Stop::Misuse(anyhow!("no stream file describes a consumer of STOCK")))?;
    let Ground { jetstream, pool, queued, .. } = ground;
    let ear = Ear { jetstream, consumer, pool, publishing: publishing.into(), queued };
    tasks.spawn(publish::run_ear(ear, stop.clone()));
    Ok(())
}

fn pool(database: &Database) -> Result<Pool, Stop> {
    let database = Database { max_connections: CONNECTIONS, ..database.clone() };
    store::connect(&database).map_err(|error| Stop::Misuse(anyhow!("database.url cannot be understood: {error}")))
}
