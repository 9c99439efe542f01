//! `lastunit audit`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};

use super::print::{self, List};
use super::{Exit, Stop, database};
use crate::audit::{self, Broker, Interrupted};
use crate::broker;
use crate::config::Settings;
use crate::domain::Finding;
use crate::messages;
use crate::store::{Fault, pool};
use crate::topology::Topology;

/// How long NATS may take to be reached.
const REACH_WITHIN: Duration = Duration::from_secs(5);

/// Check the invariants of tables and streams.
#[derive(Debug, Args)]
pub struct Audit {
    /// Print one JSON document: an array of findings.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: &Audit, settings: &Settings) -> Result<Exit, Stop> {
    let topology = Arc::new(Topology::load(settings.streams.dir.as_deref(), &settings.streams.prefix)?);
    drop(database::open(&settings.database).await?);
    let mut session = pool::session(&settings.database).await.map_err(|error| Interrupted::from(error).stop())?;
    let broker = reach(settings, topology).await;
    let mut list = List::begin(command.json);
    let asked = broker.as_ref().map_err(String::clone);
    let mut add = |finding: &Finding| list.add(&row(finding), || finding.to_string());
    let report = audit::run(&mut session, &settings.database, asked, &mut add).await;
    let report = report.map_err(Interrupted::stop)?;
    match report.total() {
        0 if report.unchecked.is_some() => list.end(None)?,
        0 => list.end(Some("nothing found"))?,
        found => list.sum_up(format!("{found} found"))?,
    }
    let unchecked = report.unchecked.as_ref().map(|why| {
        anyhow!("what became of messages (invariant 6) and what was told (invariant 7) was not checked: {why}")
    });
    match (report.total(), unchecked) {
        (0, None) => Ok(Exit::Fine),
        (0, Some(why)) => Err(Stop::Unreachable(why)),
        (_, why) => {
            if let Some(why) = why {
                print::note(format!("lastunit: {why}"));
            }
            Ok(Exit::Found)
        }
    }
}

/// A finding as a row of JSON.
fn row(finding: &Finding) -> Value {
    let mut row = json!({ "id": finding.cause().replace('\t', " ") });
    if let (Some(row), Value::Object(fields)) = (row.as_object_mut(), messages::finding(finding)) {
        row.extend(fields);
    }
    row
}

/// The broker, or why there is none.
pub(super) async fn reach(settings: &Settings, topology: Arc<Topology>) -> Result<Broker, String> {
    let (connection, _) = tokio::sync::watch::channel(broker::Connection::Up(0));
    let reached = tokio::time::timeout(REACH_WITHIN, broker::connect(&settings.nats, connection)).await;
    match reached {
        Ok(Ok(client)) => Ok(Broker { jetstream: broker::jetstream(client), topology }),
        Ok(Err(error)) => Err(format!("NATS cannot be reached: {error}")),
        Err(_) => Err("NATS does not answer".to_owned()),
    }
}

impl Interrupted {
    /// How a command ends over it.
    pub(super) fn stop(self) -> Stop {
        match self {
            Self::Store(error) if error.fault() == Fault::Away => {
                Stop::Unreachable(anyhow!(error).context("PostgreSQL"))
            }
            Self::Store(error) => Stop::Failed(error.into()),
            Self::Broker(error) => Stop::Unreachable(error),
            Self::Report(error) => Stop::Failed(error),
        }
    }
}
