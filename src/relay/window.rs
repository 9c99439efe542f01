//! A bounded number of messages on their way, and why one did not arrive.

use std::collections::VecDeque;

use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::{self, ErrorCode};

use crate::ops::metrics as names;
use crate::store::outbox::Lane;

/// How many messages of a lane may be unacknowledged: far fewer than the connection allows for all lanes together.
const WINDOW: usize = 8_000;

/// Messages on their way, oldest first.
pub(super) struct Window {
    unacknowledged: VecDeque<PublishAckFuture>,
    acknowledged: usize,
    lane: Lane,
}

impl Window {
    pub fn new(lane: Lane) -> Self {
        Self { unacknowledged: VecDeque::with_capacity(WINDOW), acknowledged: 0, lane }
    }

    /// How many were acknowledged, without a gap from the first on.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged
    }

    /// Takes one more.
    pub fn push(&mut self, ack: PublishAckFuture) {
        self.unacknowledged.push_back(ack);
    }

    /// How many were sent.
    pub fn sent(&self) -> usize {
        self.acknowledged + self.unacknowledged.len()
    }

    /// Waits until one more may be on its way.
    pub async fn make_room(&mut self) -> Result<(), PublishError> {
        if self.unacknowledged.len() >= WINDOW { self.await_oldest().await } else { Ok(()) }
    }

    /// Waits for all, up to the first that fails.
    pub async fn close(&mut self) -> Result<(), PublishError> {
        let mut closed = Ok(());
        while closed.is_ok() && !self.unacknowledged.is_empty() {
            closed = self.await_oldest().await;
        }
        metrics::counter!(names::RELAY_PUBLISHED, "stream" => self.lane.stream()).increment(self.acknowledged as u64);
        closed
    }

    async fn await_oldest(&mut self) -> Result<(), PublishError> {
        if let Some(oldest) = self.unacknowledged.pop_front() {
            let acknowledged = oldest.await;
            if acknowledged.is_err() {
                // Whatever came after it does not count: there would be a gap.
                self.unacknowledged.clear();
            }
            acknowledged?;
            self.acknowledged += 1;
        }
        Ok(())
    }
}

/// Why a row could not be told.
pub(super) enum Failure {
    /// The stream is full: it did not take the message, and will when there is room.
    Full,
    /// It may or may not have been taken.
    Unknown(String),
}

impl Failure {
    pub fn of(error: &PublishError) -> Self {
        let full = std::error::Error::source(error)
            .and_then(|source| source.downcast_ref::<jetstream::Error>())
            .is_some_and(|error| error.error_code() == ErrorCode::STREAM_STORE_FAILED);
        if full && error.kind() != PublishErrorKind::TimedOut { Self::Full } else { Self::Unknown(error.to_string()) }
    }
}
