//! `[database]`

use std::path::PathBuf;
use std::str::FromStr;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgConnectOptions;

use super::MAX_SPAN_S;
use super::layers::Layers;
use super::problems::Problems;
use super::secret;

/// Where the database is and how it is used.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Database {
    /// `postgres://user:password@host:port/database`; the variable `DATABASE_URL` is understood too. What it leaves out
    /// comes from the `PG…` variables, as with `psql`. Shown without its password.
    #[serde(serialize_with = "secret::masked_url")]
    pub url: SecretString,
    /// A file with the password, where the URL has none.
    pub password_file: Option<PathBuf>,
    /// What `password_file` holds, or the variable `LASTUNIT_DATABASE__PASSWORD`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub password: Option<SecretString>,
    /// The schema all tables stand in: lower-case letters, digits and `_`, no digit first, at most 63, so that it never
    /// needs quotes.
    pub schema: String,
    /// Connections of one copy at most, 2 to 1000. About as many as the database has cores is best.
    pub max_connections: u32,
    /// How long a statement waits for a lock, in milliseconds, 1 to `statement_timeout_ms`.
    pub lock_timeout_ms: u64,
    /// How long a statement may take, in milliseconds, at most a day.
    pub statement_timeout_ms: u64,
    /// How long a transaction may stand idle before the server ends it, in milliseconds, 1000 to a day.
    pub idle_in_transaction_timeout_ms: u64,
    /// How old somebody's transaction may be, in seconds, 1 to ten years, before the log warns: as long as it is open no dead row is removed.
    pub snapshot_warn_s: u64,
    /// How long nothing may be heard from a copy that does what only one may do (telling, deciding INVENTORY) before the server ends its session and
    /// another copy has its turn, in milliseconds, 1000 to a day.
    pub turn_timeout_ms: u64,
    /// Whether `run` applies pending migrations first.
    pub migrate: bool,
}

impl Default for Database {
    fn default() -> Self {
        Self {
            url: "postgres:///lastunit".into(),
            password_file: None,
            password: None,
            schema: "public".to_owned(),
            max_connections: 6,
            lock_timeout_ms: 2_000,
            statement_timeout_ms: 30_000,
            idle_in_transaction_timeout_ms: 15_000,
            snapshot_warn_s: 3_600,
            turn_timeout_ms: 15_000,
            migrate: true,
        }
    }
}

impl Database {
    pub(super) fn read(layers: &mut Layers) -> Self {
        let mut database: Self = layers.section("database");
        database.password = layers.secret("database.password", database.password_file.as_ref());
        database
    }

    pub(super) fn judge(&self, problems: &mut Problems) {
        const DAY_MS: u64 = 86_400_000;
        if !is_postgres_url(self.url.expose_secret()) {
            problems.add("database.url", "is not a postgres:// URL");
        }
        if !is_plain_identifier(&self.schema) {
            problems.add(
                "database.schema",
                format_args!("{:?} is not 1 to 63 of a-z, 0-9 and _, without a digit first", self.schema),
            );
        }
        problems.within("database.max_connections", self.max_connections, 2..=1_000);
        problems.within("database.statement_timeout_ms", self.statement_timeout_ms, 1..=DAY_MS);
        problems.within("database.lock_timeout_ms", self.lock_timeout_ms, 1..=self.statement_timeout_ms.max(1));
        problems.within("database.idle_in_transaction_timeout_ms", self.idle_in_transaction_timeout_ms, 1_000..=DAY_MS);
        problems.within("database.snapshot_warn_s", self.snapshot_warn_s, 1..=MAX_SPAN_S);
        problems.within("database.turn_timeout_ms", self.turn_timeout_ms, 1_000..=DAY_MS);
    }
}

fn is_postgres_url(url: &str) -> bool {
    let scheme = url.starts_with("postgres://") || url.starts_with("postgresql://");
    scheme && PgConnectOptions::from_str(url).is_ok()
}

fn is_plain_identifier(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=63).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(|first: char| first.is_ascii_digit())
}
