//! Who holds or waits for which stock row, as far as the server shows it.

use sqlx::PgConnection;

use super::StoreError;

/// Somebody waits for a row, behind somebody.
#[derive(Debug, sqlx::FromRow)]
pub struct Wait {
    /// What; none where the row was changed while it was looked at.
    pub sku: Option<String>,
    /// Where.
    pub warehouse: Option<String>,
    /// The session that waits.
    pub waiter: i32,
    /// For how long, in seconds; none where it has only just begun.
    pub waits_s: Option<f64>,
    /// A session that it waits for: that which has the row, or one before it in the queue.
    pub behind: i32,
}

/// A session of the server.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Session {
    /// Its process.
    pub pid: i32,
    /// What it calls itself.
    pub application: String,
    /// Its role.
    pub who: String,
    /// From where it is connected.
    pub address: String,
    /// What it is doing.
    pub state: String,
    /// How long its transaction has been open, in seconds.
    pub transaction_s: Option<f64>,
    /// Its last statement.
    pub query: String,
    /// Whether its transaction has locked or changed rows of stock.
    pub has_rows: bool,
}

/// Everybody who waits for a stock row.
pub async fn waits(connection: &mut PgConnection) -> Result<Vec<Wait>, StoreError> {
    Ok(sqlx::query_as(include_str!("locks.sql")).fetch_all(connection).await?)
}

/// These sessions, and all whose transaction has locked or changed rows of stock.
pub async fn sessions(connection: &mut PgConnection, pids: &[i32]) -> Result<Vec<Session>, StoreError> {
    Ok(sqlx::query_as(include_str!("locks_sessions.sql")).bind(pids).fetch_all(connection).await?)
}
