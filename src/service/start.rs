//! Waiting for the servers, and bringing database and streams up to date.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tokio::time::Instant;

use super::Started;
use crate::broker::{self, Connection};
use crate::cli::{Stop, database};
use crate::config::Settings;
use crate::losses;
use crate::ops::{Condition, Readiness};
use crate::store;
use crate::store::{Pool, migrate};
use crate::topology::{Topology, TopologyError};

/// How long to wait before a server is asked again.
const PAUSE: Duration = Duration::from_millis(250);

/// Waits for PostgreSQL and NATS, up to the configured time, and brings both up to date.
pub(super) async fn start(
    settings: &Settings,
    topology: Arc<Topology>,
    readiness: &Readiness,
) -> Result<Started, Stop> {
    let until = Instant::now() + Duration::from_secs(settings.startup.wait_s);
    let pool = database::connect(&settings.database)?;
    wait_for("postgres", until, readiness, || async {
        store::reach(&settings.database).await.map_err(|error| anyhow!("PostgreSQL: {error}"))
    })
    .await?;
    bring_up_to_date(settings, &pool).await?;
    readiness.set("postgres", Condition::Ready);

    let (sender, connection) = tokio::sync::watch::channel(Connection::Down("NATS is not connected yet".into()));
    let client = wait_for("nats", until, readiness, async || {
        let connected = broker::connect(&settings.nats, sender.clone()).await;
        connected.map_err(|error| anyhow!("NATS cannot be reached: {error}"))
    })
    .await?;
    let jetstream = broker::jetstream(client.clone());
    readiness.set("nats", Condition::Ready);

    wait_for_streams(settings, &topology, &jetstream, until, readiness).await?;
    remember_streams(&pool, &topology, &jetstream).await;
    readiness.set("streams", Condition::Ready);
    Ok(Started { pool, client, jetstream, connection, topology })
}

/// Asks until the answer is good or the time is over.
async fn wait_for<T>(
    name: &'static str,
    until: Instant,
    readiness: &Readiness,
    ask: impl AsyncFn() -> anyhow::Result<T>,
) -> Result<T, Stop> {
    loop {
        let error = match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        readiness.set(name, Condition::not(format!("{error:#}")));
        if Instant::now() >= until {
            return Err(Stop::Unreachable(error));
        }
        tracing::info!("waiting for {name}: {error:#}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Applies migrations, or insists that somebody has.
async fn bring_up_to_date(settings: &Settings, pool: &Pool) -> Result<(), Stop> {
    if settings.database.migrate {
        let applied = migrate::apply(pool, &settings.database.schema)
            .await
            .map_err(|error| Stop::Misuse(anyhow!("the database cannot be migrated: {error}")))?;
        if !applied.is_empty() {
            tracing::info!(versions = ?applied, "migrations applied");
        }
    }
    database::migrated(pool).await
}

/// Remembers the streams before anything is told in them.
async fn remember_streams(pool: &Pool, topology: &Topology, jetstream: &async_nats::jetstream::Context) {
    let looked = async { losses::look(&mut *pool.acquire().await?, topology, jetstream).await };
    if let Err(error) = looked.await {
        tracing::warn!("the streams are remembered later: {error:#}");
    }
}

/// Applies the topology, or waits until somebody has.
async fn wait_for_streams(
    settings: &Settings,
    topology: &Topology,
    jetstream: &async_nats::jetstream::Context,
    until: Instant,
    readiness: &Readiness,
) -> Result<(), Stop> {
    loop {
        let state = if settings.streams.apply {
            topology.ensure(jetstream).await.map(|_| false)
        } else {
            topology.missing(jetstream).await
        };
        let why = match state {
            Ok(false) => return Ok(()),
            Ok(true) => "streams or consumers are missing: run `lastunit streams apply`".to_owned(),
            Err(error @ TopologyError::Unreachable(_)) => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        readiness.set("streams", Condition::not(why.clone()));
        if Instant::now() >= until {
            return Err(Stop::Unreachable(anyhow!(why)));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
