//! What the broker is known to have had, and what it was noticed to have lost.

use sqlx::PgConnection;

use super::StoreError;
use crate::domain::Timestamp;

/// A stream or durable consumer, as it is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// `STOCK`, or `ORDERS/lastunit-orders`; as it is called at the broker.
    pub name: String,
    /// When it was made, to the microsecond.
    pub made_at: Timestamp,
    /// The last sequence in it; 0 for a consumer.
    pub last_seq: i64,
    /// When its oldest message was received; none for a stream without any, and for a consumer.
    pub oldest_at: Option<Timestamp>,
}

/// The same, as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Remembered {
    /// Its name.
    pub name: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// What was last in it.
    pub last_seq: i64,
    /// How often it has lost something.
    pub epoch: i64,
}

/// Up to where a stream is known to have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, sqlx::FromRow)]
pub struct Mark {
    /// The last sequence.
    pub last_seq: i64,
    /// How often it had lost something when that was known.
    pub epoch: i64,
}

/// What was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossKind {
    /// All there was in it.
    MadeAnew,
    /// What came last.
    TailLost,
}

impl LossKind {
    fn word(self) -> &'static str {
        match self {
            Self::MadeAnew => "made_anew",
            Self::TailLost => "tail_lost",
        }
    }
}

/// A loss that nobody has made good.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Loss {
    /// Of what.
    pub name: String,
    /// A sentence for a person.
    pub detail: String,
    /// When it was noticed.
    pub raised_at: Timestamp,
}

/// Everything that is remembered.
pub async fn remembered(connection: &mut PgConnection) -> Result<Vec<Remembered>, StoreError> {
    Ok(sqlx::query_as(include_str!("broker_remembered.sql")).fetch_all(connection).await?)
}

/// Up to where a stream is known to have come; its beginning, where nothing is known of it.
pub async fn mark(connection: &mut PgConnection, stream: &str) -> Result<Mark, StoreError> {
    let mark = sqlx::query_as(include_str!("broker_stream.sql")).bind(stream).fetch_optional(connection).await?;
    Ok(mark.unwrap_or_default())
}

/// Remembers what is seen for the first time, and how far streams have grown. A stream that is another than the remembered one stays as it is.
pub async fn meet_many(connection: &mut PgConnection, seen: &[Known]) -> Result<(), StoreError> {
    sqlx::query(include_str!("broker_meet.sql"))
        .bind(seen.iter().map(|known| known.name.as_str()).collect::<Vec<_>>())
        .bind(seen.iter().map(|known| known.made_at).collect::<Vec<_>>())
        .bind(seen.iter().map(|known| known.last_seq).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}

/// Forgets objects: whatever they are next seen as is met for the first time.
pub async fn forget_many(connection: &mut PgConnection, names: &[String]) -> Result<(), StoreError> {
    sqlx::query(include_str!("broker_forget.sql")).bind(names).execute(connection).await?;
    Ok(())
}

/// Notes a loss of an object that was known in that epoch, unless somebody has, and remembers what is there now: since when, if that is another
/// instant, and up to where.
pub async fn lost(
    connection: &mut PgConnection,
    (name, epoch): (&str, i64),
    (made_at, last_seq): (Option<Timestamp>, i64),
    kind: LossKind,
    detail: &str,
) -> Result<(), StoreError> {
    sqlx::query(include_str!("broker_lost.sql"))
        .bind(name)
        .bind(epoch)
        .bind(made_at)
        .bind(last_seq)
        .bind(kind.word())
        .bind(detail)
        .execute(connection)
        .await?;
    Ok(())
}

/// The losses that nobody has made good, by name.
pub async fn losses(connection: &mut PgConnection) -> Result<Vec<Loss>, StoreError> {
    Ok(sqlx::query_as(include_str!("broker_losses.sql")).fetch_all(connection).await?)
}

/// Lays losses to rest, all of them where none is named, and returns of what they were.
pub async fn acknowledge(connection: &mut PgConnection, names: &[String]) -> Result<Vec<String>, StoreError> {
    Ok(sqlx::query_scalar(include_str!("broker_acknowledge.sql")).bind(names).fetch_all(connection).await?)
}
