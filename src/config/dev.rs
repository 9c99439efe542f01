//! `[dev]`

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which servers `dev` starts. Both are looked for on `PATH` and where distributions put them when not named.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Dev {
    /// The directory of PostgreSQL's binaries.
    pub postgres_bin: Option<PathBuf>,
    /// The nats-server.
    pub nats_server: Option<PathBuf>,
}
