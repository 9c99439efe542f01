//! Settings read from a file and variables of a test's own, not from the process.

use std::fs;
use std::path::PathBuf;

use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::*;

mod mistakes;
mod secrets;
mod sources;

fn load(file: &str, variables: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    let dir = TempDir::new().unwrap();
    let path = write(&dir, "lastunit.toml", file);
    let variables = variables.iter().map(|(name, text)| (name.into(), text.into()));
    Settings::load_from(Some(&path), variables)
}

fn write(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

/// The problems, without the (temporary) directory in them.
fn problems(file: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let error = load(file, variables).unwrap_err();
    let without_dir = |problem: &String| match problem.split_once(" (/") {
        Some((head, tail)) => format!("{head} ({}", tail.rsplit('/').next().unwrap_or_default()),
        None => problem.clone(),
    };
    error.problems().iter().map(without_dir).collect()
}
