//! `lastunit migrate`.

use anyhow::anyhow;

use super::{Exit, Stop, database, print};
use crate::config::Settings;
use crate::store::migrate;

pub async fn run(settings: &Settings) -> Result<Exit, Stop> {
    let pool = database::reach(&settings.database).await?;
    let applied = migrate::apply(&pool, &settings.database.schema)
        .await
        .map_err(|error| Stop::Misuse(anyhow!("the database cannot be migrated: {error}")))?;
    match applied.as_slice() {
        [] => print::line("nothing to migrate")?,
        versions => versions.iter().try_for_each(|version| print::line(format!("applied {version}")))?,
    }
    Ok(Exit::Fine)
}
