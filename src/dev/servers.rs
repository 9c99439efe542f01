//! PostgreSQL and NATS together.

use std::path::Path;

use anyhow::Result;

use super::{Binaries, NatsOptions, PostgresOptions, PrivateNats, PrivatePostgres};

/// A private PostgreSQL and a private NATS.
#[derive(Debug)]
pub struct Servers {
    /// The database.
    pub postgres: PrivatePostgres,
    /// The broker.
    pub nats: PrivateNats,
}

impl Servers {
    /// Starts both at once, in `dir/postgres` and `dir/nats`; what is stored there already is kept.
    pub async fn start(binaries: &Binaries, dir: &Path, postgres: PostgresOptions, nats: NatsOptions) -> Result<Self> {
        let (postgres_dir, nats_dir) = (dir.join("postgres"), dir.join("nats"));
        let (postgres, nats) = tokio::try_join!(
            PrivatePostgres::start(binaries, &postgres_dir, postgres),
            PrivateNats::start(binaries, &nats_dir, nats),
        )?;
        Ok(Self { postgres, nats })
    }
    /// Stops both cleanly, at once.
    pub async fn stop(&mut self) -> Result<()> {
        tokio::try_join!(self.postgres.stop_fast(), self.nats.stop())?;
        Ok(())
    }
}
