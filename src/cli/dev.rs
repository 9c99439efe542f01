//! `lastunit dev`.

use std::fs::{self, File, TryLockError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;

use super::{Exit, Stop};
use crate::config::{Database, Nats, Settings};
use crate::dev::{Binaries, NatsOptions, PostgresOptions, Servers};
use crate::shutdown::Shutdown;
use crate::{service, telemetry};

/// Where the servers keep their data, and what they are made of.
#[derive(Debug, Args)]
pub struct Dev {
    /// Where the data is, kept from one run to the next.
    #[arg(long, value_name = "DIR", default_value = "lastunit-dev")]
    dir: PathBuf,
    /// The directory of PostgreSQL's binaries; searched for when not given here or as `dev.postgres_bin`.
    #[arg(long, value_name = "DIR")]
    postgres_bin: Option<PathBuf>,
    /// The nats-server; searched for when not given here or as `dev.nats_server`.
    #[arg(long, value_name = "FILE")]
    nats_server: Option<PathBuf>,
}

/// The program ends first, then its servers, so that what it has taken is finished and told.
pub async fn run(command: Dev, settings: Settings) -> Result<Exit, Stop> {
    telemetry::init(&settings.log)?;
    let metrics = telemetry::metrics()?;
    let shutdown = Shutdown::on_signals().map_err(|error| Stop::Failed(error.into()))?;
    let binaries = command.binaries(&settings).map_err(Stop::Misuse)?;
    let _lock = lock(&command.dir)?;
    let mut servers = tokio::select! {
        started = Servers::start(&binaries, &command.dir, PostgresOptions::default(), NatsOptions::default()) => started?,
        // Those half started end as they are dropped.
        () = shutdown.token().cancelled() => return Ok(Exit::Fine),
    };
    let greeting = Greeting::of(&servers, &command.dir);
    let ended = service::run(on_servers(settings, &servers), shutdown, metrics, move |http| greeting.print(http)).await;
    let stopped = servers.stop().await;
    ended?;
    stopped?;
    Ok(Exit::Fine)
}

impl Dev {
    /// Flags win over settings, and what neither names is searched for.
    fn binaries(&self, settings: &Settings) -> anyhow::Result<Binaries> {
        let postgres_bin = self.postgres_bin.as_ref().or(settings.dev.postgres_bin.as_ref());
        let nats_server = self.nats_server.as_ref().or(settings.dev.nats_server.as_ref());
        Binaries::find(postgres_bin.map(PathBuf::as_path), nats_server.map(PathBuf::as_path))
    }
}

/// Makes the directory ours until the file is dropped: two servers on one store would ruin it.
fn lock(dir: &Path) -> Result<File, Stop> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display())).map_err(Stop::Misuse)?;
    let path = dir.join("lock");
    let file = File::create(&path).with_context(|| format!("cannot make {}", path.display())).map_err(Stop::Misuse)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Stop::Misuse(anyhow!("another `lastunit dev` runs in {}; --dir names another", dir.display())))
        }
        Err(TryLockError::Error(error)) => Err(Stop::Failed(error.into())),
    }
}

/// The settings, on these servers: nobody else brings them up to date or has anything there, and they ask nobody who they are.
fn on_servers(mut settings: Settings, servers: &Servers) -> Settings {
    settings.database.url = servers.postgres.url().into();
    settings.database.schema = Database::default().schema;
    settings.database.migrate = true;
    settings.nats = Nats { url: servers.nats.url(), ..Nats::default() };
    settings.streams.prefix = String::new();
    settings.streams.apply = true;
    settings
}

/// What a newcomer needs to know: where everything is, and what to do with it.
struct Greeting {
    postgres: String,
    nats: String,
    dir: PathBuf,
}

impl Greeting {
    fn of(servers: &Servers, dir: &Path) -> Self {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        Self { postgres: servers.postgres.url(), nats: servers.nats.url(), dir }
    }

    fn print(&self, http: SocketAddr) {
        let Self { postgres, nats, dir } = self;
        println!(
            r#"
  PostgreSQL  {postgres}
  NATS        {nats}
  HTTP        http://{http}
  Data        {dir}

Three things to try from another terminal:

  1. One coffee grinder on the shelf, one order for it, and the answer (with the `nats` tool, github.com/nats-io/natscli)
     nats -s {nats} pub inventory.counted.main '{{"event_id":"c1","lines":[{{"sku":"COFFEE-GRINDER","on_hand":1}}]}}'
     nats -s {nats} pub order.created.web '{{"event_id":"o1","order_ref":"1001","lines":[{{"sku":"COFFEE-GRINDER","qty":1}}]}}'
     nats -s {nats} stream view RESERVATIONS

  2. What the tables say
     psql {postgres} -c 'TABLE stock' -c 'TABLE reservation' -c 'TABLE dead_letter'

  3. Whether it is well, and what it counts
     curl http://{http}/readyz http://{http}/metrics

Ctrl-C ends it all; the data stays.
"#,
            dir = dir.display(),
        );
    }
}
