//! `[dead_letters]`

use serde::{Deserialize, Serialize};

use super::MAX_SPAN_S;
use super::problems::Problems;

/// How long dead letters are kept that are resolved. Open ones stay.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct DeadLetters {
    /// In seconds since it was resolved, 1 to ten years, and never less than `inbox.keep_s`: as long as the broker may deliver the message
    /// again, its row is what tells that it was refused.
    pub keep_s: u64,
}

impl Default for DeadLetters {
    fn default() -> Self {
        Self { keep_s: 2_592_000 }
    }
}

impl DeadLetters {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("dead_letters.keep_s", self.keep_s, 1..=MAX_SPAN_S);
    }
}
