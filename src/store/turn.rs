//! Turns: what only one copy at a time may do, held by a session and lost with it.
//!
//! Who stands still (a paused process, a machine that hangs) would keep its turn for ever: its kernel goes on answering. So the server ends a
//! session from which nothing is heard, and whoever has a turn lets itself be heard well within that time. A session that was ended fails at its
//! next statement: nothing can be written in a turn that somebody else may have by now.

use std::pin::pin;
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::time::Instant;

use super::outbox::Lane;
use crate::config::Database;
use crate::domain::Channel;

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

/// How often in the time that the server waits for it a session lets itself be heard.
const TIMES_HEARD: u32 = 4;

/// A session of its own, to take a turn in.
#[derive(Debug)]
pub struct Session {
    connection: PgConnection,
    /// When we last asked for a sign of life, and how long that may be ago.
    heard: Instant,
    every: Duration,
}

impl Session {
    /// One that does not hold a turn yet.
    ///
    /// # Errors
    /// The database's own.
    pub async fn open(database: &Database) -> Result<Self, sqlx::Error> {
        let silence = format!("{}ms", database.turn_timeout_ms);
        let options = super::pool::options(database)?.options([
            ("idle_session_timeout", silence.as_str()),
            // Who stands still does not read either: then the session is not idle, but in the middle of an answer.
            ("tcp_user_timeout", silence.as_str()),
        ]);
        Ok(Self {
            connection: PgConnection::connect_with(&options).await?,
            heard: Instant::now(),
            every: Duration::from_millis(database.turn_timeout_ms) / TIMES_HEARD,
        })
    }

    /// Takes the turn, if nobody has it.
    ///
    /// # Errors
    /// The database's own.
    pub async fn take(&mut self, turn: TurnOf) -> Result<bool, sqlx::Error> {
        take(&mut self.connection, turn).await
    }

    /// Takes the turn at telling a channel, if nobody has it: so its rates are kept over all copies.
    ///
    /// # Errors
    /// The database's own.
    pub async fn take_channel(&mut self, channel: &Channel) -> Result<bool, sqlx::Error> {
        take_channel(&mut self.connection, channel).await
    }

    /// Where what is done in the turn is written.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.connection
    }

    /// Makes sure that the session has not been ended while we stood still. Asks the server only if that may be.
    ///
    /// # Errors
    /// The session is gone, and the turn with it.
    pub async fn stands(&mut self) -> Result<(), sqlx::Error> {
        if self.heard.elapsed() < self.every {
            return Ok(());
        }
        // From before the question: the server waits from its answer on.
        let asked = Instant::now();
        sqlx::query("SELECT 1").execute(&mut self.connection).await?;
        self.heard = asked;
        Ok(())
    }

    /// Waits for `work`, which does not use the session, and keeps the session alive meanwhile.
    ///
    /// # Errors
    /// The session is gone; the work is dropped.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, sqlx::Error> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = tokio::time::sleep_until(self.heard + self.every) => self.stands().await?,
            }
        }
    }
}

/// Takes the turn for as long as this connection stands, however long it is silent: for a command that a person waits for.
///
/// # Errors
/// The database's own.
pub async fn take(connection: &mut PgConnection, turn: TurnOf) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT pg_try_advisory_lock(hashtext('lastunit ' || current_schema()), $1)")
        .bind(turn as i32)
        .fetch_one(connection)
        .await
}

/// Takes the turn at telling a channel for as long as this connection stands. One number of 64 bits: those of the other turns are two of 32.
///
/// # Errors
/// The database's own.
pub async fn take_channel(connection: &mut PgConnection, channel: &Channel) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT pg_try_advisory_lock(hashtextextended('lastunit ' || current_schema() || ' channel ' || $1, 0))",
    )
    .bind(channel.as_str())
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
