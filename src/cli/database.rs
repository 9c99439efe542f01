//! The database, as commands meet it: reached in time, and migrated.

use std::time::Duration;

use anyhow::anyhow;

use super::Stop;
use crate::config::Database;
use crate::store::migrate::{self, Level};
use crate::store::{self, Fault, Pool, StoreError};

/// How long a command tries before it gives up: 10 s are promised, to the end of the process.
const GIVE_UP_AFTER: Duration = Duration::from_secs(9);

/// Makes the pool; connects when first used.
///
/// # Errors
/// Misuse: an address that cannot be understood.
pub(crate) fn connect(database: &Database) -> Result<Pool, Stop> {
    store::connect(database).map_err(|error| Stop::Misuse(anyhow!("database.url cannot be understood: {error}")))
}

/// Connects, for as long as a command may wait.
///
/// # Errors
/// It does not answer, or its address cannot be understood.
pub(super) async fn reach(database: &Database) -> Result<Pool, Stop> {
    let pool = connect(database)?;
    reached(database).await?;
    Ok(pool)
}

/// Connects to a database that is migrated.
///
/// # Errors
/// It does not answer, or is not migrated.
pub(super) async fn open(database: &Database) -> Result<Pool, Stop> {
    let pool = reach(database).await?;
    in_time(migrated(&pool)).await?;
    Ok(pool)
}

async fn reached(database: &Database) -> Result<(), Stop> {
    in_time(async { store::reach(database).await.map_err(|error| unreachable(&error)) }).await
}

async fn in_time(work: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    let tired = |_| Err(Stop::Unreachable(anyhow!("PostgreSQL does not answer")));
    tokio::time::timeout(GIVE_UP_AFTER, work).await.unwrap_or_else(tired)
}

/// Insists that the database is migrated.
///
/// # Errors
/// Misuse, with what to do about it.
pub(crate) async fn migrated(pool: &Pool) -> Result<(), Stop> {
    let mut connection = pool.acquire().await.map_err(|error| unreachable(&error))?;
    match migrate::level(&mut connection).await.map_err(|error| unreachable(&error))? {
        Level::Current => Ok(()),
        Level::Behind(missing) => Err(Stop::Misuse(anyhow!(
            "the database lacks the migrations {missing:?}: run `lastunit migrate`, or allow it with database.migrate"
        ))),
        Level::Ahead(version) => Err(Stop::Misuse(anyhow!(
            "the database has migration {version}, which this program does not know: it is older than the database"
        ))),
    }
}

fn unreachable(error: &sqlx::Error) -> Stop {
    Stop::Unreachable(anyhow!("PostgreSQL: {error}"))
}

/// How a command ends that the database failed.
pub(super) fn stop(error: StoreError) -> Stop {
    match error.fault() {
        Fault::Away => Stop::Unreachable(anyhow!(error).context("PostgreSQL")),
        Fault::Again | Fault::Locked | Fault::Unfit | Fault::Data => Stop::Failed(anyhow!(error)),
    }
}
