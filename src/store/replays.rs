//! What the relay has been asked to tell again.

use sqlx::PgConnection;

use super::StoreError;
use super::broker::Mark;
use super::outbox::{Lane, Row};
use crate::domain::Timestamp;

/// A replay of a lane that is not done.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Replay {
    /// Its row.
    pub id: i64,
    /// Rows written at this instant or later are told again.
    pub since: Timestamp,
    /// Rows up to this one have been.
    pub told_to: i64,
    /// The last one to tell again.
    pub last_id: i64,
}

/// How far a replay is.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Progress {
    /// The stream, without prefix.
    pub stream: String,
    /// How many rows were told again.
    pub told_rows: i64,
    /// Rows up to this one have been.
    pub told_to: i64,
    /// The last one to tell again.
    pub last_id: i64,
    /// Whether all is told and what was in doubt is retold.
    pub done: bool,
}

/// Asks for what was told in a lane since an instant, and returns the row of the request.
pub async fn request(connection: &mut PgConnection, lane: Lane, since: Timestamp) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(include_str!("replays_request.sql"))
        .bind(lane.stream())
        .bind(since)
        .fetch_one(connection)
        .await?)
}

/// The oldest replay of a lane that is not done.
pub async fn open(connection: &mut PgConnection, lane: Lane) -> Result<Option<Replay>, StoreError> {
    Ok(sqlx::query_as(include_str!("replays_open.sql")).bind(lane.stream()).fetch_optional(connection).await?)
}

/// The next rows that a replay tells again.
pub async fn next(
    connection: &mut PgConnection,
    lane: Lane,
    replay: &Replay,
    limit: i64,
) -> Result<Vec<Row>, StoreError> {
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(include_str!("outbox_told.sql"))
        .bind(lane.stream())
        .bind(replay.told_to)
        .bind(replay.last_id)
        .bind(replay.since)
        .bind(limit)
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|(id, packed)| Row::stored(id, packed)).collect())
}

/// Remembers that `rows` more, up to a row, were told again, and what the broker acknowledged last in the stream that is called so there.
pub async fn told(
    connection: &mut PgConnection,
    replay: &Replay,
    told_to: i64,
    rows: i64,
    (stream, mark): (&str, Mark),
) -> Result<(), StoreError> {
    sqlx::query(include_str!("replays_told.sql"))
        .bind(replay.id)
        .bind(told_to)
        .bind(stream)
        .bind(mark.last_seq)
        .bind(rows)
        .bind(mark.epoch)
        .execute(connection)
        .await?;
    Ok(())
}

/// A replay is done, and makes good what the streams, as they are called at the broker, were known to have lost when it was asked for.
pub async fn done(connection: &mut PgConnection, replay: &Replay, streams: &[String]) -> Result<(), StoreError> {
    sqlx::query(include_str!("replays_done.sql")).bind(replay.id).bind(streams).execute(connection).await?;
    Ok(())
}

/// How far replays are.
pub async fn progress(connection: &mut PgConnection, ids: &[i64]) -> Result<Vec<Progress>, StoreError> {
    Ok(sqlx::query_as(include_str!("replays_progress.sql")).bind(ids).fetch_all(connection).await?)
}
