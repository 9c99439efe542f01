//! `lastunit migrate`.

use std::time::Duration;

use anyhow::anyhow;

use super::{Exit, Stop};
use crate::config::Settings;
use crate::store::{self, migrate};

/// How long a command tries before it gives up.
const GIVE_UP_AFTER: Duration = Duration::from_secs(9);

pub async fn run(settings: &Settings) -> Result<Exit, Stop> {
    let pool = store::connect(&settings.database)
        .map_err(|error| Stop::Misuse(anyhow!("database.url cannot be understood: {error}")))?;
    reach(&pool).await?;
    let applied = migrate::apply(&pool, &settings.database.schema)
        .await
        .map_err(|error| Stop::Misuse(anyhow!("the database cannot be migrated: {error}")))?;
    match applied.as_slice() {
        [] => println!("nothing to migrate"),
        versions => versions.iter().for_each(|version| println!("applied {version}")),
    }
    Ok(Exit::Fine)
}

/// Waits for the database for as long as a command may.
///
/// # Errors
/// It does not answer.
pub(super) async fn reach(pool: &store::Pool) -> Result<(), Stop> {
    match tokio::time::timeout(GIVE_UP_AFTER, pool.acquire()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Stop::Unreachable(anyhow!("PostgreSQL: {error}"))),
        Err(_) => Err(Stop::Unreachable(anyhow!("PostgreSQL does not answer"))),
    }
}
