//! What a failed statement means for the transaction that ran it.

use super::Conflict;

/// Why a batch was not written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database said so.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// The table was other than it was decided on.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The program itself gave up on it: a defect of ours, met by one batch and not by the whole service.
    #[error("the decision panicked: {0}")]
    Panicked(String),
    /// What was stored cannot be read back.
    #[error("stored {what} cannot be read: {detail}")]
    Unreadable {
        /// What.
        what: &'static str,
        /// Why.
        detail: String,
    },
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Serialization failure, deadlock, or a conflict: the whole transaction again.
    Again,
    /// A lock was not to be had in time.
    Locked,
    /// The server is away, or its connection is: wait for it.
    Away,
    /// The database is not what the program needs: a right, a table, a login is missing. No message is to blame, and all wait until somebody has
    /// mended it.
    Unfit,
    /// The statement itself cannot succeed.
    Data,
}

impl StoreError {
    /// What to do about this error.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Conflict(_) => Fault::Again,
            Self::Unreadable { .. } | Self::Panicked(_) => Fault::Data,
            Self::Database(error) => fault_of(error),
        }
    }
}

pub(super) fn fault_of(error: &sqlx::Error) -> Fault {
    match error {
        sqlx::Error::Database(database) => fault_of_code(database.code().as_deref().unwrap_or_default()),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Fault::Away,
        _ => Fault::Data,
    }
}

/// By the classes of SQLSTATE: PostgreSQL's manual, appendix A.
fn fault_of_code(code: &str) -> Fault {
    match code {
        // Also what took longer than a statement may: a batch that always does is counted and taken apart. And a plan that a changed table has made
        // void (0A000): the next connection makes another. And a slot that somebody took past the locks (23P01): it will be found taken.
        "40001" | "40P01" | "57014" | "0A000" | "23P01" => Fault::Again,
        "55P03" => Fault::Locked,
        // Shut down, started up, ended while idle in a transaction, no room or read-only for now.
        "25P03" | "25P04" | "25006" => Fault::Away,
        _ if ["08", "53", "57", "58"].iter().any(|class| code.starts_with(class)) => Fault::Away,
        // Who logs in, which database and schema, what is there and who may.
        _ if ["28", "3D", "3F", "42"].iter().any(|class| code.starts_with(class)) => Fault::Unfit,
        _ => Fault::Data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_tells_what_to_do() {
        for (code, fault) in [
            ("40001", Fault::Again),
            ("40P01", Fault::Again),
            ("55P03", Fault::Locked),
            ("57P01", Fault::Away),
            ("57P03", Fault::Away),
            ("08006", Fault::Away),
            ("53300", Fault::Away),
            ("25P03", Fault::Away),
            ("23514", Fault::Data),
            ("22021", Fault::Data),
            ("42P01", Fault::Unfit),
            ("42501", Fault::Unfit),
            ("28P01", Fault::Unfit),
            ("3D000", Fault::Unfit),
            ("0A000", Fault::Again),
            ("23P01", Fault::Again),
            ("23505", Fault::Data),
        ] {
            assert_eq!(fault_of_code(code), fault, "{code}");
        }
    }
}
