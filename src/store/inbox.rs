//! Which events and documents were taken before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sqlx::PgConnection;

use super::{StoreError, changed_all, generations};
use crate::domain::{Digest, EventKey, FiledDocument, Text, Timestamp};

/// Claims events and tells which were claimed before, as far back as they are kept: those are kept as long as new ones from now on. `events` are
/// sorted and each stands there once.
pub async fn claim_many(connection: &mut PgConnection, events: &[EventKey]) -> Result<HashSet<EventKey>, StoreError> {
    if events.is_empty() {
        return Ok(HashSet::new());
    }
    generations::hold_still(connection).await?;
    let claimed: HashSet<(String, String)> = sqlx::query_as(include_str!("inbox.sql"))
        .bind(subjects(events))
        .bind(ids(events))
        .fetch_all(&mut *connection)
        .await?
        .into_iter()
        .collect();
    let is_new = |event: &EventKey| claimed.contains(&(event.subject.to_string(), event.id.to_string()));
    let seen: Vec<EventKey> = events.iter().filter(|event| !is_new(event)).cloned().collect();
    renew_many(connection, &seen).await?;
    Ok(seen.into_iter().collect())
}

/// Moves events that were claimed before into the current generation.
async fn renew_many(connection: &mut PgConnection, seen: &[EventKey]) -> Result<(), StoreError> {
    if !seen.is_empty() {
        sqlx::query(include_str!("inbox_renew.sql")).bind(subjects(seen)).bind(ids(seen)).execute(connection).await?;
    }
    Ok(())
}

/// Takes back the claims of events that were refused.
pub async fn forget_many(connection: &mut PgConnection, events: &[EventKey]) -> Result<(), StoreError> {
    if !events.is_empty() {
        sqlx::query(include_str!("inbox_forget.sql"))
            .bind(subjects(events))
            .bind(ids(events))
            .execute(connection)
            .await?;
    }
    Ok(())
}

fn subjects(events: &[EventKey]) -> Vec<&str> {
    events.iter().map(|event| &*event.subject).collect()
}

fn ids(events: &[EventKey]) -> Vec<&str> {
    events.iter().map(|event| event.id.as_str()).collect()
}

/// The digests of those documents that were taken before.
pub async fn documents(
    connection: &mut PgConnection,
    named: &[(Arc<str>, Text)],
) -> Result<HashMap<(Arc<str>, Text), Digest>, StoreError> {
    if named.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<(String, String, Vec<u8>)> = sqlx::query_as(include_str!("inbox_documents.sql"))
        .bind(named.iter().map(|(subject, _)| &**subject).collect::<Vec<_>>())
        .bind(named.iter().map(|(_, document)| document.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.into_iter()
        .map(|(subject, document, bytes)| Ok(((subject.into(), Text::stored(&document)), digest(&bytes)?)))
        .collect()
}

/// Reads a digest back.
pub(super) fn digest(bytes: &[u8]) -> Result<Digest, StoreError> {
    let bytes = bytes
        .try_into()
        .map_err(|_| StoreError::Unreadable { what: "digest", detail: format!("it is {} bytes long", bytes.len()) })?;
    Ok(Digest(bytes))
}

/// Takes documents, each by the event that brought it.
pub async fn file_many(
    connection: &mut PgConnection,
    documents: &[FiledDocument],
    at: Timestamp,
) -> Result<(), StoreError> {
    if documents.is_empty() {
        return Ok(());
    }
    let filed = sqlx::query(include_str!("inbox_file.sql"))
        .bind(documents.iter().map(|filed| &*filed.subject).collect::<Vec<_>>())
        .bind(documents.iter().map(|filed| filed.key.document_ref.as_str()).collect::<Vec<_>>())
        .bind(documents.iter().map(|filed| filed.key.digest.0.as_slice()).collect::<Vec<_>>())
        .bind(documents.iter().map(|filed| filed.event_id.as_str()).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("documents", &filed, documents.len())
}
