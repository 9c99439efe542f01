//! Turns: what only one copy at a time may do, held by a session and lost with it.

use sqlx::{Connection, PgConnection};

use super::outbox::Lane;
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
}

impl TurnOf {
    /// Telling a lane.
    pub fn relay(lane: Lane) -> Self {
        match lane {
            Lane::Stock => Self::RelayStock,
            Lane::Reservations => Self::RelayReservations,
            Lane::Dead => Self::RelayDead,
        }
    }
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

/// Whether any session holds the turn. It may be given up the next moment: good for telling a person, for nothing else.
///
/// # Errors
/// The database's own.
pub async fn is_held(connection: &mut PgConnection, turn: TurnOf) -> Result<bool, sqlx::Error> {
    // A lock by two numbers has the first as `classid`, which is unsigned, and 2 as `objsubid`.
    sqlx::query_scalar(
        "SELECT EXISTS (
            SELECT FROM pg_locks
            WHERE locktype = 'advisory' AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND classid::bigint = hashtext('lastunit ' || current_schema())::bigint & 4294967295
                AND objid::bigint = $1::integer AND objsubid = 2)",
    )
    .bind(turn as i32)
    .fetch_one(connection)
    .await
}
