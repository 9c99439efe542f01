//! `[startup]`

use serde::{Deserialize, Serialize};

use super::problems::Problems;

/// How long a start waits for its servers.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Startup {
    /// How long `run` and `dev` wait for the database and NATS, in seconds, 0 to a day.
    pub wait_s: u64,
}

impl Default for Startup {
    fn default() -> Self {
        Self { wait_s: 60 }
    }
}

impl Startup {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("startup.wait_s", self.wait_s, 0..=86_400);
    }
}
