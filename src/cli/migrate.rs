//! `lastunit migrate`.

use anyhow::anyhow;

use super::{Exit, Stop};
use crate::config::Settings;
use crate::store::{self, migrate};

pub async fn run(settings: &Settings) -> Result<Exit, Stop> {
    let pool = store::connect(&settings.database)
        .map_err(|error| Stop::Misuse(anyhow!("database.url cannot be understood: {error}")))?;
    store::reach(&settings.database).await.map_err(|error| Stop::Unreachable(anyhow!("PostgreSQL: {error}")))?;
    let applied = migrate::apply(&pool, &settings.database.schema)
        .await
        .map_err(|error| Stop::Misuse(anyhow!("the database cannot be migrated: {error}")))?;
    match applied.as_slice() {
        [] => println!("nothing to migrate"),
        versions => versions.iter().for_each(|version| println!("applied {version}")),
    }
    Ok(Exit::Fine)
}
