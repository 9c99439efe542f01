//! `[sweeper]`

use serde::{Deserialize, Serialize};

use super::problems::Problems;

/// The timer that looks for what is overdue.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Sweeper {
    /// Whether this copy sweeps. Correctness needs no sweeper: whoever meets a due hold expires it first.
    pub enabled: bool,
    /// The longest pause between two looks, in milliseconds, 10 to an hour.
    pub max_interval_ms: u64,
}

impl Default for Sweeper {
    fn default() -> Self {
        Self { enabled: true, max_interval_ms: 1_000 }
    }
}

impl Sweeper {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("sweeper.max_interval_ms", self.max_interval_ms, 10..=3_600_000);
    }
}
