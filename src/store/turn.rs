//! Turns: what only one copy at a time may do, held by a session and lost with it.

use sqlx::{Connection, PgConnection};

use crate::config::Database;

/// What there is to take turns at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOf {
    /// Deciding stock messages in stream order.
    Inventory = 1,
    /// Telling figures.
    RelayStock = 2,
    /// Telling what became of orders.
    RelayReservations = 3,
    /// Telling what could not be processed.
    RelayDead = 4,
    /// Auditing on schedule.
    Audit = 10,
}

/// A session of its own that does not hold the turn yet.
///
/// # Errors
/// The database's own.
pub async fn session(database: &Database) -> Result<PgConnection, sqlx::Error> {
    PgConnection::connect_with(&super::pool::options(database)?).await
}

/// Takes the turn for this session, if nobody has it.
///
/// # Errors
/// The database's own.
pub async fn take(connection: &mut PgConnection, turn: TurnOf) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT pg_try_advisory_lock(hashtext('lastunit ' || current_schema()), $1)")
        .bind(turn as i32)
        .fetch_one(connection)
        .await
}
