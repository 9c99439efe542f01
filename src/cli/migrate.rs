//! `lastunit migrate`.

use anyhow::anyhow;

use super::{Exit, Stop, database};
use crate::config::Settings;
use crate::store::migrate;

pub async fn run(settings: &Settings) -> Result<Exit, Stop> {
    let pool = database::reach(&settings.database).await?;
    let applied = migrate::apply(&pool, &settings.database.schema)
        .await
        .map_err(|error| Stop::Misuse(anyhow!("the database cannot be migrated: {error}")))?;
    match applied.as_slice() {
        [] => println!("nothing to migrate"),
        versions => versions.iter().for_each(|version| println!("applied {version}")),
    }
    Ok(Exit::Fine)
}
