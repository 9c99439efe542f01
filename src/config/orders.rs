//! `[orders]`

use serde::{Deserialize, Serialize};

/// Whether new orders are taken.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Orders {
    /// When false, new orders, rejected retries and expired renewals are refused `not_accepting`. Holds there are, and late payments, are honoured.
    pub accept: bool,
}

impl Default for Orders {
    fn default() -> Self {
        Self { accept: true }
    }
}
