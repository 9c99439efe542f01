//! `lastunit config check|show`.

use std::time::Duration;

use anyhow::Context as _;
use clap::Subcommand;

use super::{Exit, Stop, print};
use crate::config::Settings;
use crate::topology::Topology;

/// What to do with the configuration.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Config {
    /// Judge all that can be judged without a connection.
    Check,
    /// Print the settings in force, as TOML, without secrets.
    Show {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

/// The settings have been read and judged by then: wrong ones never come here.
pub fn run(command: Config, settings: &Settings) -> Result<Exit, Stop> {
    match command {
        Config::Check => check(settings),
        Config::Show { json } => show(settings, json),
    }
}

fn check(settings: &Settings) -> Result<Exit, Stop> {
    judge_streams(settings)?;
    for (name, channel) in &settings.channels {
        if let Some(key) = channel.lacks() {
            print::line(format!("channels.{name}: takes orders, is told nothing: no {key}"))?;
        }
    }
    print::line("configuration is fine")?;
    Ok(Exit::Fine)
}

/// What only the stream files can tell: `inbox.keep_s` must be above the `max_age` of every inbound stream.
fn judge_streams(settings: &Settings) -> Result<(), Stop> {
    let topology = Topology::of(&settings.streams)?;
    Ok(topology.judge(Duration::from_secs(settings.inbox.keep_s))?)
}

fn show(settings: &Settings, json: bool) -> Result<Exit, Stop> {
    if json {
        print::document(settings)?;
    } else {
        print::text(toml::to_string(settings).context("settings as TOML")?)?;
    }
    Ok(Exit::Fine)
}
