//! One child process: signals, its end, and nothing of it left behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Patience;

/// How long a process may take to stand still.
const STANDSTILL: Duration = Duration::from_secs(5);
/// How long a child may take to end by itself when its value is dropped.
const FAREWELL: Duration = Duration::from_secs(5);

/// A child process that is ended, and waited for, when its value is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    farewell: Signal,
    /// Ends the thread that started the child, and with it the [`super::Leash`], when dropped.
    _keeper: mpsc::Sender<()>,
}

impl Process {
    /// Starts a program in a process group of its own, so that Ctrl-C in a terminal reaches us and not it. `farewell` is the
    /// signal that ends it cleanly.
    pub fn spawn(mut command: Command, farewell: Signal) -> Result<Self> {
        command.process_group(0);
        let name = command.get_program().to_owned();
        let (keeper, released) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        // The leash is tied to the thread that starts the child: this one lives as long as the value does.
        thread::Builder::new().name("keeper".into()).spawn(move || {
            let _ = tell.send(command.spawn());
            let _ = released.recv();
        })?;
        let child = told.recv()?.with_context(|| format!("cannot start {}", name.display()))?;
        Ok(Self { child, farewell, _keeper: keeper })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends a signal. An error if the process has ended: its id may be somebody else's by now.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        match self.ended()? {
            Some(status) => Err(anyhow!("process {} has ended: {status}", self.pid())),
            None => Ok(kill(pid_of(&self.child), signal)?),
        }
    }

    /// Stops it in its tracks (SIGSTOP), and returns when all its threads stand.
    pub fn pause(&mut self) -> Result<()> {
        self.signal(Signal::SIGSTOP)?;
        let patience = Patience::new(format!("process {} to stand still", self.pid()), STANDSTILL);
        while !stands(self.pid()) {
            patience.pause_blocking()?;
        }
        Ok(())
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&mut self) -> Result<()> {
        self.signal(Signal::SIGCONT)
    }

    /// Waits until it has ended.
    pub async fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        let patience = Patience::new(format!("process {} to end", self.pid()), limit);
        loop {
            match self.ended()? {
                Some(status) => return Ok(status),
                None => patience.pause().await?,
            }
        }
    }

    /// Sends a signal and waits until it has ended.
    pub async fn end(&mut self, signal: Signal, limit: Duration) -> Result<ExitStatus> {
        self.signal(signal)?;
        self.wait(limit).await
    }

    /// Its children that live now. Empty where there is no `/proc`.
    pub fn children(&self) -> Vec<Relative> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(Relative::look)
            .filter(|other| other.parent == self.pid())
            .collect()
    }

    fn end_blocking(&mut self) -> Result<()> {
        let orphans = self.children();
        // Who is paused takes a signal only after being let go.
        for signal in [self.farewell, Signal::SIGCONT] {
            let _ = self.signal(signal);
        }
        for orphan in &orphans {
            orphan.signal(Signal::SIGCONT);
        }
        let patience = Patience::new(format!("process {} to end", self.pid()), FAREWELL);
        while self.ended()?.is_none() {
            if patience.pause_blocking().is_err() {
                self.child.kill()?;
                self.child.wait()?;
            }
        }
        orphans.iter().for_each(Relative::kill);
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.end_blocking() {
            tracing::warn!(pid = self.pid(), "a child could not be ended: {error:#}");
        }
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// A process that is not our child, so that only its id and the time it began tell it from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relative {
    pid: u32,
    parent: u32,
    began: u64,
}

impl Relative {
    /// The living process with this id.
    pub fn look(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold anything; what follows the last one is fields by position, the state first.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let began = fields.nth(17)?.parse().ok()?;
        (state != "Z" && state != "X").then_some(Self { pid, parent, began })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it still lives.
    pub fn lives(&self) -> bool {
        Self::look(self.pid).is_some_and(|now| now.began == self.began)
    }

    /// Sends a signal if it still lives.
    pub fn signal(&self, signal: Signal) {
        if self.lives() {
            let _ = kill(Pid::from_raw(self.pid.cast_signed()), signal);
        }
    }

    /// Kills it if it still lives.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Waits until none of them lives; kills those that take longer than the limit.
    pub async fn outlive(many: &[Self], limit: Duration) -> Result<()> {
        let patience = Patience::new("orphaned processes to end", limit);
        while many.iter().any(Self::lives) {
            if patience.pause().await.is_err() {
                many.iter().for_each(Self::kill);
                break;
            }
        }
        let patience = Patience::new("killed processes to end", limit);
        while many.iter().any(Self::lives) {
            patience.pause().await?;
        }
        Ok(())
    }
}

/// Whether every thread of a process is stopped. Where there is no `/proc` nobody can tell, and the signal has to do.
fn stands(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    let runs = |thread: fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // The name, in parentheses, may hold anything; the state follows it.
        stat.rsplit_once(')').is_some_and(|(_, fields)| !fields.trim_start().starts_with(['T', 't']))
    };
    !threads.flatten().any(runs)
}

/// The last lines of a log, for an error message.
pub fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}

/// Fails if a server ended before it was ready, with what it logged last.
pub fn still_runs(process: &mut Process, name: &str, log: &str) -> Result<()> {
    if let Some(status) = process.ended()? {
        bail!("{name} did not start ({status}):\n{}", tail(log));
    }
    Ok(())
}
