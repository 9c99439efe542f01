//! Reviews, as a person sees and resolves them.

use std::collections::HashSet;

use serde_json::Value;
use sqlx::PgConnection;

use super::message::StoredMessage;
use super::{StoreError, counted};
use crate::domain::Timestamp;

/// A review as it is stored.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct StoredReview {
    /// Its row.
    pub id: i64,
    /// Of which kind, in a word.
    pub kind: String,
    /// What it is about, as its event has it.
    pub subject: Value,
    /// A sentence for a person.
    pub detail: String,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// When it was resolved.
    pub resolved_at: Option<Timestamp>,
    /// By whom.
    pub resolved_by: Option<String>,
    /// What they said.
    pub note: Option<String>,
}

/// A message that is kept with a review.
#[derive(Debug, sqlx::FromRow)]
pub struct Kept {
    /// Its row among those that wait.
    pub id: i64,
    /// The message.
    #[sqlx(flatten)]
    pub message: StoredMessage,
}

/// What somebody says to a review.
#[derive(Debug, Clone)]
pub struct Answer<'a> {
    /// The review's row.
    pub review: i64,
    /// Who, 1 to 200 bytes.
    pub by: &'a str,
    /// What, 1 to 500 bytes.
    pub note: &'a str,
}

/// The next reviews after a row, by their rows, at most `limit`: open ones, or `all`; of one kind, or of any.
pub async fn list(
    connection: &mut PgConnection,
    all: bool,
    kind: Option<&str>,
    after: i64,
    limit: i64,
) -> Result<Vec<StoredReview>, StoreError> {
    let asked = sqlx::query_as(include_str!("reviews_list.sql")).bind(after).bind(all).bind(kind).bind(limit);
    Ok(asked.fetch_all(connection).await?)
}

/// One of them, if it is there.
pub async fn load(connection: &mut PgConnection, id: i64) -> Result<Option<StoredReview>, StoreError> {
    Ok(sqlx::query_as(include_str!("reviews_load.sql")).bind(id).fetch_optional(connection).await?)
}

/// The message that is kept with it, if one is.
pub async fn kept(connection: &mut PgConnection, id: i64) -> Result<Option<Kept>, StoreError> {
    Ok(sqlx::query_as(include_str!("reviews_kept.sql")).bind(id).fetch_optional(connection).await?)
}

/// Locks those of the rows that are open, and returns them. `ids` are sorted.
pub async fn lock_open(connection: &mut PgConnection, ids: &[i64]) -> Result<HashSet<i64>, StoreError> {
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let locked: Vec<(i64, bool)> =
        sqlx::query_as(include_str!("reviews_lock.sql")).bind(ids).fetch_all(connection).await?;
    Ok(locked.into_iter().filter_map(|(id, resolved)| (!resolved).then_some(id)).collect())
}

/// Resolves reviews that are locked and open, and returns them as they are from then on.
pub async fn resolve_many(
    connection: &mut PgConnection,
    answers: &[Answer<'_>],
    at: Timestamp,
) -> Result<Vec<StoredReview>, StoreError> {
    if answers.is_empty() {
        return Ok(Vec::new());
    }
    let resolved: Vec<StoredReview> = sqlx::query_as(include_str!("reviews_resolve.sql"))
        .bind(answers.iter().map(|answer| answer.review).collect::<Vec<_>>())
        .bind(answers.iter().map(|answer| answer.by).collect::<Vec<_>>())
        .bind(answers.iter().map(|answer| answer.note).collect::<Vec<_>>())
        .bind(at)
        .fetch_all(connection)
        .await?;
    counted("reviews", resolved.len() as u64, answers.len())?;
    Ok(resolved)
}
