//! `[outbox]`

use serde::{Deserialize, Serialize};

use super::MAX_SPAN_S;
use super::problems::Problems;

/// How long what was told is kept.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Outbox {
    /// How long rows stay after the broker has acknowledged them, in seconds, 1 to ten years: as far back `replay` can refill it.
    pub keep_s: u64,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { keep_s: 259_200 }
    }
}

impl Outbox {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("outbox.keep_s", self.keep_s, 1..=MAX_SPAN_S);
    }
}
