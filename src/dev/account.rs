//! Whom PostgreSQL runs as: it refuses to be root.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use nix::unistd::{Uid, User};

/// Those an unprivileged server may run as, the fittest first.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// The unprivileged account a server runs as when we are root.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// The account to change to, or nothing if we are unprivileged ourselves.
    pub fn unprivileged() -> Result<Option<Self>> {
        if !Uid::effective().is_root() {
            return Ok(None);
        }
        for name in CANDIDATES {
            if let Some(user) = User::from_name(name)? {
                let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
                return Ok(Some(Self { uid, gid }));
            }
        }
        bail!("PostgreSQL refuses to run as root, and there is no user `postgres` to run it as")
    }

    /// Makes the command run as this account.
    pub fn run(self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Gives the account a directory of its own, which it must be able to reach.
    pub fn own(self, dir: &Path) -> Result<()> {
        self.reach(dir)?;
        chown(dir, Some(self.uid), Some(self.gid)).with_context(|| format!("cannot give {} away", dir.display()))
    }

    /// Checks that every directory above a path lets the account pass.
    pub fn reach(self, path: &Path) -> Result<()> {
        for above in path.ancestors().skip(1) {
            let met = fs::metadata(above)?;
            let passes = if met.uid() == self.uid {
                0o100
            } else if met.gid() == self.gid {
                0o010
            } else {
                0o001
            };
            ensure!(
                met.mode() & passes != 0,
                "an unprivileged server cannot reach {}: {} is closed to it",
                path.display(),
                above.display()
            );
        }
        Ok(())
    }
}
