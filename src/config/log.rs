//! `[log]`

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use super::problems::Problems;

/// What is logged to standard error, and how.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Log {
    /// `off`, `error`, `warn`, `info`, `debug`, `trace`, or directives such as `info,lastunit=debug`. The variable
    /// `RUST_LOG` wins.
    pub level: String,
    /// Lines for people or for machines.
    pub format: LogFormat,
}

/// Lines for people or for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One readable line a record.
    Text,
    /// One JSON document a record.
    Json,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Text }
    }
}

impl Log {
    pub(super) fn judge(&self, problems: &mut Problems) {
        const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
        // Any word is a directive to the filter, which takes it for a target's name.
        let known = |directive: &str| {
            directive.contains(['=', '[']) || LEVELS.contains(&directive.to_ascii_lowercase().as_str())
        };
        let all_known = self.level.split(',').map(str::trim).all(known);
        if !all_known || EnvFilter::try_new(&self.level).is_err() {
            problems.add(
                "log.level",
                format_args!(
                    "{:?} is not one of {}, or directives such as info,lastunit=debug",
                    self.level,
                    LEVELS.join(", ")
                ),
            );
        }
    }
}
