//! What is given to the engine, and what it gives back.

use std::time::Duration;

use bytes::Bytes;

use super::resolve::Resolving;
use crate::domain::{Command, Kind, Refusal};
use crate::messages::{self, Inbound, Message};

/// One thing to decide: a message that was understood or refused, or what a timer asks.
#[derive(Debug, Clone)]
pub struct Item {
    /// The message; none for a timer.
    pub message: Option<Message>,
    /// What it asks, or why it cannot be processed.
    pub asked: Result<Command, Refusal>,
    /// The row of the dead letter that it is, where it is decided once more.
    pub replays: Option<i64>,
    /// The review that is resolved with it, where it is kept with one.
    pub resolves: Option<Resolving>,
}

impl Item {
    /// Understands a message, or refuses it.
    pub fn of_message(message: Message) -> Self {
        let inbound =
            Inbound { subject: &message.subject, headers: message.headers.as_ref(), payload: &message.payload };
        let asked = messages::decode(&inbound);
        Self { message: Some(message), asked, replays: None, resolves: None }
    }

    /// A dead letter, to be understood and decided afresh.
    pub fn of_dead_letter(row: i64, message: Message) -> Self {
        Self { replays: Some(row), ..Self::of_message(message) }
    }

    /// A message that is kept with a review, to be decided now that the review is to be resolved.
    pub fn of_review(resolving: Resolving, message: Message) -> Self {
        Self { resolves: Some(resolving), ..Self::of_message(message) }
    }

    /// What a timer asks.
    pub fn of_timer(kind: Kind) -> Self {
        Self { message: None, asked: Ok(Command { event: None, kind }), replays: None, resolves: None }
    }
}

/// What the broker is to be told of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Decided, or kept waiting: never again.
    Ack,
    /// Refused, and stored as a dead letter: never again.
    Term,
    /// Not decided: again after this time.
    Nak(Duration),
}

/// What became of a dead letter that was decided once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// Its event is processed, and it is resolved.
    Processed,
    /// It is kept until what it waits for happens, and it is resolved.
    Waiting,
    /// It was refused again and stays open, for this reason.
    Refused(Refusal),
    /// Somebody had resolved it before, and nothing was done.
    ResolvedBefore,
}

/// What became of a message that is kept with a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// It is applied, and the review is resolved.
    Applied,
    /// It does not fit yet, for this reason: the message is kept, and the review stays open.
    NoRoom(String),
    /// It cannot be processed any more, for this reason: it is a dead letter, and the review is resolved.
    Refused(Refusal),
    /// Somebody had resolved it before, and nothing was done.
    ResolvedBefore,
}

/// A direct answer, to be sent after the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// To which subject.
    pub to: String,
    /// What.
    pub body: Bytes,
}

/// A batch that was committed, as far as it was.
#[derive(Debug, Default)]
pub struct Settled {
    /// One per item, in order.
    pub verdicts: Vec<Verdict>,
    /// Direct answers.
    pub replies: Vec<Reply>,
    /// Whether anything was stored to be told.
    pub told: bool,
    /// What became of dead letters, by their rows. One that could not be decided is not among them.
    pub replayed: Vec<(i64, Replayed)>,
    /// What became of messages that are kept with reviews, by the reviews. One that could not be decided is not among them.
    pub resolved: Vec<(i64, Resolution)>,
}
