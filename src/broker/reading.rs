//! A stream read from somewhere to where it ended when the reading began, a bounded window at a time.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, Message};
use futures::StreamExt;
use time::OffsetDateTime;

/// How many messages are in hand at once. One may have half a MiB.
const WINDOW: u64 = 256;
/// How long the broker keeps the consumer of a reader that is gone.
const FORGET_AFTER: Duration = Duration::from_secs(30);
/// How often the broker may give nothing although it has more.
const EMPTY_HANDED: u32 = 5;

/// Where a reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// With the oldest message there is.
    First,
    /// With the first that the stream received then or later.
    Time(OffsetDateTime),
}

/// A reading that goes on: a consumer of its own, which acknowledges nothing and which the broker forgets.
pub struct Reading {
    consumer: PullConsumer,
    /// The last message that is read.
    last: u64,
    /// Where the reading is: the last message it has had, how many deliveries that took, and how many the broker had after it.
    had: u64,
    deliveries: u64,
    pending: u64,
}

impl Reading {
    /// Begins to read the stream of that name, up to `last`, or else to what is its last message now.
    ///
    /// # Errors
    /// A stream that is not there, a broker that does not answer.
    pub async fn open(js: &jetstream::Context, stream: &str, from: From, last: Option<u64>) -> anyhow::Result<Self> {
        Self::open_on(js, stream, "", from, last).await
    }

    /// The same of the messages under a subject, which may have wildcards; an empty one means all.
    ///
    /// # Errors
    /// As [`Reading::open`].
    pub async fn open_on(
        js: &jetstream::Context,
        stream: &str,
        subject: &str,
        from: From,
        last: Option<u64>,
    ) -> anyhow::Result<Self> {
        let stream = js.get_stream(stream).await.with_context(|| format!("stream {stream}"))?;
        let deliver_policy = match from {
            From::First => DeliverPolicy::All,
            From::Time(start_time) => DeliverPolicy::ByStartTime { start_time },
        };
        let config = pull::Config {
            deliver_policy,
            ack_policy: AckPolicy::None,
            filter_subject: subject.to_owned(),
            inactive_threshold: FORGET_AFTER,
            ..pull::Config::default()
        };
        let end = stream.cached_info().state.last_sequence;
        let consumer: PullConsumer = stream.create_consumer(config).await.context("a consumer to read with")?;
        let pending = consumer.cached_info().num_pending;
        Ok(Self { consumer, last: last.map_or(end, |last| last.min(end)), had: 0, deliveries: 0, pending })
    }

    /// How many messages the broker has for it beyond what was read.
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// The next messages, each with its place; none where all is read.
    ///
    /// # Errors
    /// A broker that does not answer, or a delivery that was lost.
    pub async fn next(&mut self) -> anyhow::Result<Vec<(u64, Message)>> {
        let mut tries = 0;
        while self.had < self.last && self.pending > 0 {
            let window = self.fetch().await?;
            if !window.is_empty() {
                return Ok(window);
            }
            tries += 1;
            ensure!(self.had >= self.last || tries < EMPTY_HANDED, "the broker delivers nothing of what it has");
        }
        Ok(Vec::new())
    }

    async fn fetch(&mut self) -> anyhow::Result<Vec<(u64, Message)>> {
        let wanted = WINDOW.min(self.last - self.had);
        let mut batch = self.consumer.fetch().max_messages(usize::try_from(wanted)?).messages().await?;
        let mut window = Vec::new();
        while let Some(message) = batch.next().await {
            let message = message.map_err(|error| anyhow::anyhow!(error))?;
            let info = message.info().map_err(|error| anyhow::anyhow!(error))?;
            let (sequence, delivery, pending) = (info.stream_sequence, info.consumer_sequence, info.pending);
            ensure!(delivery == self.deliveries + 1, "a delivery was lost");
            (self.had, self.deliveries, self.pending) = (sequence, delivery, pending);
            if sequence <= self.last {
                window.push((sequence, message));
            }
        }
        Ok(window)
    }
}
