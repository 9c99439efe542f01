//! From the streams to the engine and back: durable pull consumers whose batches form by themselves.
//!
//! - `pull` reads a consumer and understands its messages while the batch before is being committed.
//! - `shared` decides side by side with other copies; `ordered` decides in stream order, one copy at a time.
//! - `acknowledge` tells the broker, after the commit, what became of each message.
//! - `unreadable` lays to rest what the client cannot even read.

mod acknowledge;
mod ordered;
mod pull;
mod shared;
mod unreadable;

pub use ordered::run as run_ordered;
pub use shared::run as run_shared;
pub use unreadable::run as lay_to_rest;

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream;
use tokio::sync::Notify;

use crate::engine::Engine;
use crate::topology::Topology;

/// What a consumer's task works with.
#[derive(Debug, Clone)]
pub struct Desk {
    /// Decides.
    pub engine: Arc<Engine>,
    /// The broker.
    pub jetstream: jetstream::Context,
    /// Streams and consumers as they shall be.
    pub topology: Arc<Topology>,
    /// Rung when something was stored to be told.
    pub outbox: Arc<Notify>,
    /// How much a batch may take.
    pub limits: Limits,
}

/// How much a batch may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Messages.
    pub messages: usize,
    /// Bytes of data.
    pub bytes: usize,
}

/// How long to wait before a consumer that failed is opened again.
const REOPEN_AFTER: Duration = Duration::from_millis(500);
