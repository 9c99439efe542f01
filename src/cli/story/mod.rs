//! `lastunit story`: a morning in a shop. Real messages in, what the program tells as it tells it, and the tables at the end.
//!
//! `scripts/demo` plays it, a newcomer's first look, and therefore it is a hidden subcommand: an example would be built with all that only the
//! tests need, two thirds more work before a newcomer sees anything.

mod plot;
mod stage;
mod tables;

use anyhow::anyhow;
use sqlx::{Connection, PgConnection};

use super::{Exit, Stop};
use crate::broker;
use crate::config::Settings;
use crate::store::pool;

/// Fails if an answer that the story expects does not come.
pub async fn run(settings: &Settings) -> Result<Exit, Stop> {
    if !settings.streams.prefix.is_empty() {
        return Err(Stop::Misuse(anyhow!("the story knows no streams.prefix")));
    }
    let (connection, _) = tokio::sync::watch::channel(broker::Connection::Up(0));
    let nats = broker::connect(&settings.nats, connection)
        .await
        .map_err(|error| Stop::Unreachable(anyhow!("NATS cannot be reached: {error}")))?;
    let options = pool::options(&settings.database).map_err(|error| Stop::Misuse(error.into()))?;
    let mut database = PgConnection::connect_with(&options)
        .await
        .map_err(|error| Stop::Unreachable(anyhow!("PostgreSQL cannot be reached: {error}")))?;
    plot::play(nats, &mut database).await?;
    Ok(Exit::Fine)
}
