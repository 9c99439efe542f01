//! The service put together: waits for its servers, brings database and streams up to date, starts every task, and ends them in order.

mod publisher;
mod start;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use async_nats::jetstream;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::audit;
use crate::cli::Stop;
use crate::config::{OnFailure, Settings};
use crate::consume::{self, Desk, Limits};
use crate::domain::{Channel, HoldBounds, PaymentPolicy, Policy};
use crate::engine::Engine;
use crate::messages::Signatures;
use crate::ops::query::{self, Query};
use crate::ops::{Readiness, http};
use crate::relay::{self, Relay};
use crate::retention::{self, Retention};
use crate::shutdown::Shutdown;
use crate::store::Pool;
use crate::store::outbox::Lane;
use crate::sweeper::{self, Sweeper};
use crate::topology::Topology;

/// How long the relay may take to look at the outbox before anything is decided.
const FIRST_LOOKS: Duration = Duration::from_secs(3);
/// How long what was decided last may take to be told at the end.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Runs until `shutdown`, and says once, on standard output, when it is ready. `greet` is called right before, with the address of HTTP.
///
/// # Errors
/// A server that cannot be reached in time, a database or stream that is not what it should be, a task that died.
pub async fn run(
    settings: Settings,
    shutdown: Shutdown,
    metrics: PrometheusHandle,
    greet: impl FnOnce(SocketAddr) + Send + 'static,
) -> Result<(), Stop> {
    let topology = Topology::of(&settings.streams)?;
    topology.judge(Duration::from_secs(settings.inbox.keep_s))?;
    let readiness = Readiness::awaiting(&["postgres", "nats", "streams", query::CONDITION]);
    let http = http::bind(&settings.http).await.map_err(Stop::Misuse)?;
    let address = http.address();
    let http_stop = CancellationToken::new();
    let http_task = tokio::spawn(http.serve(readiness.clone(), metrics, http_stop.clone()));

    tokio::spawn(announce(readiness.clone(), address, greet));

    let topology = Arc::new(topology);
    let ended = loop {
        let started = tokio::select! {
            started = start::start(&settings, topology.clone(), &readiness) => started?,
            () = shutdown.token().cancelled() => return Ok(()),
        };
        match started.serve(&settings, &readiness, &shutdown).await {
            Ok(End::ClientDied) => tracing::error!("the client of NATS died; everything is connected anew"),
            Ok(End::Asked) => break Ok(()),
            Err(stop) => break Err(stop),
        }
    };
    http_stop.cancel();
    drop(http_task.await);
    ended
}

/// Why serving ended that did not fail.
enum End {
    /// It was asked to.
    Asked,
    /// The client of NATS is no more: it may die of what it cannot read.
    ClientDied,
}

/// Servers that answer, a database and streams that are up to date.
struct Started {
    pool: Pool,
    client: async_nats::Client,
    jetstream: jetstream::Context,
    connection: tokio::sync::watch::Receiver<crate::broker::Connection>,
    topology: Arc<Topology>,
}

impl Started {
    async fn serve(self, settings: &Settings, readiness: &Readiness, shutdown: &Shutdown) -> Result<End, Stop> {
        let outbox = Arc::new(Notify::new());
        let engine = Arc::new(Engine::new(policy(settings), settings.replies.prefixes.clone(), signatures(settings)?));
        let (taking, telling) = (shutdown.token().child_token(), CancellationToken::new());

        let mut tellers = JoinSet::new();
        let mut looks = Vec::new();
        for lane in Lane::ALL {
            let (looked, look) = oneshot::channel();
            looks.push(look);
            let relay = Relay {
                database: settings.database.clone(),
                client: self.client.clone(),
                topology: self.topology.clone(),
                outbox: outbox.clone(),
            };
            tellers.spawn(relay::run(relay, lane, telling.clone(), looked));
        }
        // What the relay finds untold at its first look it must doubt: nothing of ours is among it yet.
        let first_looks = tokio::time::timeout(FIRST_LOOKS, futures::future::join_all(looks));
        if first_looks.await.is_err() {
            tracing::warn!("the relay has not looked at the outbox yet");
        }

        let mut deciders = JoinSet::new();
        self.spawn_consumers(settings, &engine, &outbox, &taking, &mut deciders)?;
        if settings.sweeper.enabled {
            let sweeper = Sweeper {
                pool: self.pool.clone(),
                engine: engine.clone(),
                outbox: outbox.clone(),
                max_interval: Duration::from_millis(settings.sweeper.max_interval_ms),
                waiting_max: Duration::from_secs(settings.waiting.max_s),
            };
            deciders.spawn(sweeper::run(sweeper, taking.clone()));
        }
        publisher::spawn(&self, settings, &outbox, &taking, &mut deciders)?;
        deciders.spawn(retention::run(Retention::new(self.pool.clone(), settings), taking.clone()));
        if settings.audit.every_s > 0 {
            let schedule = audit::Schedule {
                pool: self.pool.clone(),
                database: settings.database.clone(),
                nats: settings.nats.clone(),
                topology: self.topology.clone(),
                outbox: outbox.clone(),
                every: Duration::from_secs(settings.audit.every_s),
            };
            deciders.spawn(audit::run_schedule(schedule, taking.clone()));
        }
        let query =
            Query::new(self.client.clone(), &self.topology, &settings.database, settings.replies.prefixes.clone())
                .map_err(|error| Stop::Misuse(anyhow!("database.url cannot be understood: {error}")))?;
        deciders.spawn(query::run(query, readiness.clone(), taking.clone()));
        let watch = watch::Watch {
            pool: self.pool.clone(),
            jetstream: self.jetstream.clone(),
            connection: self.connection.clone(),
            topology: self.topology.clone(),
            apply: settings.streams.apply,
            stalled_after: Duration::from_millis(settings.streams.stalled_after_ms),
            readiness: readiness.clone(),
            sourced: HashMap::new(),
            warned: BTreeMap::new(),
        };
        let watching = tokio::spawn(watch.run(telling.clone()));

        let ended = tokio::select! {
            // First of all: tasks that were asked to end end too.
            biased;
            () = shutdown.token().cancelled() => Ok(End::Asked),
            _ = watching => Ok(End::ClientDied),
            died = deciders.join_next() => Err(Stop::Failed(anyhow!("a task ended that never should: {died:?}"))),
            died = tellers.join_next() => Err(Stop::Failed(anyhow!("a task ended that never should: {died:?}"))),
        };
        taking.cancel();
        let wind_down = self.wind_down(deciders, tellers, &telling);
        tokio::select! {
            () = wind_down => tracing::info!("ended: everything taken was finished and acknowledged"),
            () = shutdown.deadline() => tracing::warn!("ended before everything was finished; what is left comes again"),
        }
        ended
    }

