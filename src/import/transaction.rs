//! One file, one transaction: again as a whole where somebody else was faster.

use sqlx::{Connection, PgConnection};

use super::{BadRows, Report};
use crate::store::{Fault, Pool, StoreError};

/// How often a transaction is tried that meets others' locks or changes.
const TRIES: u32 = 10;

/// Runs `take` in a transaction, and commits if the report says that anything may be taken. A report of bad rows that refuse a file counts
/// nothing as taken.
///
/// # Errors
/// The database's own, and what did not come right in several tries.
pub async fn in_transaction(
    pool: &Pool,
    bad_rows: BadRows,
    take: impl AsyncFn(&mut PgConnection) -> Result<Report, StoreError>,
) -> Result<Report, StoreError> {
    let mut tries = 1;
    loop {
        match attempt(pool, bad_rows, &take).await {
            Err(error) if tries < TRIES && matches!(error.fault(), Fault::Again | Fault::Locked) => {
                tracing::info!("again from the start: {error}");
                tries += 1;
            }
            outcome => return outcome,
        }
    }
}

async fn attempt(
    pool: &Pool,
    bad_rows: BadRows,
    take: impl AsyncFn(&mut PgConnection) -> Result<Report, StoreError>,
) -> Result<Report, StoreError> {
    let mut connection = pool.acquire().await?;
    let mut transaction = connection.begin().await?;
    let mut report = take(&mut transaction).await?;
    report.bad.sort_by_key(|bad| bad.line);
    if report.allows(bad_rows) {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
        report.taken = 0;
    }
    Ok(report)
}
