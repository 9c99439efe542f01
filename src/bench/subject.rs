//! The program under test, a process of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::dev::{Binaries, Patience, Process};

/// The running program.
pub(super) struct Subject {
    process: Process,
    http: String,
}

/// Batches decided, by the program's own metrics.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Batches {
    pub batches: f64,
    pub messages: f64,
}

impl Batches {
    pub fn since(&self, before: &Self) -> Self {
        Self { batches: self.batches - before.batches, messages: self.messages - before.messages }
    }

    pub fn mean(&self) -> f64 {
        if self.batches > 0.0 { self.messages / self.batches } else { 0.0 }
    }
}

impl Subject {
    pub async fn start(
        binaries: &Binaries,
        program: &Path,
        dir: &Path,
        database: &str,
        nats: &str,
    ) -> anyhow::Result<Self> {
        Self::start_with(binaries, program, dir, database, nats, &[]).await
    }

    /// The same with settings of its own, as variables without their `LASTUNIT_`.
    pub async fn start_with(
        binaries: &Binaries,
        program: &Path,
        dir: &Path,
        database: &str,
        nats: &str,
        settings: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("subject-").tempdir_in(dir)?.keep();
        let stdout = dir.join("stdout");
        let mut command = binaries.leash.command(program, Signal::SIGKILL);
        command
            .arg("run")
            .env("DATABASE_URL", database)
            .env("NATS_URL", nats)
            .env("LASTUNIT_HTTP__LISTEN", "127.0.0.1:0")
            .envs(settings.iter().map(|(key, value)| (format!("LASTUNIT_{key}"), value)))
            .current_dir(&dir)
            .stdin(Stdio::null())
            .stdout(File::create(&stdout)?)
            .stderr(File::create(dir.join("stderr"))?);
        let mut process = Process::spawn(command, Signal::SIGTERM)?;
        let http = ready(&mut process, &stdout).await.with_context(|| said(&dir))?;
        Ok(Self { process, http })
    }

    /// What the program has decided until now.
    pub async fn batches(&self) -> anyhow::Result<Batches> {
        let mut stream = TcpStream::connect(&self.http).await?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: bench\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        let value = |name: &str| {
            let lines = text.lines().filter(|line| line.starts_with(name) && line.contains("ORDERS"));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        Ok(Batches { batches: value("lastunit_batch_messages_count"), messages: value("lastunit_batch_messages_sum") })
    }

    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.process.signal(Signal::SIGTERM)?;
        self.process.wait(Duration::from_secs(15)).await?;
        Ok(())
    }
}

/// Waits for the line `lastunit ready http://…` and returns the address.
async fn ready(process: &mut Process, stdout: &PathBuf) -> anyhow::Result<String> {
    let patience = Patience::new("the program to be ready", Duration::from_mins(1));
    loop {
        let text = fs::read_to_string(stdout)?;
        if let Some(address) = text.lines().find_map(|line| line.strip_prefix("lastunit ready http://")) {
            return Ok(address.to_owned());
        }
        if let Some(status) = process.ended()? {
            bail!("the program ended: {status}");
        }
        patience.pause().await?;
    }
}

fn said(dir: &Path) -> String {
    fs::read_to_string(dir.join("stderr")).unwrap_or_default()
}
