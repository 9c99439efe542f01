//! `[publisher]`

use serde::{Deserialize, Serialize};

use super::MAX_SPAN_S;
use super::problems::Problems;

/// How long what channels were told is kept.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Publisher {
    /// How long attempts, observations and versions that are done with stay, in seconds, 60 to ten years: as far back reports can look.
    pub keep_s: u64,
}

impl Default for Publisher {
    fn default() -> Self {
        Self { keep_s: 2_592_000 }
    }
}

impl Publisher {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("publisher.keep_s", self.keep_s, 60..=MAX_SPAN_S);
    }
}
