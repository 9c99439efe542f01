//! `[hold]`

use serde::{Deserialize, Serialize};

use super::MAX_SPAN_S;
use super::problems::Problems;

/// How long a hold lives, in seconds: 1 ≤ `min_s` ≤ `default_s` ≤ `max_s` ≤ ten years.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Hold {
    /// The life of a hold whose order names none.
    pub default_s: u64,
    /// The shortest life an order may ask for; what is shorter is raised to it.
    pub min_s: u64,
    /// The longest life an order may ask for, and the longest that prolonging gives, counted from when it was held.
    pub max_s: u64,
}

impl Default for Hold {
    fn default() -> Self {
        Self { default_s: 900, min_s: 5, max_s: 86_400 }
    }
}

impl Hold {
    pub(super) fn judge(&self, problems: &mut Problems) {
        let Self { default_s, min_s, max_s } = *self;
        problems.within("hold.min_s", min_s, 1..=MAX_SPAN_S);
        problems.within("hold.max_s", max_s, 1..=MAX_SPAN_S);
        if min_s > max_s {
            problems.add("hold.min_s", format_args!("{min_s} is above hold.max_s, {max_s}"));
        } else {
            problems.within("hold.default_s", default_s, min_s..=max_s);
        }
    }
}
