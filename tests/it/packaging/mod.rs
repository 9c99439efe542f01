//! What the program is shipped in, checked as far as that goes without running it: compose.yaml, the Dockerfile, the systemd unit, the broker's
//! configuration, and that each of their settings, files and secrets is one there is.
//!
//! `compose-spec.json` is the published schema of the Compose specification (github.com/compose-spec/compose-spec, Apache-2.0).

mod broker;
mod compose;
mod mint;
mod systemd;

use std::path::{Path, PathBuf};

/// A file of the repository.
fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
