//! Servers for a test.
//!
//! A nats-server is up in 10 ms, so every test has its own. A PostgreSQL takes half a second, a database in it 25 ms, so the tests share
//! one, each with a database of its own in it; those that kill or pause it have their own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lastunit::dev::{Binaries, NatsOptions, PostgresOptions, PrivateNats, PrivatePostgres, Scratch, Servers};
use tokio::sync::OnceCell;

/// The PostgreSQL that tests share. Never dropped: its leash ends it with this process, and the next run removes its directory.
static SHARED: OnceCell<SharedPostgres> = OnceCell::const_new();

struct SharedPostgres {
    postgres: PrivatePostgres,
    _scratch: Scratch,
}

/// What a test stands on: a database and a broker that are its own.
pub struct Ground {
    /// The URL of its database.
    pub database_url: String,
    /// Its broker.
    pub nats: PrivateNats,
    /// Its PostgreSQL, if it has one of its own.
    postgres: Option<PrivatePostgres>,
    scratch: Scratch,
}

impl Ground {
    /// An empty database in the PostgreSQL that tests share, and a nats-server.
    pub async fn new() -> Self {
        Self::with_nats(NatsOptions::default(), |_| ()).await
    }

    /// The same with settings for the nats-server, and files that are put into its directory before it starts.
    pub async fn with_nats(options: NatsOptions, prepare: impl FnOnce(&Path)) -> Self {
        let scratch = Scratch::new().unwrap();
        let name = format!("test_{:016x}", fastrand::u64(..));
        let (binaries, nats_dir) = (binaries().await, scratch.path().join("nats"));
        fs::create_dir_all(&nats_dir).unwrap();
        prepare(&nats_dir);
        let (shared, nats) = tokio::join!(
            SHARED.get_or_init(|| Box::pin(start_shared())),
            Box::pin(PrivateNats::start(binaries, &nats_dir, options)),
        );
        Self {
            database_url: shared.postgres.create_database(&name, None).await.unwrap(),
            nats: nats.unwrap(),
            postgres: None,
            scratch,
        }
    }

    /// Servers that are all its own, to be killed, paused and started again.
    pub async fn own() -> Self {
        Self::own_with(PostgresOptions::default()).await
    }

    /// The same, where PostgreSQL logs every statement with its session and transaction.
    pub async fn own_that_logs_statements() -> Self {
        let settings = [("log_statement", "all"), ("log_line_prefix", "<<%p %x>> ")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self::own_with(PostgresOptions { settings, ..PostgresOptions::default() }).await
    }

    /// The same with settings for PostgreSQL.
    pub async fn own_with(postgres: PostgresOptions) -> Self {
        let scratch = Scratch::new().unwrap();
        let Servers { postgres, nats } =
            Servers::start(binaries().await, scratch.path(), postgres, NatsOptions::default()).await.unwrap();
        Self { database_url: postgres.url(), nats, postgres: Some(postgres), scratch }
    }

    /// The PostgreSQL of a test that has its own.
    pub fn postgres(&mut self) -> &mut PrivatePostgres {
        self.postgres.as_mut().expect("Ground::own()")
    }

    /// Stops the PostgreSQL of a test that has its own, copies all it has, and starts it again: a backup.
    pub async fn back_up(&mut self) {
        let (data, backup) = (self.dir().join("postgres/data"), self.dir().join("postgres/backup"));
        self.postgres().stop_fast().await.unwrap();
        let copied = Command::new("cp").arg("-a").arg(data).arg(backup).status().unwrap();
        assert!(copied.success());
        self.postgres().restart().await.unwrap();
    }

    /// Puts the backup in the place of what PostgreSQL has: it goes back in time.
    pub async fn restore(&mut self) {
        let (data, backup) = (self.dir().join("postgres/data"), self.dir().join("postgres/backup"));
        self.postgres().stop_fast().await.unwrap();
        fs::remove_dir_all(&data).unwrap();
        fs::rename(backup, data).unwrap();
        self.postgres().restart().await.unwrap();
    }

    /// A directory for the test's files.
    pub fn dir(&self) -> &Path {
        self.scratch.path()
    }
}

/// The binaries under test, looked for once.
pub async fn binaries() -> &'static Binaries {
    static BINARIES: OnceCell<Binaries> = OnceCell::const_new();
    let named = |name| env::var_os(name).map(PathBuf::from);
    BINARIES
        .get_or_init(async || {
            let postgres = named("LASTUNIT_DEV__POSTGRES_BIN");
            let nats = named("LASTUNIT_DEV__NATS_SERVER");
            Binaries::find(postgres.as_deref(), nats.as_deref()).unwrap()
        })
        .await
}

async fn start_shared() -> SharedPostgres {
    let scratch = Scratch::new().unwrap();
    let dir = scratch.path().join("postgres");
    let postgres = PrivatePostgres::start(binaries().await, &dir, PostgresOptions::default()).await.unwrap();
    SharedPostgres { postgres, _scratch: scratch }
}
