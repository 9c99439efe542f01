//! Messages that could not be processed, whole.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use super::message::{StoredMessage, headers_of};
use super::{StoreError, changed_all};
use crate::domain::{Reason, Refusal, Timestamp};
use crate::messages::Message;

/// A dead letter as it is stored.
#[derive(Debug, sqlx::FromRow)]
pub struct DeadLetter {
    /// Its row.
    pub id: i64,
    /// Its own id, the same each time it is told.
    pub event_id: Uuid,
    /// The message that it was.
    #[sqlx(flatten)]
    pub message: StoredMessage,
    /// The word.
    pub reason: String,
    /// The sentence.
    pub detail: String,
    /// When it was refused.
    pub opened_at: Timestamp,
    /// When it was processed after all, or kept waiting.
    pub resolved_at: Option<Timestamp>,
}

/// A dead letter as it is listed.
#[derive(Debug, sqlx::FromRow)]
pub struct Listed {
    /// Its row.
    pub id: i64,
    /// Its full subject, without prefix.
    pub subject: String,
    /// The word.
    pub reason: String,
    /// The sentence.
    pub detail: String,
    /// The stream the message came from.
    pub stream: String,
    /// Its place there.
    pub sequence: i64,
    /// When the stream received it.
    pub received_at: Timestamp,
    /// When it was refused.
    pub opened_at: Timestamp,
    /// When it was processed after all, or kept waiting.
    pub resolved_at: Option<Timestamp>,
}

/// Which dead letters are meant.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Resolved ones too.
    pub all: bool,
    /// For this word only.
    pub reason: Option<Reason>,
    /// Refused at this instant or later.
    pub since: Option<Timestamp>,
    /// Refused before this instant.
    pub until: Option<Timestamp>,
}

/// The next dead letters after a row, by their rows, at most `limit`.
pub async fn list(
    connection: &mut PgConnection,
    filter: &Filter,
    after: i64,
    limit: i64,
) -> Result<Vec<Listed>, StoreError> {
    Ok(sqlx::query_as(include_str!("dead_letters_list.sql"))
        .bind(after)
        .bind(filter.all)
        .bind(filter.reason.map(Reason::word))
        .bind(filter.since)
        .bind(filter.until)
        .bind(limit)
        .fetch_all(connection)
        .await?)
}

/// Locks those of the rows that are open, and returns them. `ids` are sorted.
pub async fn lock_open(connection: &mut PgConnection, ids: &[i64]) -> Result<HashSet<i64>, StoreError> {
    if ids.is_empty() {
        return Ok(HashSet::new());
    }
    let locked: Vec<(i64, bool)> =
        sqlx::query_as(include_str!("dead_letters_lock.sql")).bind(ids).fetch_all(connection).await?;
    Ok(locked.into_iter().filter_map(|(id, resolved)| (!resolved).then_some(id)).collect())
}

/// Resolves locked rows.
pub async fn resolve_many(connection: &mut PgConnection, ids: &[i64], at: Timestamp) -> Result<(), StoreError> {
    if ids.is_empty() {
        return Ok(());
    }
    let resolved = sqlx::query(include_str!("dead_letters_resolve.sql")).bind(ids).bind(at).execute(connection).await?;
    changed_all("dead letters to resolve", &resolved, ids.len())
}

/// Keeps locked rows open for what they were refused for now.
pub async fn refuse_again_many(connection: &mut PgConnection, refused: &[(i64, &Refusal)]) -> Result<(), StoreError> {
    if refused.is_empty() {
        return Ok(());
    }
    let updated = sqlx::query(include_str!("dead_letters_again.sql"))
        .bind(refused.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, refusal)| refusal.reason.word()).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, refusal)| storable(&refusal.detail)).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    changed_all("dead letters refused again", &updated, refused.len())
}

