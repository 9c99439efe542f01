//! A private PostgreSQL.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

use super::process::{Relative, still_runs, tail};
use super::{Account, Binaries, Leash, Patience, Process, port};

/// The superuser, and the database that is there from the start.
const NAME: &str = "lastunit";
/// How long a start may take: a server that was killed recovers first.
const START: Duration = Duration::from_mins(1);
const STOP: Duration = Duration::from_secs(30);
/// How long backends may outlive their postmaster before they are killed too.
const ORPHANS: Duration = Duration::from_secs(2);
/// What a socket's path may be long, less its name.
const SOCKET_DIR_MAX: usize = 85;

/// What holds for every server here: durable as in production, quick to tell of locks, room for a bench.
const SETTINGS: [(&str, &str); 11] = [
    ("listen_addresses", "127.0.0.1"),
    ("max_connections", "100"),
    ("shared_buffers", "256MB"),
    ("max_wal_size", "4GB"),
    ("log_lock_waits", "on"),
    ("deadlock_timeout", "200ms"),
    ("log_line_prefix", "%m [%p] %d "),
    ("log_timezone", "UTC"),
    ("timezone", "UTC"),
    // No files in /dev/shm that a kill would leave behind.
    ("dynamic_shared_memory_type", "mmap"),
    ("logging_collector", "off"),
];

/// What may differ from one private PostgreSQL to another.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    /// The port; a free one when not given.
    pub port: Option<u16>,
    /// Settings of the server, over those given to every one.
    pub settings: Vec<(String, String)>,
}

/// A PostgreSQL of our own: one directory, loopback only, trust, superuser `lastunit`, database `lastunit`.
#[derive(Debug)]
pub struct PrivatePostgres {
    bin: PathBuf,
    leash: Leash,
    account: Option<Account>,
    dir: PathBuf,
    port: u16,
    settings: Vec<(String, String)>,
    process: Option<Process>,
}

impl PrivatePostgres {
    /// Starts a server in `dir`, on the data that is there or else on new. Returns when it takes connections.
    pub async fn start(binaries: &Binaries, dir: &Path, options: PostgresOptions) -> Result<Self> {
        let account = Account::unprivileged()?;
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let dir = dir.canonicalize()?;
        if let Some(account) = account {
            account.reach(&binaries.postgres)?;
            account.own(&dir)?;
        }
        let mut server = Self {
            bin: binaries.postgres.clone(),
            leash: binaries.leash.clone(),
            account,
            dir,
            port: 0,
            settings: options.settings,
            process: None,
        };
        server.init().await?;
        server.launch_on(options.port).await?;
        server.ensure_own_database().await?;
        Ok(server)
    }

    /// Where sqlx and psql find the database `lastunit`.
    pub fn url(&self) -> String {
        self.url_of(NAME)
    }

    /// Where they find another database.
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://{NAME}@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes a database, a copy of `template` if there is one (which nobody may be connected to), and returns its URL.
    pub async fn create_database(&self, name: &str, template: Option<&str>) -> Result<String> {
        let template = template.unwrap_or("template1");
        let statement = format!("CREATE DATABASE {} TEMPLATE {}", quoted(name), quoted(template));
        let mut connection = PgConnection::connect(&self.url_of("postgres")).await?;
        sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await?;
        connection.close().await?;
        Ok(self.url_of(name))
    }

    /// Drops a database of that name, and writes down all that is unwritten of any.
    ///
    /// # Errors
    /// The server's own.
    pub async fn drop_database(&self, name: &str) -> Result<()> {
        let mut connection = PgConnection::connect(&self.url_of("postgres")).await?;
        let statement = format!("DROP DATABASE {}", quoted(name));
        sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await?;
        sqlx::query("CHECKPOINT").execute(&mut connection).await?;
        Ok(connection.close().await?)
    }

