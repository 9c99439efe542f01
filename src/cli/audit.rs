//! `lastunit audit`.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;

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
    let mut list = List { out: BufWriter::new(io::stdout()), json: command.json, empty: true };
    list.begin()?;
    let asked = broker.as_ref().map_err(String::clone);
    let report = audit::run(&mut session, &settings.database, asked, &mut |finding| list.add(finding)).await;
    let report = report.map_err(Interrupted::stop)?;
    list.end(report.total(), report.unchecked.is_none())?;
    let unchecked = report.unchecked.as_ref().map(|why| {
        anyhow!("what became of messages (invariant 6) and what was told (invariant 7) was not checked: {why}")
    });
    match (report.total(), unchecked) {
        (0, None) => Ok(Exit::Fine),
        (0, Some(why)) => Err(Stop::Unreachable(why)),
        (_, why) => {
            if let Some(why) = why {
                eprintln!("lastunit: {why}");
            }
            Ok(Exit::Found)
        }
    }
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

/// Findings, written as they come.
struct List<W: Write> {
    out: W,
    json: bool,
    empty: bool,
}

impl<W: Write> List<W> {
    fn begin(&mut self) -> anyhow::Result<()> {
        if self.json {
            write!(self.out, "[")?;
        }
        Ok(())
    }

    fn add(&mut self, finding: &Finding) -> anyhow::Result<()> {
        if self.json {
            let mut row = serde_json::json!({ "id": finding.cause().replace('\t', " ") });
            if let (Some(row), serde_json::Value::Object(fields)) = (row.as_object_mut(), messages::finding(finding)) {
                row.extend(fields);
            }
            write!(self.out, "{}\n  {row}", if self.empty { "" } else { "," })?;
        } else {
            writeln!(self.out, "{finding}")?;
        }
        self.empty = false;
        Ok(())
    }

    fn end(&mut self, findings: u64, complete: bool) -> anyhow::Result<()> {
        if self.json {
            writeln!(self.out, "{}]", if self.empty { "" } else { "\n" })?;
        } else if findings > 0 {
            writeln!(self.out, "{findings} found")?;
        } else if complete {
            writeln!(self.out, "nothing found")?;
        }
        Ok(self.out.flush()?)
    }
}
