//! The audit inside the service: one copy at a time, as often as the settings say.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use sqlx::Connection;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Broker, Report};
use crate::broker;
use crate::config::{Database, Nats};
use crate::domain::{Finding, Review, ReviewKind, ReviewSubject};
use crate::engine::tell_reviews;
use crate::ops::metrics as names;
use crate::store::audit::{self, Recorded};
use crate::store::turn::{Session, TurnOf};
use crate::store::{Pool, reviews};
use crate::topology::Topology;

/// How many findings of a run are logged and become reviews. The metric and the record count all.
const NAMED: usize = 100;
/// How soon an audit that failed, or that another copy was at, is thought of again.
const AGAIN: Duration = Duration::from_mins(1);

/// What the schedule works with.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The database, for what is written.
    pub pool: Pool,
    /// The database, for what is read.
    pub database: Database,
    /// The broker.
    pub nats: Nats,
    /// What streams and subjects are called there.
    pub topology: Arc<Topology>,
    /// Rung when something was stored to be told.
    pub outbox: Arc<Notify>,
    /// How long from one audit to the next.
    pub every: Duration,
}

/// Audits on schedule until `stop`; then what is at work is left, for it only reads.
pub async fn run(schedule: Schedule, stop: CancellationToken) {
    let begun = Instant::now();
    let work = async {
        loop {
            tokio::time::sleep(schedule.until_due(begun).await.unwrap_or(AGAIN)).await;
            if let Err(error) = schedule.audit_if_due(begun).await {
                tracing::warn!(error = format!("{error:#}"), "the audit failed; it is made again");
                tokio::time::sleep(AGAIN.min(schedule.every)).await;
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

impl Schedule {
    /// How long it is until the next audit is due. The first ever is due when the service has run for as long as it is between two.
    async fn until_due(&self, begun: Instant) -> anyhow::Result<Duration> {
        let mut connection = self.pool.acquire().await?;
        let Some(last) = audit::last(&mut connection).await? else {
            return Ok(self.every.saturating_sub(begun.elapsed()));
        };
        // Whichever copy made it: what one found, another may find mended.
        measure(&last);
        Ok(self.every.saturating_sub(Duration::try_from_secs_f64(last.began_s_ago).unwrap_or_default()))
    }

    async fn audit_if_due(&self, begun: Instant) -> anyhow::Result<()> {
        let mut session = Session::open(&self.database).await.context("no session for the audit")?;
        if !session.take(TurnOf::Audit).await? {
            tokio::time::sleep(AGAIN.min(self.every)).await;
            return Ok(());
        }
        // Another copy may have finished just now.
        if !self.until_due(begun).await?.is_zero() {
            return Ok(());
        }
        let started = Instant::now();
        let mut named = Vec::new();
        let mut take = |finding: &Finding| {
            if named.len() < NAMED {
                tracing::error!("{finding}");
                named.push(finding.clone());
            }
            Ok(())
        };
        let broker = self.broker().await.map_err(|error| format!("NATS cannot be reached: {error:#}"));
        let asked = broker.as_ref().map_err(String::clone);
        let report = super::run(session.connection(), &self.database, asked, &mut take).await?;
        let took = started.elapsed();
        say(&report, took);
        // A transaction is never left in the middle: it has a task of its own.
        let (schedule, recorded) = (self.clone(), report);
        tokio::spawn(async move { schedule.record(&recorded, took, named).await }).await?
    }

    async fn broker(&self) -> anyhow::Result<Broker> {
        let (connection, _) = tokio::sync::watch::channel(broker::Connection::Up(0));
        let client = broker::connect(&self.nats, connection).await?;
        Ok(Broker { jetstream: broker::jetstream(client), topology: self.topology.clone() })
    }

    /// Records the run, and asks a person about what was found.
    async fn record(&self, report: &Report, took: Duration, named: Vec<Finding>) -> anyhow::Result<()> {
        let mut connection = self.pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        let at = audit::record(&mut transaction, took, &report.findings, report.unchecked.as_deref()).await?;
        let questions: Vec<Review> = named
            .into_iter()
            .map(|finding| Review {
                kind: ReviewKind::Audit,
                detail: finding.to_string(),
                subject: ReviewSubject::Finding(Box::new(finding)),
                cause: 0,
            })
            .collect();
        let opened = reviews::open_many(&mut transaction, &questions, at).await?;
        tell_reviews(&mut transaction, &questions, &reviews::new_ids(&opened), at).await?;
        transaction.commit().await?;
        self.outbox.notify_waiters();
        Ok(())
    }
}

/// The metrics.
#[allow(clippy::cast_precision_loss, reason = "gauges")]
fn measure(last: &Recorded) {
    for (place, count) in last.findings.iter().enumerate() {
        metrics::gauge!(names::AUDIT_FINDINGS, "invariant" => (place + 1).to_string()).set(*count as f64);
    }
    metrics::gauge!(names::AUDIT_SECONDS).set(last.took_s);
    metrics::gauge!(names::AUDIT_LAST_TIME).set(last.ended_at.unix_timestamp() as f64);
}

/// One line.
fn say(report: &Report, took: Duration) {
    let (findings, seconds) = (report.total(), took.as_secs_f64());
    match &report.unchecked {
        None if findings == 0 => tracing::info!(findings, seconds, "audit: nothing found"),
        None => tracing::error!(findings, seconds, "audit: invariants do not hold"),
        Some(why) => tracing::warn!(findings, seconds, "audit: the broker was not asked: {why}"),
    }
}
