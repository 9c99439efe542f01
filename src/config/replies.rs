//! `[replies]`

use serde::{Deserialize, Serialize};

use super::problems::Problems;

/// Where replies may be sent.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Replies {
    /// What a reply subject begins with: whole tokens, ending in a dot, without wildcards, outside the broker's `$…` and the
    /// subjects of this program, into which nobody may write through us. An empty list sends no replies.
    pub prefixes: Vec<String>,
}

/// The first tokens of the subjects this program takes and tells.
const OURS: [&str; 10] =
    ["order", "payment", "shipment", "inventory", "stock", "reservation", "refund", "review", "dead", "lastunit"];

impl Default for Replies {
    fn default() -> Self {
        Self { prefixes: vec!["_INBOX.".to_owned()] }
    }
}

impl Replies {
    pub(super) fn judge(&self, problems: &mut Problems) {
        for prefix in self.prefixes.iter().filter(|prefix| !is_allowed(prefix)) {
            problems.add(
                "replies.prefixes",
                format_args!("{prefix:?} is not whole tokens ending in a dot, or belongs to the broker or to lastunit"),
            );
        }
    }
}

fn is_allowed(prefix: &str) -> bool {
    let Some(tokens) = prefix.strip_suffix('.') else {
        return false;
    };
    let literal = |token: &str| {
        !token.is_empty() && !token.contains(|c: char| c.is_whitespace() || c.is_control() || "*>".contains(c))
    };
    let first = tokens.split('.').next().unwrap_or_default();
    tokens.split('.').all(literal) && !first.starts_with('$') && !OURS.contains(&first)
}
