//! `lastunit story`: a morning in a shop. Real messages in, what the program tells as it tells it, and the tables at the end.
//!
//! `scripts/demo` plays it, a newcomer's first look, and therefore it is a hidden subcommand: an example would be built with all that only the
//! tests need, two thirds more work before a newcomer sees anything.

mod fair;
mod plot;
mod stage;
mod tables;

use std::sync::Arc;

use anyhow::anyhow;
use sqlx::{Connection, PgConnection};

use super::{Exit, Stop, audit, database, print};
use crate::broker;
use crate::config::Settings;
use crate::explain;
use crate::store::pool;
use crate::topology::Topology;

use self::fair::Fair;
use self::stage::{BOLD, paint};

/// Fails if an answer that the story expects does not come.
pub async fn run(settings: &Settings) -> Result<Exit, Stop> {
    if !settings.streams.prefix.is_empty() {
        return Err(Stop::Misuse(anyhow!("the story knows no streams.prefix")));
    }
    let fair = Fair::of(settings)?;
    let (connection, _) = tokio::sync::watch::channel(broker::Connection::Up(0));
    let nats = broker::connect(&settings.nats, connection)
        .await
        .map_err(|error| Stop::Unreachable(anyhow!("NATS cannot be reached: {error}")))?;
    let options = pool::options(&settings.database).map_err(|error| Stop::Misuse(error.into()))?;
    let mut session = PgConnection::connect_with(&options)
        .await
        .map_err(|error| Stop::Unreachable(anyhow!("PostgreSQL cannot be reached: {error}")))?;
    let refused = plot::play(nats, fair, &mut session).await?;
    println!("\n{}", paint(BOLD, format!("Bob asks why. `lastunit explain web {}` says:", refused.order_ref)));
    let topology = Arc::new(Topology::load(settings.streams.dir.as_deref(), "")?);
    let broker = audit::reach(settings, topology).await;
    let told = explain::explain(&mut session, broker.as_ref().map_err(String::clone), &refused).await;
    print::text(format!("\n{}", told.map_err(database::stop)?.text()))?;
    Ok(Exit::Fine)
}
