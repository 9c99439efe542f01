//! Migrations: compiled in, applied in order, each once.

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::fault::fault_of;
use super::{Fault, Pool};

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How far a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Level {
    /// All that this program knows of is applied.
    Current,
    /// These, by version, are not.
    Behind(Vec<i64>),
    /// Something is applied that this program does not know: it is older than the database.
    Ahead(i64),
}

/// Applies what is missing, one copy at a time, and returns the versions applied.
///
/// # Errors
/// An applied migration that differs from the one compiled in, or the database's own.
pub async fn apply(pool: &Pool, schema: &str) -> Result<Vec<i64>, MigrateError> {
    let connection = pool.acquire().await?;
    // A session of its own: an index on a large table takes longer than a statement of the service may.
    let mut connection = connection.detach();
    sqlx::query("SET statement_timeout = 0").execute(&mut connection).await?;
    make_schema(&mut connection, schema).await?;
    let missing = match level(&mut connection).await? {
        Level::Behind(missing) => missing,
        Level::Current | Level::Ahead(_) => Vec::new(),
    };
    MIGRATIONS.run(&mut connection).await?;
    connection.close().await?;
    Ok(missing)
}

/// Whether migrating failed for want of the database or of a lock, and not because of a migration: then it may be tried again.
pub fn may_be_tried_again(error: &MigrateError) -> bool {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            !matches!(fault_of(error), Fault::Data | Fault::Unfit)
        }
        _ => false,
    }
}

async fn make_schema(connection: &mut PgConnection, schema: &str) -> Result<(), sqlx::Error> {
    let exists: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)")
        .bind(schema)
        .fetch_one(&mut *connection)
        .await?;
    if !exists {
        let quoted = schema.replace('"', "\"\"");
        sqlx::query(AssertSqlSafe(format!("CREATE SCHEMA IF NOT EXISTS \"{quoted}\""))).execute(connection).await?;
    }
    Ok(())
}

/// How far the database is, without changing anything.
///
/// # Errors
/// The database's own.
pub async fn level(connection: &mut PgConnection) -> Result<Level, sqlx::Error> {
    let known: Vec<i64> = MIGRATIONS.iter().map(|migration| migration.version).collect();
    let table: bool =
        sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL").fetch_one(&mut *connection).await?;
    if !table {
        return Ok(Level::Behind(known));
    }
    let applied: Vec<i64> = sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success ORDER BY version")
        .fetch_all(connection)
        .await?;
    if let Some(unknown) = applied.iter().find(|version| !known.contains(version)) {
        return Ok(Level::Ahead(*unknown));
    }
    let missing: Vec<i64> = known.into_iter().filter(|version| !applied.contains(version)).collect();
    Ok(if missing.is_empty() { Level::Current } else { Level::Behind(missing) })
}
