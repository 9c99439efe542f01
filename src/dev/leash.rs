//! What makes a child end when we do, however we end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

/// Starts programs in such a way that the kernel sends them a signal when we are gone, even after `kill -9`.
///
/// Asking the kernel for it takes unsafe code after the fork, so util-linux's `setpriv` does it for us. Where there is none
/// (not on Linux), children end with us only when we get to drop them.
#[derive(Debug, Clone)]
pub struct Leash {
    setpriv: Option<PathBuf>,
}

impl Leash {
    /// Looks whether this machine has what it takes.
    pub fn find() -> Self {
        let works = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        Self { setpriv: works.then(|| PathBuf::from("setpriv")) }
    }

    /// Whether children end even when we are killed.
    pub fn holds(&self) -> bool {
        self.setpriv.is_some()
    }

    /// A command for a program that gets `signal` when whoever starts it is gone: when the **thread** is gone, which is why
    /// [`super::Process`] keeps one.
    pub fn command(&self, program: &Path, signal: Signal) -> Command {
        match &self.setpriv {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", signal.as_str()]).arg("--").arg(program);
                command
            }
            None => Command::new(program),
        }
    }
}
