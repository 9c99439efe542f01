//! Messages that could not be processed, whole.

use sqlx::PgConnection;
use uuid::Uuid;

use super::StoreError;
use crate::domain::{Refusal, Timestamp};
use crate::messages::Message;
use crate::messages::headers_to_json;

/// A dead letter as it is stored.
#[derive(Debug, sqlx::FromRow)]
pub struct DeadLetter {
    /// Its row.
    pub id: i64,
    /// Its own id, the same each time it is told.
    pub event_id: Uuid,
    /// The stream the message came from.
    pub stream: String,
    /// Its place there.
    pub sequence: i64,
    /// Who took it.
    pub consumer: String,
    /// Its full subject, without prefix.
    pub subject: String,
    /// The word.
    pub reason: String,
    /// The sentence.
    pub detail: String,
    /// Its headers: name to list of values.
    pub headers: serde_json::Value,
    /// Its body, untouched.
    pub body: Vec<u8>,
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
    let headers = |message: &Message| message.headers.as_ref().map_or_else(empty, headers_to_json);
    Ok(sqlx::query_scalar(include_str!("dead_letters_insert.sql"))
        .bind(refused.iter().map(|_| Uuid::now_v7()).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| &*message.stream).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| message.sequence).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| message.received_at).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| &*message.consumer).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| storable(&message.subject)).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, refusal)| refusal.reason.word()).collect::<Vec<_>>())
        .bind(refused.iter().map(|(_, refusal)| storable(&refusal.detail)).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| headers(message)).collect::<Vec<_>>())
        .bind(refused.iter().map(|(message, _)| &*message.payload).collect::<Vec<_>>())
        .bind(at)
        .fetch_all(connection)
        .await?)
}

fn empty() -> serde_json::Value {
    serde_json::Value::Object(serde_json::Map::new())
}

/// PostgreSQL's text holds no NUL.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Reads dead letters back.
pub async fn load_many(connection: &mut PgConnection, ids: &[i64]) -> Result<Vec<DeadLetter>, StoreError> {
    Ok(sqlx::query_as(include_str!("dead_letters_load.sql")).bind(ids).fetch_all(connection).await?)
}
