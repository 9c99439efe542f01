//! `lastunit streams apply|diff|acknowledge`.

use std::time::Duration;

use anyhow::anyhow;
use async_nats::jetstream::Context;
use clap::Subcommand;
use serde::Serialize;

use super::{Exit, Stop, database, print};
use crate::broker;
use crate::config::Settings;
use crate::store;
use crate::topology::{Action, Change, Difference, Nature, State, Topology, TopologyError};

/// How long a command tries before it gives up: 10 s are promised, to the end of the process.
const GIVE_UP_AFTER: Duration = Duration::from_secs(9);

/// What to do with the topology.
#[derive(Debug, Subcommand)]
pub enum Streams {
    /// Tell in what the broker's streams and consumers differ from the files. Ends with 0 where nothing differs, else with 1.
    Diff {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Make the broker's streams and consumers what the files say.
    Apply {
        /// Allow what may lose messages: less room, a lower age, fewer subjects.
        #[arg(long)]
        allow_shrink: bool,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Take note of what the broker has lost, so that it is warned of no more. Ends with 1 where there is nothing to take note of.
    Acknowledge {
        /// Which streams, and consumers as STREAM/durable, as the warning names them; all where none is named.
        names: Vec<String>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(command: Streams, settings: &Settings) -> Result<Exit, Stop> {
    let topology = Topology::of(&settings.streams)?;
    topology.judge(Duration::from_secs(settings.inbox.keep_s))?;
    match command {
        Streams::Diff { json } => in_time(async { diff(&topology, &connect(settings).await?, json).await }).await,
        Streams::Apply { allow_shrink, json } => {
            let changes = in_time(async { Ok(topology.apply(&connect(settings).await?, allow_shrink).await?) }).await?;
            show(&changes, json, "nothing to change", change_lines)?;
            Ok(Exit::Fine)
        }
        Streams::Acknowledge { names, json } => acknowledge(settings, &names, json).await,
    }
}

/// Connects, and insists that our streams are there: where it may, it makes them.
pub(super) async fn reach(settings: &Settings, topology: &Topology) -> Result<Context, Stop> {
    in_time(async {
        let js = connect(settings).await?;
        if settings.streams.apply {
            topology.ensure(&js).await?;
        } else if topology.missing(&js).await? {
            return Err(Stop::Misuse(anyhow!("streams or consumers are missing: run `lastunit streams apply`")));
        }
        Ok(js)
    })
    .await
}

async fn connect(settings: &Settings) -> Result<Context, Stop> {
    let (connection, _) = tokio::sync::watch::channel(broker::Connection::Up(0));
    let client = Box::pin(broker::connect(&settings.nats, connection)).await;
    Ok(broker::jetstream(client.map_err(|error| Stop::Unreachable(anyhow!("NATS cannot be reached: {error}")))?))
}

async fn in_time<T>(work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    let tired = |_| Err(Stop::Unreachable(anyhow!("NATS does not answer")));
    tokio::time::timeout(GIVE_UP_AFTER, work).await.unwrap_or_else(tired)
}

/// Only the database is asked: the broker may be as lost as what was in it.
async fn acknowledge(settings: &Settings, names: &[String], json: bool) -> Result<Exit, Stop> {
    let pool = database::open(&settings.database).await?;
    let mut connection = pool.acquire().await.map_err(|error| database::stop(error.into()))?;
    let acknowledged = store::broker::acknowledge(&mut connection, names).await.map_err(database::stop)?;
    show(&acknowledged, json, "nothing to acknowledge", |name| vec![format!("acknowledged {name}")])?;
    Ok(if acknowledged.is_empty() { Exit::Found } else { Exit::Fine })
}

async fn diff(topology: &Topology, js: &Context, json: bool) -> Result<Exit, Stop> {
    let differences = topology.diff(js).await?;
    show(&differences, json, "no difference", difference_lines)?;
    // A stream that another program made is wrong use, however it is found.
    TopologyError::shaped(&differences).map_or(Ok(()), Err)?;
    Ok(if differences.is_empty() { Exit::Fine } else { Exit::Found })
}

/// Prints one JSON array, or a few lines a row.
fn show<T: Serialize>(rows: &[T], json: bool, none: &str, lines: impl Fn(&T) -> Vec<String>) -> anyhow::Result<()> {
    if json {
        print::document(&rows)?;
    } else if rows.is_empty() {
        print::line(none)?;
    } else {
        for line in rows.iter().flat_map(lines) {
            print::line(line)?;
        }
    }
    Ok(())
}

fn difference_lines(difference: &Difference) -> Vec<String> {
    let Difference { id, kind, state } = difference;
    match state {
        State::Missing => vec![format!("{kind} {id}: missing")],
        State::Overlaps { subject, by } => {
            vec![format!("{kind} {id}: cannot be made, stream {by} has {subject}")]
        }
        State::Differs { fields } => fields
            .iter()
            .map(|field| {
                let note = match field.nature {
                    Nature::Applies => "",
                    Nature::Shrinks => " (shrinks: needs --allow-shrink)",
                    Nature::Fixed => " (cannot be changed)",
                };
                format!("{kind} {id}: {field}{note}")
            })
            .collect(),
    }
}

fn change_lines(change: &Change) -> Vec<String> {
    let Change { id, kind, fields, .. } = change;
    match change.action {
        Action::Created => vec![format!("{kind} {id}: created")],
        Action::Updated => fields
            .iter()
            .map(|field| format!("{kind} {id}: {} was {}, is {}", field.field, field.have, field.want))
            .collect(),
    }
}

impl From<TopologyError> for Stop {
    fn from(error: TopologyError) -> Self {
        match error {
            TopologyError::Unreachable(_) => Self::Unreachable(error.into()),
            TopologyError::Refused { .. } => Self::Failed(error.into()),
            TopologyError::File { .. }
            | TopologyError::Prefix(_)
            | TopologyError::Judged(_)
            | TopologyError::Shaped(_)
            | TopologyError::Shrinks(_)
            | TopologyError::Ignored { .. } => Self::Misuse(error.into()),
        }
    }
}
