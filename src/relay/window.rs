//! A bounded number of messages on their way, and why one did not arrive.
//!
//! All acknowledgements come to one inbox, each under the number of its message: a channel, a timer and a place in a map for every single message
//! would cost more than telling it.

use std::collections::VecDeque;
use std::time::Duration;

use async_nats::jetstream::{self, ErrorCode};
use async_nats::{Client, Message, StatusCode, Subscriber};
use futures::StreamExt;
use serde::Deserialize;

use super::Outbound;
use crate::ops::metrics as names;
use crate::store::outbox::Lane;

/// How many messages of a lane may be unacknowledged: far fewer than the client queues for the inbox.
const WINDOW: usize = 8_000;
/// How long the broker may say nothing at all while something is unacknowledged.
const ACKNOWLEDGE_WITHIN: Duration = Duration::from_secs(5);

/// Messages on their way, in rounds: what is said of an earlier round's message no longer counts.
pub(super) struct Window {
    client: Client,
    lane: Lane,
    inbox: String,
    answers: Subscriber,
    /// The numbers of the round's first message, of the oldest that is not acknowledged, and of the next.
    first: u64,
    oldest: u64,
    next: u64,
    places: Places,
    /// What was said of the oldest and of those after it. Usually in order; a duplicate may be known before what was sent ahead of it is stored.
    said: VecDeque<Option<Result<Stored, Failure>>>,
}

/// Why a message did not arrive.
#[derive(Debug)]
pub(super) enum Failure {
    /// The stream is full: it did not take the message, and will when there is room.
    Full,
    /// It may or may not have been taken.
    Unknown(String),
}

/// The stream stored something new at a place that it had given before: what stood from there on was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WentBack {
    /// The last place that was known.
    pub last_seq: u64,
    /// The place of the new message.
    pub seq: u64,
}

/// Up to where the stream is known to have come.
#[derive(Debug)]
struct Places {
    last_seq: u64,
    went_back: Option<WentBack>,
}

impl Places {
    /// Places only grow, unless the stream is another, or an older one, than it was.
    fn note(&mut self, stored: &Stored) {
        if !stored.duplicate && stored.seq <= self.last_seq {
            self.went_back.get_or_insert(WentBack { last_seq: self.last_seq, seq: stored.seq });
            self.last_seq = stored.seq;
        }
        self.last_seq = self.last_seq.max(stored.seq);
    }
}

/// Where a message stands.
#[derive(Debug)]
struct Stored {
    seq: u64,
    /// Whether it stood there before.
    duplicate: bool,
}

/// An acknowledgement of JetStream's, or why there is none.
#[derive(Deserialize)]
struct Answer {
    error: Option<jetstream::Error>,
    seq: Option<u64>,
    #[serde(default)]
    duplicate: bool,
}

impl Window {
    /// Opens on a stream that is known to have had `last_seq`.
    pub async fn open(client: Client, lane: Lane, last_seq: u64) -> anyhow::Result<Self> {
        let inbox = client.new_inbox();
        let answers = client.subscribe(format!("{inbox}.*")).await?;
        let (places, said) = (Places { last_seq, went_back: None }, VecDeque::with_capacity(WINDOW));
        Ok(Self { client, lane, inbox, answers, first: 0, oldest: 0, next: 0, places, said })
    }

    /// Begins a round: nothing is on its way.
    pub fn begin(&mut self) {
        (self.first, self.oldest) = (self.next, self.next);
        self.said.clear();
    }

    /// How many of the round were sent.
    pub fn sent(&self) -> u64 {
        self.next - self.first
    }

    /// How many of the round were acknowledged, without a gap from the first on.
    pub fn acknowledged(&self) -> u64 {
        self.oldest - self.first
    }

    /// The last sequence that was acknowledged in the stream.
    pub fn last_seq(&self) -> u64 {
        self.places.last_seq
    }

    /// The stream is another, or an older one, than it was, and is known to have come up to there.
    pub fn forget(&mut self, last_seq: u64) {
        self.places.last_seq = last_seq;
    }

    /// Where the stream was found to have lost its tail, once.
    pub fn take_went_back(&mut self) -> Option<WentBack> {
        self.places.went_back.take()
    }

    /// Sends one more, when there is room for it.
    pub async fn send(&mut self, message: Outbound) -> Result<(), Failure> {
        while self.said.len() >= WINDOW {
            self.hear().await?;
        }
        let reply = format!("{}.{}", self.inbox, self.next);
        self.client
            .publish_with_reply_and_headers(message.subject, reply, message.headers, message.body)
            .await
            .map_err(|error| Failure::Unknown(error.to_string()))?;
        self.said.push_back(None);
        self.next += 1;
        Ok(())
    }

    /// Waits for all, up to the first that fails. What came after that one does not count: there would be a gap.
    pub async fn close(&mut self) -> Result<(), Failure> {
        let mut closed = Ok(());
        while closed.is_ok() && !self.said.is_empty() {
            closed = self.hear().await;
        }
        metrics::counter!(names::RELAY_PUBLISHED, "stream" => self.lane.stream()).increment(self.acknowledged());
        closed
    }

    /// Hears of one message. After a failure nothing of the round is waited for any more.
    async fn hear(&mut self) -> Result<(), Failure> {
        let heard = self.hear_of_one().await;
        if heard.is_err() {
            self.said.clear();
        }
        heard
    }

    async fn hear_of_one(&mut self) -> Result<(), Failure> {
        let answer = tokio::time::timeout(ACKNOWLEDGE_WITHIN, self.answers.next())
            .await
            .map_err(|_| Failure::Unknown("the broker acknowledged nothing in time".into()))?
            .ok_or_else(|| Failure::Unknown("the connection was closed".into()))?;
        let number: Option<u64> = answer.subject.rsplit('.').next().and_then(|number| number.parse().ok());
        let place = number.and_then(|number| usize::try_from(number.checked_sub(self.oldest)?).ok());
        if let Some(said) = place.and_then(|place| self.said.get_mut(place)) {
            *said = Some(read(&answer));
        }
        while let Some(said) = self.said.front_mut().and_then(Option::take) {
            let stored = said?;
            self.said.pop_front();
            self.oldest += 1;
            self.places.note(&stored);
        }
        Ok(())
    }
}

fn read(answer: &Message) -> Result<Stored, Failure> {
    if answer.status == Some(StatusCode::NO_RESPONDERS) {
        return Err(Failure::Unknown("no stream takes its subject".into()));
    }
    match serde_json::from_slice(&answer.payload) {
        Ok(Answer { error: None, seq: Some(seq), duplicate }) => Ok(Stored { seq, duplicate }),
        Ok(Answer { error: Some(error), .. }) if error.error_code() == ErrorCode::STREAM_STORE_FAILED => {
            Err(Failure::Full)
        }
        Ok(Answer { error: Some(error), .. }) => Err(Failure::Unknown(error.to_string())),
        Ok(Answer { error: None, seq: None, .. }) => Err(Failure::Unknown("the answer is no acknowledgement".into())),
        Err(error) => Err(Failure::Unknown(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_counts_back_has_lost_its_tail() {
        let mut places = Places { last_seq: 100, went_back: None };
        let new = |seq| Stored { seq, duplicate: false };
        places.note(&new(101));
        places.note(&Stored { seq: 7, duplicate: true });
        assert_eq!((places.last_seq, places.went_back), (101, None), "what stood there before stands where it stood");
        for seq in [91, 92] {
            places.note(&new(seq));
        }
        assert_eq!((places.last_seq, places.went_back), (92, Some(WentBack { last_seq: 101, seq: 91 })));
    }
}
