//! Connections: few, with limits on everything that can wait, and with plans that do not depend on what a table held when they were made.

use std::io;
use std::str::FromStr;
use std::time::Duration;

use secrecy::ExposeSecret;
use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};

use crate::config::Database;

/// The pool of connections.
pub type Pool = sqlx::PgPool;

/// How to connect.
///
/// A statement is prepared once and its plan kept for as long as the connection lives. On tables that were empty then, the planner would
/// choose sequential scans for ever. So the plan is generic, and those kinds of plans are ruled out that read a whole growing table.
///
/// # Errors
/// An address that cannot be understood.
pub fn options(database: &Database) -> Result<PgConnectOptions, sqlx::Error> {
    let milliseconds = |ms: u64| format!("{ms}ms");
    let mut options = PgConnectOptions::from_str(database.url.expose_secret())?;
    if let Some(password) = &database.password {
        options = options.password(password.expose_secret());
    }
    Ok(options.application_name("lastunit").options([
        ("search_path", database.schema.clone()),
        ("timezone", "UTC".into()),
        ("lock_timeout", milliseconds(database.lock_timeout_ms)),
        ("statement_timeout", milliseconds(database.statement_timeout_ms)),
        ("idle_in_transaction_session_timeout", milliseconds(database.idle_in_transaction_timeout_ms)),
        ("plan_cache_mode", "force_generic_plan".into()),
        ("enable_seqscan", "off".into()),
        ("enable_hashjoin", "off".into()),
        ("enable_mergejoin", "off".into()),
        // To find the first row of a warehouse it would gather all of them.
        ("enable_bitmapscan", "off".into()),
        ("jit", "off".into()),
        ("tcp_keepalives_idle", "10".into()),
        ("tcp_keepalives_interval", "5".into()),
        ("tcp_keepalives_count", "3".into()),
    ]))
}

/// How long a server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Connects once. A pool that cannot connect only says that it waited; this says what is wrong.
///
/// # Errors
/// An address that cannot be understood, or the server's own.
pub async fn reach(database: &Database) -> Result<(), sqlx::Error> {
    let asked = async { PgConnection::connect_with(&options(database)?).await?.close().await };
    tokio::time::timeout(ANSWER_WITHIN, asked)
        .await
        .unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
}

/// A connection outside the pool, for as long as its holder wants it.
///
/// # Errors
/// An address that cannot be understood, or the server's own.
pub async fn session(database: &Database) -> Result<PgConnection, sqlx::Error> {
    PgConnection::connect_with(&options(database)?).await
}

/// Makes the pool; connects when first used.
///
/// # Errors
/// An address that cannot be understood.
pub fn connect(database: &Database) -> Result<Pool, sqlx::Error> {
    Ok(PgPoolOptions::new()
        .max_connections(database.max_connections)
        .acquire_timeout(ANSWER_WITHIN)
        .after_release(|connection, _| Box::pin(std::future::ready(Ok(is_outside_transaction(connection)))))
        .connect_lazy_with(options(database)?))
}

/// A connection still inside a transaction must not serve anybody else: it is closed.
fn is_outside_transaction(connection: &PgConnection) -> bool {
    !connection.is_in_transaction()
}
