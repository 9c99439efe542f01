//! A private nats-server with JetStream.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;

use super::process::{still_runs, tail};
use super::{Binaries, Leash, Patience, Process, port};

const START: Duration = Duration::from_secs(30);
const STOP: Duration = Duration::from_secs(30);
/// What a stream may grow to is reserved when it is made: the topology's 16 GiB must fit, and the tests' own streams beside it.
const MAX_FILE_STORE: u64 = 64 << 30;
/// The server's own default, written down because it is part of what is tested.
const MAX_PAYLOAD: u64 = 1 << 20;

/// What may differ from one private nats-server to another.
#[derive(Debug, Clone, Default)]
pub struct NatsOptions {
    /// The port; a free one when not given.
    pub port: Option<u16>,
    /// Lines for the server's configuration file, after ours.
    pub config: String,
    /// Whether that configuration asks who connects. Then nothing can be asked of the server, and its greeting has to do as a sign of readiness.
    pub guarded: bool,
}

/// A nats-server of our own: one directory, loopback only, JetStream on file storage.
#[derive(Debug)]
pub struct PrivateNats {
    binary: PathBuf,
    leash: Leash,
    dir: PathBuf,
    port: u16,
    /// Tells ours from another's that was faster to take the port.
    name: String,
    config: String,
    guarded: bool,
    process: Option<Process>,
}

impl PrivateNats {
    /// Starts a server in `dir`, on the store that is there or else on an empty one. Returns when JetStream answers.
    pub async fn start(binaries: &Binaries, dir: &Path, options: NatsOptions) -> Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let mut server = Self {
            binary: binaries.nats_server.clone(),
            leash: binaries.leash.clone(),
            dir: dir.canonicalize()?,
            port: 0,
            name: format!("lastunit-{:016x}", fastrand::u64(..)),
            config: options.config,
            guarded: options.guarded,
            process: None,
        };
        for _ in 0..port::TRIES {
            server.port = options.port.map_or_else(port::free, Ok)?;
            match server.launch().await {
                Err(_) if options.port.is_none() && !port::is_free(server.port) => {}
                outcome => return outcome.map(|()| server),
            }
        }
        bail!("nats-server found every port taken")
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// What the broker calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process id, while it has one.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// Where JetStream keeps its files; to be touched only while the server does not run.
    pub fn store(&self) -> PathBuf {
        self.dir.join("store")
    }

    /// Kills it (SIGKILL).
    pub async fn kill(&mut self) -> Result<()> {
        self.end(Signal::SIGKILL).await
    }

    /// Stops it cleanly (SIGTERM).
    pub async fn stop(&mut self) -> Result<()> {
        self.end(Signal::SIGTERM).await
    }

    /// Starts what was killed or stopped again, and what still runs anew: same port, same store.
    pub async fn restart(&mut self) -> Result<()> {
        if self.process.is_some() {
            self.stop().await?;
        }
        self.launch().await
    }

    /// Forgets all streams and consumers, as if the disk was lost. The server must not run.
    pub fn wipe_store(&mut self) -> Result<()> {
        if self.process.is_some() {
            bail!("nats-server runs on the store that is to be wiped");
        }
        Ok(fs::remove_dir_all(self.store())?)
    }

    /// Stops it in its tracks (SIGSTOP).
    pub fn pause(&mut self) -> Result<()> {
        self.running()?.pause()
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&mut self) -> Result<()> {
        self.running()?.resume()
    }

    fn running(&mut self) -> Result<&mut Process> {
        self.process.as_mut().context("nats-server does not run")
    }

    async fn end(&mut self, signal: Signal) -> Result<()> {
        self.running()?.end(signal, STOP).await?;
        self.process = None;
        Ok(())
    }

    fn log_file(&self) -> PathBuf {
        self.dir.join("nats.log")
    }

    async fn launch(&mut self) -> Result<()> {
        let config = self.dir.join("nats.conf");
        fs::write(&config, self.config_text())?;
        let log = File::options().create(true).append(true).open(self.log_file())?;
        let mut command = self.leash.command(&self.binary, Signal::SIGKILL);
        command.arg("-c").arg(&config).current_dir(&self.dir).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut process = Process::spawn(command, Signal::SIGTERM)?;
        let patience = Patience::new("nats-server to be ready", START);
        while !self.is_ready().await {
            still_runs(&mut process, "nats-server", &self.log())?;
            let tired = || format!("its log ends:\n{}", tail(&self.log()));
            patience.pause().await.with_context(tired)?;
        }
        self.process = Some(process);
        Ok(())
    }

    fn config_text(&self) -> String {
        let Self { name, port, .. } = self;
        let store = self.store();
        let store = store.display();
        format!(
            "server_name: {name}\n\
             listen: \"127.0.0.1:{port}\"\n\
             max_payload: {MAX_PAYLOAD}\n\
             jetstream {{ store_dir: \"{store}\", max_file_store: {MAX_FILE_STORE} }}\n\
             {}\n",
            self.config
        )
    }

    async fn is_ready(&self) -> bool {
        if self.guarded {
            return self.greets().await.unwrap_or(false);
        }
        // A node of a cluster that has no leader yet says nothing at all.
        let within = Duration::from_secs(1);
        let options = async_nats::ConnectOptions::new().connection_timeout(within).request_timeout(Some(within));
        match options.connect(self.url()).await {
            Ok(client) if client.server_info().server_name == self.name => answers(&client).await,
            _ => false,
        }
    }

    /// Whether it greets us as itself, and has streams. It listens only when it has.
    async fn greets(&self) -> io::Result<bool> {
        let greeting = greeting(self.port).await?;
        let info =
            greeting.strip_prefix("INFO ").and_then(|info| serde_json::from_str(info).ok()).unwrap_or(Value::Null);
        Ok(info["server_name"] == self.name.as_str() && info["jetstream"] == true)
    }
}

/// The line with which a server greets everybody.
async fn greeting(port: u16) -> io::Result<String> {
    let mut greeting = String::new();
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    BufReader::new(server).read_line(&mut greeting).await?;
    Ok(greeting)
}

/// Whether JetStream answers. Asked in its own words: async-nats cannot read what 2.9 answers about the account.
async fn answers(client: &async_nats::Client) -> bool {
    match client.request("$JS.API.INFO", "".into()).await {
        Ok(answer) => serde_json::from_slice::<Value>(&answer.payload).is_ok_and(|info| info.get("error").is_none()),
        Err(_) => false,
    }
}
