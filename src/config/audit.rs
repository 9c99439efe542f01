//! `[audit]`

use serde::{Deserialize, Serialize};

use super::MAX_SPAN_S;
use super::problems::Problems;

/// The audit that `run` makes by itself.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Audit {
    /// How long from one to the next over all copies, in seconds, up to ten years; 0: never.
    pub every_s: u64,
}

impl Default for Audit {
    fn default() -> Self {
        Self { every_s: 3_600 }
    }
}

impl Audit {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("audit.every_s", self.every_s, 0..=MAX_SPAN_S);
    }
}
