//! `lastunit config check|show`.

use anyhow::Context as _;
use clap::Subcommand;

use super::{Exit, Stop};
use crate::config::Settings;

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
            println!("channels.{name}: takes orders, is told nothing: no {key}");
        }
    }
    println!("configuration is fine");
    Ok(Exit::Fine)
}

/// What only the stream files can tell: `inbox.keep_s` must be above the `max_age` of every inbound stream.
#[expect(clippy::unnecessary_wraps, reason = "the topology answers here")]
fn judge_streams(_settings: &Settings) -> Result<(), Stop> {
    Ok(())
}

fn show(settings: &Settings, json: bool) -> Result<Exit, Stop> {
    let text = if json {
        serde_json::to_string_pretty(settings).context("settings as JSON")?
    } else {
        toml::to_string(settings).context("settings as TOML")?
    };
    println!("{}", text.trim_end());
    Ok(Exit::Fine)
}
