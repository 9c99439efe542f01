//! Generations: how the inbox, the outbox and what marketplaces were told and showed are forgotten. Rows go into the current one of a ring of four; a rotation empties the oldest and makes
//! it the current one.
//!
//! Emptying is TRUNCATE: it leaves no dead row behind, so that it costs the same whatever snapshot somebody holds open, and the program need not
//! own the tables. It wants to be alone with the generation, for the blink of an eye; whoever reads it then is not waited for, the rotation
//! comes again.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::outbox::{self, Needed};
use super::{StoreError, changed_all};

/// What is kept in generations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// `processed_event`.
    Inbox = 101,
    /// `outbox`.
    Outbox = 102,
    /// `push_attempt`.
    Attempts = 103,
    /// `stock_observation`.
    Observations = 104,
}

impl Kept {
    /// What rows of `generation`, and metrics, call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::Outbox => "outbox",
            Self::Attempts => "attempts",
            Self::Observations => "observations",
        }
    }

    fn table(self) -> &'static str {
        match self {
            Self::Inbox => "processed_event",
            Self::Outbox => "outbox",
            Self::Attempts => "push_attempt",
            Self::Observations => "stock_observation",
        }
    }
}

/// How long a rotation waits until no batch is in the middle of a claim. Batches that come meanwhile wait behind it.
const WAIT_FOR_BATCHES: &str = "SET LOCAL lock_timeout = '250ms'";
/// How long it then waits to be alone with the oldest generation: who has it may be a person's query, and the batches still wait.
const WAIT_FOR_READERS: &str = "SET LOCAL lock_timeout = '50ms'";

/// How old a kept thing is at its old end.
#[derive(Debug, Clone, Copy, PartialEq, sqlx::FromRow)]
pub struct State {
    /// The generation to be emptied and opened next.
    number: i16,
    /// For how long a rotation has been due, in seconds; negative before that.
    pub overdue_s: f64,
    /// No row is older than this, in seconds.
    pub oldest_s: f64,
}

/// How a rotation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Rotation {
    /// The oldest generation is empty and the current one.
    Done,
    /// It is not time: somebody else has done it.
    NotDue,
    /// Something in the oldest generation is needed still, and nothing was thrown away.
    Needed(Needed),
}

/// Lets no rotation of the inbox happen until the transaction ends. Comes before the statement that claims, so that that one sees what the last
/// rotation left.
///
/// # Errors
/// The database's own: while a rotation is being waited for, the lock may not be had in time.
pub async fn hold_still(transaction: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("SELECT pg_advisory_xact_lock_shared(hashtext('lastunit ' || current_schema()), $1)")
        .bind(Kept::Inbox as i32)
        .execute(transaction)
        .await?;
    Ok(())
}

/// How things stand, where rows are kept for so long.
///
/// # Errors
/// The database's own.
pub async fn state(connection: &mut PgConnection, kept: Kept, keep: Duration) -> Result<State, StoreError> {
    let state = sqlx::query_as(include_str!("generations_kept.sql")).bind(kept.word()).bind(keep.as_secs_f64());
    Ok(state.fetch_one(connection).await?)
}

/// Empties the oldest generation and makes it the current one, if all in it is older than `keep` and nobody needs it. Looks without a lock
/// first, and again under the locks.
///
/// # Errors
/// The database's own. Where batches or readers do not make room in time it is a lock that was not to be had: nothing happened.
pub async fn rotate(connection: &mut PgConnection, kept: Kept, keep: Duration) -> Result<Rotation, StoreError> {
    let early = state(connection, kept, keep).await?;
    if let Some(obstacle) = obstacle(connection, kept, keep, early).await? {
        return Ok(obstacle);
    }
    let mut transaction = connection.begin().await?;
    lock_out_batches(&mut transaction, kept).await?;
    let state = state(&mut transaction, kept, keep).await?;
    let oldest = format!("{}_{}", kept.table(), state.number);
    lock_out_readers(&mut transaction, &oldest).await?;
    if let Some(obstacle) = obstacle(&mut transaction, kept, keep, state).await? {
        transaction.rollback().await?;
        return Ok(obstacle);
    }
    sqlx::query(AssertSqlSafe(format!("TRUNCATE {oldest}"))).execute(&mut *transaction).await?;
    advance(&mut transaction, kept, state.number).await?;
    transaction.commit().await?;
    Ok(Rotation::Done)
}

/// Why there is nothing to be done, if so.
async fn obstacle(
    connection: &mut PgConnection,
    kept: Kept,
    keep: Duration,
    state: State,
) -> Result<Option<Rotation>, StoreError> {
    if state.overdue_s < 0.0 {
        return Ok(Some(Rotation::NotDue));
    }
    match kept {
        // All of it is older than the end of its generation, and that is long enough ago.
        Kept::Inbox | Kept::Attempts | Kept::Observations => Ok(None),
        Kept::Outbox => Ok(outbox::needed(connection, state.number, keep).await?.map(Rotation::Needed)),
    }
}

async fn lock_out_batches(transaction: &mut PgConnection, kept: Kept) -> Result<(), StoreError> {
    sqlx::query(WAIT_FOR_BATCHES).execute(&mut *transaction).await?;
    sqlx::query("SELECT pg_advisory_xact_lock(hashtext('lastunit ' || current_schema()), $1)")
        .bind(kept as i32)
        .execute(transaction)
        .await?;
    Ok(())
}

async fn lock_out_readers(transaction: &mut PgConnection, oldest: &str) -> Result<(), StoreError> {
    sqlx::query(WAIT_FOR_READERS).execute(&mut *transaction).await?;
    let lock = format!("LOCK TABLE {oldest} IN ACCESS EXCLUSIVE MODE");
    sqlx::query(AssertSqlSafe(lock)).execute(transaction).await?;
    Ok(())
}

/// Closes the current generation and opens this one.
async fn advance(transaction: &mut PgConnection, kept: Kept, number: i16) -> Result<(), StoreError> {
    let closed =
        sqlx::query(include_str!("generations_close.sql")).bind(kept.word()).execute(&mut *transaction).await?;
    changed_all("generations", &closed, 1)?;
    let open = sqlx::query(include_str!("generations_open.sql")).bind(kept.word()).bind(number);
    let opened = open.execute(&mut *transaction).await?;
    changed_all("generations", &opened, 1)
}
