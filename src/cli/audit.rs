//! `lastunit audit`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::print::{self, List};
use super::{Exit, Stop, database};
use crate::audit::{self, Broker, Interrupted, Suspects, Treated};
use crate::broker;
use crate::config::Settings;
use crate::domain::{EntryKind, Finding, Remedy, by_hand};
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
    /// Print the compensating entries that set stock rows right, and what is left to a person; change nothing.
    #[arg(long)]
    repair_plan: bool,
    /// Apply those entries, each only if it is still needed.
    #[arg(long, requires = "repair_plan")]
    apply: bool,
}

pub async fn run(command: &Audit, settings: &Settings) -> Result<Exit, Stop> {
    let topology = Arc::new(Topology::load(settings.streams.dir.as_deref(), &settings.streams.prefix)?);
    drop(database::open(&settings.database).await?);
    let mut session = pool::session(&settings.database).await.map_err(|error| Interrupted::from(error).stop())?;
    let broker = reach(settings, topology).await;
    let mut list = List::begin(command.json);
    let asked = broker.as_ref().map_err(String::clone);
    if command.repair_plan {
        return repair(command, settings, &mut session, asked, list).await;
    }
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

/// Prints what there is to do about what is found, and does it where that is wanted.
async fn repair(
    command: &Audit,
    settings: &Settings,
    session: &mut PgConnection,
    broker: Result<&Broker, String>,
    mut list: List,
) -> Result<Exit, Stop> {
    let mut suspects = Suspects::default();
    let mut left = 0_u64;
    let mut add = |finding: &Finding| {
        if suspects.add(finding) {
            return Ok(());
        }
        left += 1;
        let mut row = row(finding);
        row["repair"] = "by_hand".into();
        row["look"] = by_hand(finding).into();
        list.add(&row, || format!("by hand: {finding}; {}", by_hand(finding)))
    };
    let report = audit::run(session, &settings.database, broker, &mut add).await.map_err(Interrupted::stop)?;
    let mut entries = 0_u64;
    let mut take = |treated: &Treated| {
        left += u64::from(matches!(treated.remedy, Remedy::ByHand(_)));
        entries += u64::from(matches!(treated.remedy, Remedy::Enter(_)));
        list.add(&treated_row(treated), || treated_line(treated))
    };
    suspects.treat(session, command.apply, &mut take).await.map_err(Interrupted::stop)?;
    left += suspects.left_out;
    if report.total() == 0 {
        list.end(Some("nothing found"))?;
    } else {
        let did = if command.apply { "applied" } else { "planned" };
        let out = match suspects.left_out {
            0 => String::new(),
            more => format!(", {more} of them in rows for another run"),
        };
        list.sum_up(format!("{entries} {did}, {left} left{out}"))?;
    }
    if let Some(why) = &report.unchecked {
        let why = anyhow!("what became of messages and what was told was not checked: {why}");
        if left == 0 && (command.apply || report.total() == 0) {
            return Err(Stop::Unreachable(why));
        }
        print::note(format!("lastunit: {why}"));
    }
    let is_right = if command.apply { left == 0 } else { report.total() == 0 };
    Ok(if is_right { Exit::Fine } else { Exit::Found })
}

fn treated_row(treated: &Treated) -> Value {
    let mut row = json!({ "sku": treated.key.sku.as_str(), "warehouse": treated.key.warehouse.as_str() });
    match treated.remedy {
        Remedy::Enter(entry) => {
            row["repair"] = if treated.event_id.is_some() { "applied" } else { "planned" }.into();
            row["kind"] = entry.word().into();
            row["before"] = entry.before.into();
            row["after"] = entry.after.into();
            if let Some(event_id) = &treated.event_id {
                row["event_id"] = event_id.as_str().into();
            }
        }
        Remedy::Healed => row["repair"] = "not_needed".into(),
        Remedy::ByHand(look) => {
            row["repair"] = "by_hand".into();
            row["look"] = look.into();
        }
    }
    row
}

fn treated_line(treated: &Treated) -> String {
    let place = format!("sku {}, warehouse {}", treated.key.sku, treated.key.warehouse);
    match (treated.remedy, &treated.event_id) {
        (Remedy::Enter(entry), None) => {
            format!("planned: {place}: {} from {} to {}", figure_of(entry.kind), entry.before, entry.after)
        }
        (Remedy::Enter(entry), Some(event_id)) => {
            let figure = figure_of(entry.kind);
            format!("applied: {place}: {figure} from {} to {}, as {event_id}", entry.before, entry.after)
        }
        (Remedy::Healed, _) => format!("not needed any more: {place}"),
        (Remedy::ByHand(look), _) => format!("by hand: {place}: {look}"),
    }
}

fn figure_of(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Reserved => "reserved",
        EntryKind::Counted => "the movements",
        EntryKind::Retold => "told again, version",
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