    /// The postmaster's process id, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// The postmaster's children, that is background processes and backends.
    pub fn children(&self) -> Vec<Relative> {
        self.process.as_ref().map_or_else(Vec::new, Process::children)
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// Kills the postmaster (SIGKILL); its backends see that and end by themselves. Returns when all are gone.
    pub async fn kill(&mut self) -> Result<()> {
        let orphans = self.children();
        self.end(Signal::SIGKILL).await?;
        Relative::outlive(&orphans, ORPHANS).await
    }

    /// Stops without a checkpoint, so that the next start recovers: `pg_ctl stop -m immediate`.
    pub async fn stop_immediate(&mut self) -> Result<()> {
        self.end(Signal::SIGQUIT).await
    }

    /// Disconnects everybody and stops cleanly: `pg_ctl stop -m fast`.
    pub async fn stop_fast(&mut self) -> Result<()> {
        self.end(Signal::SIGINT).await
    }

    /// Starts what was killed or stopped again, and what still runs anew: same data, same port.
    pub async fn restart(&mut self) -> Result<()> {
        if self.process.is_some() {
            self.stop_fast().await?;
        }
        self.launch().await
    }

    /// Stops the postmaster and all its children in their tracks (SIGSTOP).
    pub fn pause(&mut self) -> Result<()> {
        // The postmaster first: it starts no more children then.
        self.running()?.pause()?;
        for child in self.children() {
            child.signal(Signal::SIGSTOP);
        }
        Ok(())
    }

    /// Lets them go on (SIGCONT).
    pub fn resume(&mut self) -> Result<()> {
        for child in self.children() {
            child.signal(Signal::SIGCONT);
        }
        self.running()?.resume()
    }

    fn running(&mut self) -> Result<&mut Process> {
        self.process.as_mut().context("PostgreSQL does not run")
    }

    async fn end(&mut self, signal: Signal) -> Result<()> {
        self.running()?.end(signal, STOP).await?;
        self.process = None;
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.dir.join("postgres.log")
    }

    async fn init(&self) -> Result<()> {
        if self.data().exists() {
            return Ok(());
        }
        // Under another name until it is whole: a start that was cut short leaves nothing that looks like data.
        let unfinished = self.dir.join("data.unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?;
        }
        let mut command = Command::new(self.bin.join("initdb"));
        command
            .args(["--username", NAME, "--auth", "trust", "--encoding", "UTF8"])
            // Sorts by bytes, and exists everywhere.
            .args(["--locale", "C", "--no-sync", "--no-instructions", "--pgdata"])
            .arg(&unfinished)
            .current_dir(&self.dir)
            .stdin(Stdio::null());
        self.run_as_account(&mut command);
        let output =
            tokio::process::Command::from(command).kill_on_drop(true).output().await.context("cannot start initdb")?;
        if !output.status.success() {
            let log = String::from_utf8_lossy(&output.stderr);
            bail!("initdb failed ({}):\n{}", output.status, tail(&log));
        }
        Ok(fs::rename(&unfinished, self.data())?)
    }

    fn run_as_account(&self, command: &mut Command) {
        if let Some(account) = self.account {
            account.run(command);
        }
    }

    async fn launch_on(&mut self, fixed: Option<u16>) -> Result<()> {
        for _ in 0..port::TRIES {
            self.port = fixed.map_or_else(port::free, Ok)?;
            match self.launch().await {
                Err(_) if fixed.is_none() && !port::is_free(self.port) => {}
                outcome => return outcome,
            }
        }
        bail!("PostgreSQL found every port taken")
    }

    async fn launch(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log_file())?;
        // The whole program is in the arguments: no file of the data directory is touched.
        let mut command = self.leash.command(&self.bin.join("postgres"), Signal::SIGQUIT);
        command
            .arg("-D")
            .arg(self.data())
            .args(self.arguments())
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        self.run_as_account(&mut command);
        let mut process = Process::spawn(command, Signal::SIGQUIT)?;
        let patience = Patience::new("PostgreSQL to be ready", START);
        while !self.is_ready(process.pid()) {
            still_runs(&mut process, "PostgreSQL", &self.log())?;
            let tired = || format!("its log ends:\n{}", tail(&self.log()));
            patience.pause().await.with_context(tired)?;
        }
        self.process = Some(process);
        Ok(())
    }

    fn arguments(&self) -> Vec<OsString> {
        let socket_dir = if self.dir.as_os_str().len() <= SOCKET_DIR_MAX {
            self.dir.as_os_str().to_owned()
        } else {
            OsString::new()
        };
        let mut unix_sockets = OsString::from("unix_socket_directories=");
        unix_sockets.push(socket_dir);
        let mut arguments = vec![OsString::from("-p"), self.port.to_string().into(), "-c".into(), unix_sockets];
        let given = self.settings.iter().map(|(name, value)| (&**name, &**value));
        for (name, value) in SETTINGS.into_iter().chain(given) {
            arguments.extend(["-c".into(), format!("{name}={value}").into()]);
        }
        arguments
    }

    /// The server's own word: the first line of `postmaster.pid` is whose word it is, the last what it is.
    fn is_ready(&self, pid: u32) -> bool {
        let Ok(file) = fs::read_to_string(self.data().join("postmaster.pid")) else {
            return false;
        };
        let lines: Vec<&str> = file.lines().map(str::trim).collect();
        lines.first() == Some(&&*pid.to_string()) && lines.get(7) == Some(&"ready")
    }

    async fn ensure_own_database(&self) -> Result<()> {
        let mut connection = PgConnection::connect(&self.url_of("postgres")).await?;
        let found = sqlx::query("SELECT FROM pg_database WHERE datname = $1")
            .bind(NAME)
            .fetch_optional(&mut connection)
            .await?;
        connection.close().await?;
        if found.is_none() {
            self.create_database(NAME, None).await?;
        }
        Ok(())
    }
}

fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}
