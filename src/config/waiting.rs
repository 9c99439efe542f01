//! `[waiting]`

use serde::{Deserialize, Serialize};

use super::MAX_SPAN_S;
use super::problems::Problems;

/// What came before its order.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Waiting {
    /// How long a command waits for its order before a review is opened, in seconds, 1 to ten years.
    pub max_s: u64,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { max_s: 86_400 }
    }
}

impl Waiting {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("waiting.max_s", self.max_s, 1..=MAX_SPAN_S);
    }
}
