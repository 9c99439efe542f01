//! `[streams]`

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::problems::Problems;

/// How streams are named, where their definitions are, and whether they are applied.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Streams {
    /// Stands before every stream's name, so that several cells share a broker: at most 32 of `A-Z`, `a-z`, `0-9`, `_`, `-`.
    pub prefix: String,
    /// A directory of definitions that replace the built-in ones.
    pub dir: Option<PathBuf>,
    /// Whether `run` creates and updates streams and consumers first.
    pub apply: bool,
    /// On how many nodes of a cluster each stream stands, 1, 3 or 5; 0: what its file says.
    pub replicas: u8,
    /// How long `STOCK_LATEST` may stand still behind `STOCK` before that is said and, where `apply` is set, its sourcing begun anew, in milliseconds,
    /// 1000 to a day.
    pub stalled_after_ms: u64,
}

impl Default for Streams {
    fn default() -> Self {
        Self { prefix: String::new(), dir: None, apply: true, replicas: 0, stalled_after_ms: 30_000 }
    }
}

impl Streams {
    pub(super) fn judge(&self, problems: &mut Problems) {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if self.prefix.len() > 32 || !self.prefix.bytes().all(plain) {
            problems
                .add("streams.prefix", format_args!("{:?} is not at most 32 of A-Z, a-z, 0-9, _ and -", self.prefix));
        }
        problems.within("streams.stalled_after_ms", self.stalled_after_ms, 1_000..=86_400_000);
        if let Some(dir) = self.dir.as_ref().filter(|dir| !dir.is_dir()) {
            problems.add("streams.dir", format_args!("{} is not a directory", dir.display()));
        }
        // An even number tolerates no more losses than the odd one below it.
        if ![0, 1, 3, 5].contains(&self.replicas) {
            problems.add("streams.replicas", format_args!("{} is not 0, 1, 3 or 5", self.replicas));
        }
    }
}
