//! `[inbox]`

use serde::{Deserialize, Serialize};

use super::MAX_SPAN_S;
use super::problems::Problems;

/// How long event ids are remembered.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Inbox {
    /// In seconds, up to ten years, and above the `max_age` of every inbound stream: else a message outlives its memory.
    pub keep_s: u64,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { keep_s: 2_592_000 }
    }
}

impl Inbox {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("inbox.keep_s", self.keep_s, 1..=MAX_SPAN_S);
    }
}
