//! `lastunit config check|show`.

use clap::Subcommand;

use super::{Exit, Stop};
use crate::config::Settings;

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum Config {}

pub fn run(command: Config, _settings: &Settings) -> Result<Exit, Stop> {
    match command {}
}
