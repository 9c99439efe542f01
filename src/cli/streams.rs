//! `lastunit streams apply|diff`.

use clap::Subcommand;

use super::{Exit, Stop};
use crate::config::Settings;

/// What to do with the topology.
#[derive(Debug, Subcommand)]
pub enum Streams {}

pub async fn run(command: Streams, _settings: &Settings) -> Result<Exit, Stop> {
    match command {}
}
