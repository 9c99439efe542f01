//! A message that is kept whole in a row of a table: of what waits, or of what was refused.

use crate::domain::Timestamp;
use crate::messages::{Message, headers_from_json, headers_to_json};

/// A message as it is stored.
#[derive(Debug, sqlx::FromRow)]
pub struct StoredMessage {
    /// The stream it came from.
    pub stream: String,
    /// Its place there.
    pub sequence: i64,
    /// When the stream received it.
    pub received_at: Timestamp,
    /// Who took it.
    pub consumer: String,
    /// Its full subject, without prefix.
    pub subject: String,
    /// Its headers: name to list of values.
    pub headers: serde_json::Value,
    /// Its body, untouched.
    pub body: Vec<u8>,
}

impl From<StoredMessage> for Message {
    fn from(stored: StoredMessage) -> Self {
        Self {
            stream: stored.stream.into(),
            sequence: stored.sequence,
            received_at: stored.received_at,
            consumer: stored.consumer.into(),
            subject: stored.subject.into(),
            headers: Some(headers_from_json(&stored.headers)),
            payload: stored.body.into(),
        }
    }
}

/// The headers of a message as they are stored.
pub(super) fn headers_of(message: &Message) -> serde_json::Value {
    message.headers.as_ref().map_or_else(|| serde_json::json!({}), headers_to_json)
}
