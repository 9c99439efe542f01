//! A stream read from somewhere to where it ended when the reading began, a bounded window at a time.

use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, Message};
use futures::StreamExt;
use time::OffsetDateTime;
use tokio::time::{Instant, timeout, timeout_at};

/// How many messages are in hand at once. One may have half a MiB.
const WINDOW: u64 = 256;
/// How long the broker keeps the consumer of a reader that is gone.
const FORGET_AFTER: Duration = Duration::from_secs(30);
/// How long the broker may take over a message. What was asked of a connection or a consumer that is gone is never answered.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// How long after a failure the reading goes on: another node of a cluster takes over meanwhile.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the broker may give nothing of what it has. Whoever reads may hold a snapshot or turns meanwhile.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);

/// Where a reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// With the oldest message there is.
    First,
    /// With the one after this place.
    After(u64),
    /// With the first that the stream received then or later.
    Time(OffsetDateTime),
}

/// A reading that goes on: a consumer of its own, which acknowledges nothing and which the broker forgets. One that is lost is made again.
pub struct Reading {
    jetstream: jetstream::Context,
    stream: String,
    subject: String,
    from: From,
    consumer: PullConsumer,
    /// The last message that is read.
    last: u64,
    /// Where the reading is: the last message it has had, how many deliveries of this consumer that took, and how many the broker had after it.
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
        let (consumer, end) = consumer(js, stream, subject, from).await?;
        let pending = consumer.cached_info().num_pending;
        let last = last.map_or(end, |last| last.min(end));
        let (jetstream, stream, subject) = (js.clone(), stream.to_owned(), subject.to_owned());
        Ok(Self { jetstream, stream, subject, from, consumer, last, had: 0, deliveries: 0, pending })
    }

    /// How many messages the broker has for it beyond what was read.
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// The next messages, each with its place; none where all is read.
    ///
    /// # Errors
    /// A broker that gives nothing of what it has for ten seconds.
    pub async fn next(&mut self) -> anyhow::Result<Vec<(u64, Message)>> {
        let until = Instant::now() + GIVE_UP_AFTER;
        while self.had < self.last && self.pending > 0 {
            let fetched = timeout_at(until, self.fetch()).await.context("the broker does not answer")?;
            let failure = match fetched {
                Ok(window) if !window.is_empty() => return Ok(window),
                Ok(_) if self.had >= self.last => break,
                Ok(_) => anyhow!("the broker delivers nothing of what it has"),
                Err(failure) => failure,
            };
            // The consumer stands on one node of a cluster, and goes with it.
            let went_on = timeout_at(until, async {
                tokio::time::sleep(PAUSE).await;
                self.go_on().await
            });
            if went_on.await.is_err() {
                return Err(failure);
            }
        }
        Ok(Vec::new())
    }

    /// Goes on with another consumer after what was had.
    async fn go_on(&mut self) -> anyhow::Result<()> {
        let from = if self.had > 0 { From::After(self.had) } else { self.from };
        let (consumer, _) = consumer(&self.jetstream, &self.stream, &self.subject, from).await?;
        (self.deliveries, self.pending) = (0, consumer.cached_info().num_pending);
        self.consumer = consumer;
        Ok(())
    }

    /// What comes next, or as much of it as came before something failed.
    async fn fetch(&mut self) -> anyhow::Result<Vec<(u64, Message)>> {
        let wanted = WINDOW.min(self.last - self.had);
        let mut batch = self.consumer.fetch().max_messages(usize::try_from(wanted)?).messages().await?;
        let mut window = Vec::new();
        while let Some(message) = timeout(ANSWER_WITHIN, batch.next()).await.context("the broker does not answer")? {
            match message.map_err(|error| anyhow!(error)).and_then(|message| self.take(message)) {
                Ok((sequence, message)) if sequence <= self.last => window.push((sequence, message)),
                Ok(_) => {}
                Err(error) if window.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(window)
    }

    /// Notes how far this message brings the reading.
    fn take(&mut self, message: Message) -> anyhow::Result<(u64, Message)> {
        let info = message.info().map_err(|error| anyhow!(error))?;
        let (sequence, delivery, pending) = (info.stream_sequence, info.consumer_sequence, info.pending);
        ensure!(delivery == self.deliveries + 1, "a delivery was lost");
        (self.had, self.deliveries, self.pending) = (sequence, delivery, pending);
        Ok((sequence, message))
    }
}

/// A consumer that delivers from there on, and the place of the stream's last message.
async fn consumer(
    js: &jetstream::Context,
    stream: &str,
    subject: &str,
    from: From,
) -> anyhow::Result<(PullConsumer, u64)> {
    let stream = js.get_stream(stream).await.with_context(|| format!("stream {stream}"))?;
    let deliver_policy = match from {
        From::First => DeliverPolicy::All,
        From::After(place) => DeliverPolicy::ByStartSequence { start_sequence: place + 1 },
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
    Ok((stream.create_consumer(config).await.context("a consumer to read with")?, end))
}
