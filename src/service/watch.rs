//! Whether the servers still answer and the streams are still there and keep up, and what to do if not.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::broker::Connection;
use crate::losses;
use crate::ops::metrics as names;
use crate::ops::{Condition, Readiness};
use crate::store::Pool;
use crate::topology::{Lag, Topology, TopologyError};

/// How often everything is looked at.
const EVERY: Duration = Duration::from_secs(2);
/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Watches until it is stopped.
pub(super) struct Watch {
    pub pool: Pool,
    pub jetstream: jetstream::Context,
    pub connection: watch::Receiver<Connection>,
    pub topology: Arc<Topology>,
    pub apply: bool,
    pub stalled_after: Duration,
    pub readiness: Readiness,
    /// The losses that were warned of, by name.
    pub warned: BTreeMap<String, String>,
    /// How far each sourcing stream is.
    pub sourced: HashMap<String, Sourced>,
}

/// How far a stream is with what it sources.
pub(super) struct Sourced {
    /// The last message it has.
    last: u64,
    /// Since when it has needed no more, or had none newer.
    since: Instant,
    /// When its sourcing was begun anew since then.
    begun_anew: Option<Instant>,
}

impl Watch {
    /// Ends at `stop`, or when the client is no more: then nobody tells of the connection.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut reconnected = false;
        while !stop.is_cancelled() {
            self.look_at_postgres().await;
            self.look_at_nats(reconnected).await;
            reconnected = false;
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(EVERY) => {}
                // A change of the connection is looked at at once: at a reconnection the streams may be others.
                changed = self.connection.changed() => match changed {
                    Ok(()) => reconnected = true,
                    Err(_) => {
                        return self.readiness.set("nats", Condition::not("the connection to NATS is being made anew"));
                    }
                }
            }
        }
    }

    async fn look_at_postgres(&self) {
        let asked = tokio::time::timeout(ANSWER_WITHIN, sqlx::query("SELECT 1").execute(&self.pool)).await;
        let condition = match asked {
            Ok(Ok(_)) => Condition::Ready,
            Ok(Err(error)) => Condition::not(format!("PostgreSQL: {error}")),
            Err(_) => Condition::not("PostgreSQL does not answer"),
        };
        self.readiness.set("postgres", condition);
    }

    async fn look_at_nats(&mut self, reconnected: bool) {
        let connection = self.connection.borrow_and_update().clone();
        match connection {
            Connection::Down(why) => self.readiness.set("nats", Condition::not(why)),
            Connection::Up(_) => {
                self.readiness.set("nats", Condition::Ready);
                self.look_at_streams(reconnected).await;
                self.look_for_losses().await;
            }
        }
    }

    async fn look_at_streams(&mut self, reconnected: bool) {
        let condition = match self.streams(reconnected).await {
            Ok(true) => Condition::Ready,
            Ok(false) => Condition::not("streams or consumers are missing: run `lastunit streams apply`"),
            Err(error) => {
                tracing::warn!(error = %error, "the streams are not what they should be");
                Condition::not(error.to_string())
            }
        };
        let are_there = condition == Condition::Ready;
        self.readiness.set("streams", condition);
        if are_there && let Err(error) = self.look_at_sourcing().await {
            tracing::warn!(error = %error, "it cannot be told whether STOCK_LATEST keeps up");
        }
    }

    /// Says which stream has stood still for long behind the one it sources, and begins its sourcing anew.
    async fn look_at_sourcing(&mut self) -> Result<(), TopologyError> {
        for lag in self.topology.lags(&self.jetstream).await? {
            #[allow(clippy::cast_precision_loss, reason = "a gauge")]
            metrics::gauge!(names::SOURCING_BEHIND, "stream" => lag.stream.clone()).set(lag.behind() as f64);
            let stalled = self.stalled(&lag);
            let warning = stalled.then(|| {
                let Lag { source, last, sourced, .. } = &lag;
                format!("it stands still at message {sourced} of {source}, which is at {last}")
            });
            // Not the stream's own name: under that its losses are warned of.
            self.readiness.warn(&format!("{} from {}", lag.stream, lag.source), warning);
            if stalled && self.apply {
                self.source_anew(&lag).await?;
            }
        }
        Ok(())
    }

    /// Begins its sourcing anew. Whether that helps is seen in as long a time as it took to see that it stands still.
    async fn source_anew(&mut self, lag: &Lag) -> Result<(), TopologyError> {
        let Some(sourced) = self.sourced.get_mut(&lag.stream) else { return Ok(()) };
        if sourced.begun_anew.is_some_and(|at| at.elapsed() < self.stalled_after) {
            return Ok(());
        }
        sourced.begun_anew = Some(Instant::now());
        tracing::warn!(stream = lag.stream, "its sourcing is begun anew");
        metrics::counter!(names::SOURCING_RESTARTED).increment(1);
        self.topology.source_anew(&self.jetstream, &lag.stream).await
    }

    /// Whether it has been where it is for too long, although there is more to have.
    fn stalled(&mut self, lag: &Lag) -> bool {
        let now = || Sourced { last: lag.sourced, since: Instant::now(), begun_anew: None };
        let sourced = self.sourced.entry(lag.stream.clone()).or_insert_with(now);
        if sourced.last != lag.sourced || lag.behind() == 0 {
            *sourced = now();
        }
        sourced.since.elapsed() >= self.stalled_after
    }

    /// What the broker has lost is said until it is made good; work goes on meanwhile.
    async fn look_for_losses(&mut self) {
        let looked = async {
            let mut connection = self.pool.acquire().await?;
            losses::look(&mut connection, &self.topology, &self.jetstream).await
        };
        let losses = match tokio::time::timeout(ANSWER_WITHIN, looked).await {
            Ok(Ok(losses)) => losses,
            // What keeps it from looking is said by the conditions.
            Ok(Err(error)) => return tracing::debug!("nobody knows what the broker has lost: {error:#}"),
            Err(_) => return,
        };
        metrics::gauge!(names::BROKER_LOSSES).set(f64::from(u32::try_from(losses.len()).unwrap_or(u32::MAX)));
        let warnings: BTreeMap<String, String> = losses.into_iter().map(|loss| (loss.name, loss.detail)).collect();
        for over in self.warned.keys().filter(|name| !warnings.contains_key(*name)) {
            self.readiness.warn(over, None);
        }
        for (name, detail) in &warnings {
            self.readiness.warn(name, Some(detail.clone()));
        }
        self.warned = warnings;
    }

    /// Whether all streams and consumers are there; what has vanished, or is another after a reconnection, is made again.
    async fn streams(&self, reconnected: bool) -> Result<bool, TopologyError> {
        let missing = self.topology.missing(&self.jetstream).await?;
        if !self.apply || (!missing && !reconnected) {
            return Ok(!missing);
        }
        for change in self.topology.ensure(&self.jetstream).await? {
            tracing::warn!(object = %change.id, "a stream or consumer had to be made or changed under us");
        }
        Ok(true)
    }
}
