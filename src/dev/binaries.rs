//! Where this machine keeps PostgreSQL and nats-server.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::Leash;

/// All of these must stand in one directory: strays that belong to no installation are passed over.
const POSTGRES: [&str; 3] = ["postgres", "initdb", "pg_ctl"];
const NATS_SERVER: &str = "nats-server";

/// Directories that hold one directory a version: Debian's, Fedora's (of the PostgreSQL project), Homebrew's on both its prefixes.
const VERSIONED: [&str; 4] = ["/usr/lib/postgresql", "/usr", "/opt/homebrew/opt", "/usr/local/opt"];
/// Directories that packages put binaries in and that an unprivileged PATH may leave out.
const USUAL: [&str; 5] = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/usr/local/sbin"];

/// The programs that private servers are made of.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// The directory of PostgreSQL's binaries.
    pub postgres: PathBuf,
    /// The NATS server.
    pub nats_server: PathBuf,
    /// What ties them to us.
    pub leash: Leash,
}

impl Binaries {
    /// Takes what is named; else finds it on PATH, else where distributions put it, newest first.
    pub fn find(postgres_bin: Option<&Path>, nats_server: Option<&Path>) -> Result<Self> {
        Ok(Self {
            postgres: match postgres_bin {
                Some(named) => whole(named).with_context(|| format!("no working PostgreSQL in {}", named.display()))?,
                None => find_postgres()?,
            },
            nats_server: match nats_server {
                Some(named) => {
                    working(named).with_context(|| format!("{} is no working nats-server", named.display()))?
                }
                None => find_nats_server()?,
            },
            leash: Leash::find(),
        })
    }
}

fn find_postgres() -> Result<PathBuf> {
    let mut places = on_path();
    places.extend(VERSIONED.iter().flat_map(|parent| newest_first(parent)));
    places.extend(USUAL.map(PathBuf::from));
    match places.iter().find_map(|dir| whole(dir)) {
        Some(dir) => Ok(dir),
        None => bail!(
            "no PostgreSQL server found: install it (Debian: `postgresql`, Fedora: `postgresql-server`, Homebrew: \
             `postgresql@18`), or name the directory of its binaries with LASTUNIT_DEV__POSTGRES_BIN"
        ),
    }
}

fn find_nats_server() -> Result<PathBuf> {
    let mut places = on_path();
    places.extend(USUAL.map(PathBuf::from));
    match places.iter().find_map(|dir| working(&dir.join(NATS_SERVER))) {
        Some(binary) => Ok(binary),
        None => bail!(
            "no nats-server found: install it (Debian and Homebrew: `nats-server`), or name it with \
             LASTUNIT_DEV__NATS_SERVER"
        ),
    }
}

/// The directory, its symbolic links followed, if PostgreSQL stands in it whole and answers: a link elsewhere to a binary of
/// another place says nothing about where its fellows and its share are.
fn whole(dir: &Path) -> Option<PathBuf> {
    let real = dir.join(POSTGRES[0]).canonicalize().ok()?;
    let dir = real.parent()?;
    let stands = POSTGRES.iter().all(|name| dir.join(name).is_file());
    (stands && answers(&real)).then(|| dir.to_path_buf())
}

fn working(binary: &Path) -> Option<PathBuf> {
    let real = binary.canonicalize().ok()?;
    answers(&real).then_some(real)
}

fn answers(binary: &Path) -> bool {
    Command::new(binary)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn on_path() -> Vec<PathBuf> {
    env::var_os("PATH").map_or_else(Vec::new, |path| env::split_paths(&path).collect())
}

/// `parent/<something with a version>/bin`, the highest version first.
fn newest_first(parent: &str) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.trim_start_matches("postgresql@").trim_start_matches("pgsql-").parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort_unstable_by(|left, right| right.cmp(left));
    found.into_iter().map(|(_, dir)| dir).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_binary_is_no_postgres() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("postgres"), "").unwrap();
        assert_eq!(whole(dir.path()), None);
    }

    #[test]
    fn a_postgres_that_does_not_answer_is_none() {
        let dir = tempfile::tempdir().unwrap();
        for name in POSTGRES {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(whole(dir.path()), None);
    }

    #[test]
    fn the_newest_version_comes_first_by_number() {
        let dir = tempfile::tempdir().unwrap();
        for version in ["9", "postgresql@15", "pgsql-18", "not-a-version"] {
            fs::create_dir(dir.path().join(version)).unwrap();
        }
        let found = newest_first(dir.path().to_str().unwrap());
        let expected = ["pgsql-18", "postgresql@15", "9"].map(|version| dir.path().join(version).join("bin"));
        assert_eq!(found, expected);
    }
}
