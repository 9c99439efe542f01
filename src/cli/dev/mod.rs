//! `lastunit dev`.

mod greeting;
mod marketplaces;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;

use super::{Exit, Stop};
use crate::config::{Database, Nats, Settings};
use crate::dev::{Binaries, NatsOptions, PostgresOptions, Servers};
use crate::shutdown::Shutdown;
use crate::{service, telemetry};

use self::greeting::Greeting;
use self::marketplaces::Marketplaces;

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
    /// Without the simulated marketplaces, and without the channels `ozon` and `wildberries` that speak to them.
    #[arg(long)]
    no_marketplaces: bool,
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
    let mut settings = on_servers(settings, &servers);
    let marketplaces =
        if command.no_marketplaces { None } else { Marketplaces::start(&mut settings, &command.dir).await? };
    let greeting = Greeting::of(&servers, &command.dir, marketplaces.as_ref());
    greeting.write_env(marketplaces.as_ref().map(Marketplaces::variables).unwrap_or_default())?;
    let ended = service::run(settings, shutdown, metrics, move |http| greeting.print(http)).await;
    let stopped = servers.stop().await;
    let kept = marketplaces.as_ref().map_or(Ok(()), Marketplaces::keep);
    ended?;
    stopped?;
    kept?;
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
