//! A message as its stream holds it.

use std::sync::Arc;

use async_nats::HeaderMap;
use bytes::Bytes;

use crate::domain::Timestamp;

/// A message as its stream holds it: everything that is needed to decide it, keep it waiting, or lay it to rest.
#[derive(Debug, Clone)]
pub struct Message {
    /// The stream it stands in, without prefix.
    pub stream: Arc<str>,
    /// Its place there. Never a key: a broker that lost its disk counts anew.
    pub sequence: i64,
    /// When the stream received it, to the microsecond, as the database keeps it.
    pub received_at: Timestamp,
    /// The durable consumer that took it.
    pub consumer: Arc<str>,
    /// The full subject, without prefix.
    pub subject: Arc<str>,
    /// Its headers, as they were.
    pub headers: Option<HeaderMap>,
    /// Its data, untouched.
    pub payload: Bytes,
}
