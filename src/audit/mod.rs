//! The audit: the invariants, asked of the tables in one snapshot, and of the broker where it knows more.
//!
//! It reads, and locks nothing that anybody waits for. Findings come as they are found: neither the tables nor the streams are ever in memory.
//!
//! A running system gives no false alarm, because of the order in which things are asked:
//!
//! - What a consumer has acknowledged is asked *before* the snapshot: what was acknowledged was committed, and the snapshot has it (`fates`).
//! - What was told of a row is asked *after* the snapshot: what the snapshot has as told, the broker had by then. What the broker tells beyond
//!   it is compared with the table once more, read after the broker: nothing is told that is not committed (`told`).
//!
//! `schedule` does it again and again inside the service.

mod fates;
mod repair;
mod schedule;
mod told;

pub use repair::{Suspects, Treated};
pub use schedule::{Schedule, run as run_schedule};
pub(crate) use told::{Latest, caught_up};

use std::sync::Arc;

use async_nats::jetstream;
use futures::TryStreamExt;
use sqlx::PgConnection;

use crate::config::Database;
use crate::domain::Finding;
use crate::store::audit::{self, Sweep};
use crate::store::{StoreError, pool};
use crate::topology::Topology;

/// The broker, as the audit asks it. A connection of its own: a message that the client cannot read costs nobody else's.
#[derive(Debug, Clone)]
pub struct Broker {
    /// Streams.
    pub jetstream: jetstream::Context,
    /// What they are called.
    pub topology: Arc<Topology>,
}

/// How an audit went.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// How much was found, by invariant: the first is that of invariant 1.
    pub findings: [u64; 9],
    /// Why the broker could not be asked, if it could not: then nothing is said of invariant 6 but what waits, and of 7 but that rows have versions.
    pub unchecked: Option<String>,
}

impl Report {
    /// How much was found.
    pub fn total(&self) -> u64 {
        self.findings.iter().sum()
    }
}

/// Why an audit was not finished.
#[derive(Debug, thiserror::Error)]
pub enum Interrupted {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The broker failed, or says what cannot be.
    #[error("{0:#}")]
    Broker(anyhow::Error),
    /// Whoever wants to know of findings failed.
    #[error("{0:#}")]
    Report(anyhow::Error),
}

impl From<sqlx::Error> for Interrupted {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Takes findings, and counts them.
struct Sink<'a> {
    take: &'a mut (dyn FnMut(&Finding) -> anyhow::Result<()> + Send),
    findings: [u64; 9],
}

impl Sink<'_> {
    fn found(&mut self, finding: &Finding) -> Result<(), Interrupted> {
        self.findings[usize::from(finding.invariant) - 1] += 1;
        (self.take)(finding).map_err(Interrupted::Report)
    }
}

/// Checks everything, on a session that is in no transaction. `take` gets every finding, by invariant and then in the order of keys.
/// Without a broker (or why there is none) only the tables are asked.
///
/// # Errors
/// The database's, and what `take` says. A broker that fails on the way is no error: the report says what was not checked.
pub async fn run(
    session: &mut PgConnection,
    database: &Database,
    broker: Result<&Broker, String>,
    take: &mut (dyn FnMut(&Finding) -> anyhow::Result<()> + Send),
) -> Result<Report, Interrupted> {
    let mut sink = Sink { take, findings: [0; 9] };
    let mut unchecked = None;
    // Before the snapshot: what is acknowledged by now, the snapshot has.
    let mut asked = match broker {
        Ok(broker) => match fates::acknowledged(broker).await {
            Ok(acknowledged) => Some((broker, acknowledged)),
            Err(error) => {
                unchecked = Some(format!("{error:#}"));
                None
            }
        },
        Err(why) => {
            unchecked = Some(why);
            None
        }
    };

    let mut snapshot = audit::begin(session).await?;
    for sweep in Sweep::OF_STOCK_AND_ORDERS {
        look(&mut snapshot, sweep, &mut sink).await?;
    }
    look(&mut snapshot, Sweep::Waiting, &mut sink).await?;
    audit::look_up(&mut snapshot).await?;
    if let Some((broker, acknowledged)) = &asked {
        let checked = fates::check(&mut snapshot, broker, acknowledged, &mut sink).await;
        if let Some(why) = broker_failed(checked)? {
            (unchecked, asked) = (Some(why), None);
        }
    }
    audit::sweep_again(&mut snapshot).await?;
    look(&mut snapshot, Sweep::Versions, &mut sink).await?;
    if let Some((broker, _)) = asked {
        // A second session, for what is there after the broker was asked.
        let mut present = pool::session(database).await?;
        unchecked = broker_failed(told::check(&mut snapshot, &mut present, broker, &mut sink).await)?;
    }
    audit::sweep_again(&mut snapshot).await?;
    for sweep in Sweep::OF_CHANNELS {
        look(&mut snapshot, sweep, &mut sink).await?;
    }
    look(&mut snapshot, Sweep::Money, &mut sink).await?;
    snapshot.rollback().await?;
    Ok(Report { findings: sink.findings, unchecked })
}

async fn look(snapshot: &mut PgConnection, sweep: Sweep, sink: &mut Sink<'_>) -> Result<(), Interrupted> {
    let mut findings = audit::sweep(snapshot, sweep);
    while let Some(finding) = findings.try_next().await? {
        sink.found(&finding)?;
    }
    Ok(())
}

/// Why the broker failed, if it did; other failures go on.
fn broker_failed(checked: Result<(), Interrupted>) -> Result<Option<String>, Interrupted> {
    match checked {
        Ok(()) => Ok(None),
        Err(Interrupted::Broker(error)) => Ok(Some(format!("{error:#}"))),
        Err(other) => Err(other),
    }
}