    fn spawn_consumers(
        &self,
        settings: &Settings,
        engine: &Arc<Engine>,
        outbox: &Arc<Notify>,
        stop: &CancellationToken,
        tasks: &mut JoinSet<()>,
    ) -> Result<(), Stop> {
        let desk = Desk {
            engine: engine.clone(),
            jetstream: self.jetstream.clone(),
            topology: self.topology.clone(),
            outbox: outbox.clone(),
            limits: Limits { messages: settings.batch.max, bytes: settings.batch.max_bytes },
        };
        let file = |family: &str| {
            let missing = || Stop::Misuse(anyhow!("no stream file describes a consumer of {family}"));
            self.topology.consumer_of(family).cloned().ok_or_else(missing)
        };
        tasks.spawn(consume::run_shared(desk.clone(), file("ORDERS")?, self.pool.clone(), stop.clone()));
        tasks.spawn(consume::run_shared(desk.clone(), file("SHIPMENTS")?, self.pool.clone(), stop.clone()));
        tasks.spawn(consume::run_shared(desk.clone(), file("PAYMENTS")?, self.pool.clone(), stop.clone()));
        tasks.spawn(consume::lay_to_rest(desk.clone(), self.pool.clone(), stop.clone()));
        tasks.spawn(consume::run_ordered(desk, file("INVENTORY")?, settings.database.clone(), stop.clone()));
        Ok(())
    }

    /// Finishes what was taken, tells what was decided, and closes the connections.
    async fn wind_down(&self, mut deciders: JoinSet<()>, mut tellers: JoinSet<()>, telling: &CancellationToken) {
        while deciders.join_next().await.is_some() {}
        telling.cancel();
        let told = async { while tellers.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_WORDS, told).await.is_err() {
            tracing::warn!("what was decided last is told at the next start");
        }
        // Acknowledgements are only written by a flush; nothing is flushed by dropping.
        if let Ok(Err(error)) = tokio::time::timeout(LAST_WORDS, self.client.flush()).await {
            tracing::warn!(error = %error, "the last acknowledgements may not have been sent");
        }
        self.pool.close().await;
    }
}

async fn announce(readiness: Readiness, address: SocketAddr, greet: impl FnOnce(SocketAddr)) {
    readiness.ready().await;
    greet(address);
    // Where nobody reads it, the service goes on all the same.
    drop(writeln!(std::io::stdout(), "lastunit ready http://{address}"));
}

/// What the settings say about deciding.
pub(crate) fn policy(settings: &Settings) -> Policy {
    let marketplaces = settings.channels.iter().filter(|(_, channel)| channel.kind.is_marketplace());
    Policy {
        hold: HoldBounds { default_s: settings.hold.default_s, min_s: settings.hold.min_s, max_s: settings.hold.max_s },
        accept_orders: settings.orders.accept,
        payments: PaymentPolicy {
            window_s: settings.payments.window_s,
            failure_keeps: settings.payments.on_failure == OnFailure::Keep,
        },
        sold_elsewhere: marketplaces.filter_map(|(name, _)| Channel::new(name).ok()).collect(),
    }
}

/// Whose messages must be signed, and by which secrets.
pub(crate) fn signatures(settings: &Settings) -> Result<Signatures, Stop> {
    let providers = settings.payments.providers.iter();
    let signing = providers.filter_map(|(name, provider)| Some((name.as_str(), provider.webhook_secret.as_ref()?)));
    Signatures::new(signing).map_err(|name| Stop::Misuse(anyhow!("payments.{name}.webhook_secret is no secret")))
}
