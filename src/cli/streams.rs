//! `lastunit streams apply|diff`.

use std::time::Duration;

use anyhow::anyhow;
use async_nats::jetstream::Context;
use clap::Subcommand;
use serde::Serialize;

use super::{Exit, Stop};
use crate::broker;
use crate::config::Settings;
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
}

pub async fn run(command: Streams, settings: &Settings) -> Result<Exit, Stop> {
    let topology = Topology::of(&settings.streams)?;
    topology.judge(Duration::from_secs(settings.inbox.keep_s))?;
    let work = async {
        let (connection, _) = tokio::sync::watch::channel(broker::Connection::Up(0));
        let client = broker::connect(&settings.nats, connection)
            .await
            .map_err(|error| Stop::Unreachable(anyhow!("NATS cannot be reached: {error}")))?;
        let js = broker::jetstream(client);
        match command {
            Streams::Diff { json } => diff(&topology, &js, json).await,
            Streams::Apply { allow_shrink, json } => {
                let changes = topology.apply(&js, allow_shrink).await?;
                print(&changes, json, "nothing to change", change_lines)?;
                Ok(Exit::Fine)
            }
        }
    };
    tokio::time::timeout(GIVE_UP_AFTER, work)
        .await
        .unwrap_or_else(|_| Err(Stop::Unreachable(anyhow!("NATS does not answer"))))
}

async fn diff(topology: &Topology, js: &Context, json: bool) -> Result<Exit, Stop> {
    let differences = topology.diff(js).await?;
    print(&differences, json, "no difference", difference_lines)?;
    // A stream that another program made is wrong use, however it is found.
    TopologyError::shaped(&differences).map_or(Ok(()), Err)?;
    Ok(if differences.is_empty() { Exit::Fine } else { Exit::Found })
}

/// Prints one JSON array, or a few lines a row.
fn print<T: Serialize>(rows: &[T], json: bool, none: &str, lines: impl Fn(&T) -> Vec<String>) -> Result<(), Stop> {
    if json {
        let document = serde_json::to_string_pretty(rows).map_err(anyhow::Error::from)?;
        println!("{document}");
    } else if rows.is_empty() {
        println!("{none}");
    } else {
        for line in rows.iter().flat_map(lines) {
            println!("{line}");
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
