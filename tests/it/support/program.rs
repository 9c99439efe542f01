//! The compiled program, run as a user runs it.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use lastunit::dev::{Patience, Process, Relative};
use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Ground, binaries};

/// How the program is to be started: `Launch::new(&ground).env("FAILPOINTS", "…").start(&["run"])`.
#[derive(Clone)]
pub struct Launch {
    dir: PathBuf,
    env: Vec<(String, String)>,
    config: String,
}

impl Launch {
    /// On the test's own database and broker and a free port, with no other setting than the defaults.
    pub fn new(ground: &Ground) -> Self {
        let env = [
            ("DATABASE_URL", ground.database_url.clone()),
            ("NATS_URL", ground.nats.url()),
            ("LASTUNIT_HTTP__LISTEN", "127.0.0.1:0".into()),
        ];
        Self {
            dir: ground.dir().to_path_buf(),
            env: env.map(|(name, value)| (name.into(), value)).into(),
            config: String::new(),
        }
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Adds lines to its `lastunit.toml`.
    pub fn config(mut self, toml: &str) -> Self {
        self.config += toml;
        self.config.push('\n');
        self
    }

    /// Starts it, in a directory of its own.
    pub async fn start(&self, args: &[&str]) -> Program {
        self.start_into(args, None).await
    }

    /// Starts it with that standard output.
    async fn start_into(&self, args: &[&str], stdout: Option<Stdio>) -> Program {
        let dir = tempfile::Builder::new().prefix("program-").tempdir_in(&self.dir).unwrap().keep();
        fs::write(dir.join("lastunit.toml"), &self.config).unwrap();
        let binary = env!("CARGO_BIN_EXE_lastunit").as_ref();
        let mut command = binaries().await.leash.command(binary, Signal::SIGKILL);
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("LASTUNIT_") {
                command.env_remove(name);
            }
        }
        let kept = File::create(dir.join("stdout")).unwrap();
        command
            .args(args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&dir)
            .stdin(Stdio::null())
            .stdout(stdout.unwrap_or_else(|| kept.into()))
            .stderr(File::create(dir.join("stderr")).unwrap());
        Program { process: Process::spawn(command, Signal::SIGTERM).unwrap(), dir }
    }

    /// Starts it and waits until it is ready.
    pub async fn ready(&self, args: &[&str]) -> Program {
        let mut program = self.start(args).await;
        program.ready(Duration::from_secs(30)).await;
        program
    }

    /// Runs it to its end.
    pub async fn run(&self, args: &[&str]) -> Ended {
        self.run_into(args, None).await
    }

    /// Runs it to its end; whoever should read what it prints is gone already.
    pub async fn run_unread(&self, args: &[&str]) -> Ended {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        self.run_into(args, Some(writer.into())).await
    }

    async fn run_into(&self, args: &[&str], stdout: Option<Stdio>) -> Ended {
        let mut program = self.start_into(args, stdout).await;
        let status = program.wait(Duration::from_mins(1)).await;
        Ended { code: status.code(), stdout: program.stdout(), stderr: program.stderr() }
    }
}

/// What a command left that has ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it printed to standard output.
    pub stdout: String,
    /// What it printed to standard error.
    pub stderr: String,
}

/// The running program; terminated when dropped.
pub struct Program {
    process: Process,
    dir: PathBuf,
}

impl Program {
    /// Waits for its line `lastunit ready …`.
    pub async fn ready(&mut self, limit: Duration) {
        let patience = Patience::new("`lastunit ready`", limit);
        while !self.stdout().lines().any(is_ready_line) {
            let outcome = match self.process.ended().unwrap() {
                Some(status) => Err(format!("lastunit ended: {status}")),
                None => patience.pause().await.map_err(|error| error.to_string()),
            };
            if let Err(error) = outcome {
                panic!("{error}; it said:\n{}{}", self.stdout(), self.stderr());
            }
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its children that live now.
    pub fn children(&self) -> Vec<Relative> {
        self.process.children()
    }

    /// Asks its HTTP server. Returns the status and the body.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let stdout = self.stdout();
        let address = stdout.split_once("http://").expect("a program that is ready").1.trim();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// The sum of a counter over all its labels.
    pub async fn metric(&self, name: &str) -> usize {
        let (_, text) = self.get("/metrics").await;
        let values = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        values.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
    }

    /// What it has printed to standard output.
    pub fn stdout(&self) -> String {
        self.read("stdout")
    }

    /// What it has printed to standard error.
    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.ended().unwrap()
    }

    /// Waits for its end.
    pub async fn wait(&mut self, limit: Duration) -> ExitStatus {
        match self.process.wait(limit).await {
            Ok(status) => status,
            Err(error) => panic!("{error}; it said:\n{}{}", self.stdout(), self.stderr()),
        }
    }

    /// Waits for its end, and returns the most memory that it had at any time, in KiB, as far as it was looked at.
    pub async fn peak(&mut self, limit: Duration) -> (i64, ExitStatus) {
        let path = format!("/proc/{}/status", self.pid());
        let patience = Patience::new("the command to end", limit);
        let mut peak = 0;
        loop {
            let said = fs::read_to_string(&path).unwrap_or_default();
            let line =
                said.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")?.trim().parse().ok());
            peak = peak.max(line.unwrap_or(0));
            match self.ended() {
                Some(status) => return (peak, status),
                None => patience.pause().await.unwrap(),
            }
        }
    }

    /// `kill -9`.
    pub async fn kill(&mut self) {
        self.process.signal(Signal::SIGKILL).unwrap();
        self.wait(Duration::from_secs(10)).await;
    }

    /// SIGTERM. Returns the exit code (none if a signal ended it after all).
    pub async fn terminate(&mut self) -> Option<i32> {
        self.process.signal(Signal::SIGTERM).unwrap();
        self.wait(Duration::from_secs(15)).await.code()
    }

    /// SIGSTOP.
    pub fn pause(&mut self) {
        self.process.pause().unwrap();
    }

    /// SIGCONT.
    pub fn resume(&mut self) {
        self.process.resume().unwrap();
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.dir.join(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// A whole line only: its end may still be on the way.
fn is_ready_line(line: &str) -> bool {
    line == "lastunit ready" || line.starts_with("lastunit ready ")
}
