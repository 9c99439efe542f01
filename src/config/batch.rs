//! `[batch]`

use serde::{Deserialize, Serialize};

use super::problems::Problems;

/// How much one transaction takes. A batch never waits to become larger.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Batch {
    /// Messages at most, 1 to 10,000.
    pub max: usize,
    /// Bytes of bodies at most, 1 to 64 MiB. A single larger message is a batch of its own.
    pub max_bytes: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self { max: 2_000, max_bytes: 4_194_304 }
    }
}

impl Batch {
    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("batch.max", self.max, 1..=10_000);
        problems.within("batch.max_bytes", self.max_bytes, 1..=67_108_864);
    }
}
