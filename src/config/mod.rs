//! Settings: built-in defaults, then a TOML file, then the environment.

use std::path::Path;

/// All settings of the program.
#[derive(Debug, Clone)]
pub struct Settings {}

/// A setting that is unknown, of the wrong type, or out of bounds.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl Settings {
    /// Reads the settings.
    pub fn load(_file: Option<&Path>) -> Result<Self, ConfigError> {
        Ok(Self {})
    }
}