/// Opens those of the messages again that were resolved by a replay, which kept them waiting, and returns their rows.
pub async fn reopen_many(
    connection: &mut PgConnection,
    refused: &[(&Message, &Refusal)],
    at: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    if refused.is_empty() {
        return Ok(Vec::new());
    }
    Ok(sqlx::query_scalar(include_str!("dead_letters_reopen.sql"))
        .bind(refused.iter().map(|(message, _)| &*message.stream).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| message.sequence).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| message.received_at).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, refusal)| refusal.reason.word()).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, refusal)| storable(&refusal.detail)).collect::<Vec<_>>())
        .bind(at)
        .fetch_all(connection)
        .await?)
}

/// Stores refused messages and returns the ids of those that were not stored before.
pub async fn insert_many(
    connection: &mut PgConnection,
    refused: &[(&Message, &Refusal)],
    at: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    if refused.is_empty() {
        return Ok(Vec::new());
    }
    Ok(sqlx::query_scalar(include_str!("dead_letters_insert.sql"))
        .bind(refused.iter().map(|_| Uuid::now_v7()).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| &*message.stream).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| message.sequence).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| message.received_at).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| &*message.consumer).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| storable(&message.subject)).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, refusal)| refusal.reason.word()).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, refusal)| storable(&refusal.detail)).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| headers_of(message)).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| &*message.payload).collect::<Vec<_>>())
        .bind(at)
        .fetch_all(connection)
        .await?)
}

/// Those of the messages, by their place, that were refused before and are still open, and why. What the broker delivers once more stays refused, also where it
/// could be done by now: somebody was told of it.
pub async fn refused_before(
    connection: &mut PgConnection,
    messages: &[(usize, &Message)],
) -> Result<BTreeMap<usize, Refusal>, StoreError> {
    let mut spans: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (_, message) in messages {
        let span = spans.entry(&message.stream).or_insert((message.sequence, message.sequence));
        *span = (span.0.min(message.sequence), span.1.max(message.sequence));
    }
    if spans.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows: Vec<Refused> = sqlx::query_as(include_str!("dead_letters_refused.sql"))
        .bind(spans.keys().copied().collect::<Vec<_>>())
        .bind(spans.values().map(|(first, _)| *first).collect::<Vec<_>>())
        .bind(spans.values().map(|(_, last)| *last).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    if rows.is_empty() {
        return Ok(BTreeMap::new());
    }
    let refused: HashMap<(&str, i64, Timestamp), Refusal> = rows
        .iter()
        .filter(|row| !row.resolved)
        .map(|row| {
            let reason = Reason::from_word(&row.reason).unwrap_or(Reason::Internal);
            ((row.stream.as_str(), row.sequence, row.received_at), Refusal::new(reason, row.detail.as_str()))
        })
        .collect();
    let refusal = |message: &Message| refused.get(&(&*message.stream, message.sequence, message.received_at)).cloned();
    Ok(messages.iter().filter_map(|(place, message)| Some((*place, refusal(message)?))).collect())
}

#[derive(sqlx::FromRow)]
struct Refused {
    stream: String,
    sequence: i64,
    received_at: Timestamp,
    reason: String,
    detail: String,
    resolved: bool,
}

/// PostgreSQL's text holds no NUL.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Reads dead letters back, sorted by their rows.
pub async fn load_many(connection: &mut PgConnection, ids: &[i64]) -> Result<Vec<DeadLetter>, StoreError> {
    Ok(sqlx::query_as(include_str!("dead_letters_load.sql")).bind(ids).fetch_all(connection).await?)
}

/// Lets go of at most `limit` dead letters that were resolved longer than `keep` ago and that nothing in the outbox tells of. Returns how many.
///
/// # Errors
/// The database's own.
pub async fn prune(connection: &mut PgConnection, keep: Duration, limit: i64) -> Result<u64, StoreError> {
    let prune = sqlx::query(include_str!("dead_letters_prune.sql")).bind(keep.as_secs_f64()).bind(limit);
    Ok(prune.execute(connection).await?.rows_affected())
}

/// For how many seconds the one resolved longest ago has been resolved, 0 without any.
///
/// # Errors
/// The database's own.
pub async fn oldest_resolved_s(connection: &mut PgConnection) -> Result<f64, StoreError> {
    Ok(sqlx::query_scalar(include_str!("dead_letters_oldest.sql")).fetch_one(connection).await?)
}
