//! Whether the servers still answer and the streams are still there, and what to do if not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::broker::Connection;
use crate::losses;
use crate::ops::metrics as names;
use crate::ops::{Condition, Readiness};
use crate::store::Pool;
use crate::topology::{Topology, TopologyError};

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
    pub readiness: Readiness,
    /// The losses that were warned of, by name.
    pub warned: BTreeMap<String, String>,
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

    async fn look_at_streams(&self, reconnected: bool) {
        let condition = match self.streams(reconnected).await {
            Ok(true) => Condition::Ready,
            Ok(false) => Condition::not("streams or consumers are missing: run `lastunit streams apply`"),
            Err(error) => {
                tracing::warn!(error = %error, "the streams are not what they should be");
                Condition::not(error.to_string())
            }
        };
        self.readiness.set("streams", condition);
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
