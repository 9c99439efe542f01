//! Outbox to JetStream: in order, a lane per stream, one copy at a time.
//!
//! A row is told when the broker has acknowledged all its messages; after a failure the lane goes back to the first row that is not. Ids stay
//! the same, so the broker drops what it has seen within its window. Beyond the window, and after a failure in the middle, an older figure of a
//! stock row may come after a newer one: the rows in doubt are *retold*, with a new version, so that it is not the last word.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_nats::HeaderMap;
use async_nats::jetstream::context::{PublishAckFuture, PublishErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use bytes::Bytes;
use sqlx::{Connection, PgConnection};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::config::Database;
use crate::crash_point;
use crate::domain::{Reason, Refusal, StockKey, Timestamp};
use crate::engine::tell_figures;
use crate::messages;
use crate::ops::metrics as names;
use crate::store::outbox::{self, Entry, Lane, Parcel, Row};
use crate::store::turn::{self, TurnOf};
use crate::store::{StoreError, dead_letters, stock};
use crate::topology::Topology;

/// How many rows are told in one go.
const ROWS: i64 = 16;
/// How long a lane that has nothing to tell sleeps before it looks again; a wake-up makes it sooner.
const POLL: Duration = Duration::from_millis(100);
/// How long a lane waits after a failure, and before it asks for the turn again.
const PAUSE: Duration = Duration::from_millis(500);

/// What a lane works with.
#[derive(Debug, Clone)]
pub struct Relay {
    /// Where the outbox is.
    pub database: Database,
    /// The broker.
    pub jetstream: jetstream::Context,
    /// What streams and subjects are called there.
    pub topology: Arc<Topology>,
    /// Rung when something was stored to be told.
    pub outbox: Arc<Notify>,
}

/// Tells one lane until `stop`. Other copies' lanes wait for their turn meanwhile.
pub async fn run(relay: Relay, lane: Lane, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = relay.hold_turn(lane, &stop).await {
            tracing::warn!(stream = lane.stream(), error = format!("{error:#}"), "the relay starts over");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Why a row could not be told.
enum Failure {
    /// The stream is full: it did not take the message, and will when there is room.
    Full,
    /// It may or may not have been taken.
    Unknown(String),
}

impl Relay {
    async fn hold_turn(&self, lane: Lane, stop: &CancellationToken) -> anyhow::Result<()> {
        let mut session = turn::session(&self.database).await.context("no session for the relay")?;
        while !turn::take(&mut session, turn_of(lane)).await? {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
        let mut doubts = self.inherited(&mut session, lane).await?;
        while !stop.is_cancelled() {
            let rung = self.outbox.notified();
            if self.tell_next(&mut session, lane, &mut doubts).await? {
                continue;
            }
            if !doubts.is_empty() {
                retell(&mut session, &std::mem::take(&mut doubts)).await?;
                continue;
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = rung => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
        Ok(())
    }

    /// Stock rows that the holder before may have told without our knowing.
    async fn inherited(&self, session: &mut PgConnection, lane: Lane) -> Result<BTreeSet<StockKey>, StoreError> {
        let rows = outbox::unsent(session, lane, ROWS).await?;
        let parcels = rows.iter().map(Row::parcel).collect::<Result<Vec<_>, _>>()?;
        Ok(parcels.iter().flat_map(stock_keys).collect())
    }

    /// Tells the oldest rows. False where there is nothing to tell.
    async fn tell_next(
        &self,
        session: &mut PgConnection,
        lane: Lane,
        doubts: &mut BTreeSet<StockKey>,
    ) -> anyhow::Result<bool> {
        let rows = outbox::unsent(session, lane, ROWS).await?;
        self.report(session, lane, rows.len()).await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let parcels = rows.iter().map(Row::parcel).collect::<Result<Vec<_>, _>>()?;
        let mut sent: Vec<Sent> = Vec::with_capacity(rows.len());
        for parcel in &parcels {
            sent.push(self.send(session, parcel).await?);
        }
        let mut told = Vec::with_capacity(rows.len());
        let mut failure = None;
        for (row, sent) in rows.iter().zip(sent) {
            let messages = sent.acks.len();
            match acknowledged(sent).await {
                Ok(()) => {
                    metrics::counter!(names::RELAY_PUBLISHED, "stream" => lane.stream()).increment(messages as u64);
                    told.push(row.id);
                }
                Err(reason) => {
                    failure = Some(reason);
                    break;
                }
            }
        }
        crash_point("relay::after_ack");
        outbox::mark_sent(session, &told).await?;
        if let Some(failure) = failure {
            let untold = &parcels[told.len()..];
            self.recover(lane, &failure, untold, doubts).await;
        }
        Ok(true)
    }

    /// Sends a row's messages in order, without waiting for the acknowledgements.
    async fn send(&self, session: &mut PgConnection, parcel: &Parcel<'_>) -> anyhow::Result<Sent> {
        let at = instant(parcel.at_us)?;
        let letters = dead_letters_of(session, parcel).await?;
        let mut letters = letters.iter();
        let mut acks = Vec::with_capacity(parcel.entries.len());
        for entry in &parcel.entries {
            let (subject, headers, body) = match entry {
                Entry::Event { event_id, subject, body, traceparent } => {
                    let headers = messages::headers(*event_id, &messages::ce_type(subject), at, *traceparent);
                    (self.topology.published(subject), headers, Bytes::copy_from_slice(body))
                }
                Entry::DeadLetter(_) => {
                    let Some(letter) = letters.next() else { continue };
                    let subject = messages::dead_subject(&letter.subject);
                    (self.topology.published(&subject), letter_headers(letter), Bytes::copy_from_slice(&letter.body))
                }
            };
            match self.jetstream.publish_with_headers(subject, headers, body).await {
                Ok(ack) => acks.push(ack),
                Err(error) => return Ok(Sent { acks, failure: Some(failure(&error)) }),
            }
        }
        Ok(Sent { acks, failure: None })
    }

    async fn recover(&self, lane: Lane, failure: &Failure, untold: &[Parcel<'_>], doubts: &mut BTreeSet<StockKey>) {
        metrics::counter!(names::RELAY_FAILURES, "stream" => lane.stream()).increment(1);
        match failure {
            Failure::Full => {
                tracing::error!(
                    stream = lane.stream(),
                    "the stream is full: nothing more can be told in it until there is room"
                );
            }
            Failure::Unknown(error) => {
                tracing::warn!(
                    stream = lane.stream(),
                    error,
                    "telling failed; it goes on at the first message not acknowledged"
                );
            }
        }
        doubts.extend(untold.iter().flat_map(stock_keys));
        tokio::time::sleep(PAUSE).await;
    }

    #[allow(clippy::cast_precision_loss, reason = "a gauge")]
    async fn report(&self, session: &mut PgConnection, lane: Lane, found: usize) -> Result<(), StoreError> {
        let (rows, age) = match i64::try_from(found) {
            Ok(found) if found < ROWS => (found, 0.0),
            _ => outbox::backlog(session, lane).await?,
        };
        metrics::gauge!(names::OUTBOX_UNSENT_ROWS, "stream" => lane.stream()).set(rows as f64);
        metrics::gauge!(names::OUTBOX_OLDEST_SECONDS, "stream" => lane.stream()).set(age);
        Ok(())
    }
}

/// A row on its way.
struct Sent {
    acks: Vec<PublishAckFuture>,
    failure: Option<Failure>,
}

async fn acknowledged(sent: Sent) -> Result<(), Failure> {
    for ack in sent.acks {
        ack.await.map_err(|error| failure(&error))?;
    }
    sent.failure.map_or(Ok(()), Err)
}

fn failure(error: &jetstream::context::PublishError) -> Failure {
    let full = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<jetstream::Error>())
        .is_some_and(|error| error.error_code() == ErrorCode::STREAM_STORE_FAILED);
    if full && error.kind() != PublishErrorKind::TimedOut { Failure::Full } else { Failure::Unknown(error.to_string()) }
}

fn turn_of(lane: Lane) -> TurnOf {
    match lane {
        Lane::Stock => TurnOf::RelayStock,
        Lane::Reservations => TurnOf::RelayReservations,
        Lane::Dead => TurnOf::RelayDead,
    }
}

/// The stock rows that a parcel tells of.
fn stock_keys<'a>(parcel: &'a Parcel<'_>) -> impl Iterator<Item = StockKey> + 'a {
    parcel.entries.iter().filter_map(|entry| match entry {
        Entry::Event { subject, .. } => messages::parse_stock_subject(subject),
        Entry::DeadLetter(_) => None,
    })
}

fn instant(microseconds: i64) -> anyhow::Result<Timestamp> {
    Ok(Timestamp::from_unix_timestamp_nanos(i128::from(microseconds) * 1000)?)
}

/// The dead letters that a parcel refers to, in its order.
async fn dead_letters_of(
    session: &mut PgConnection,
    parcel: &Parcel<'_>,
) -> Result<Vec<dead_letters::DeadLetter>, StoreError> {
    let ids: Vec<i64> = parcel
        .entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::DeadLetter(id) => Some(*id),
            Entry::Event { .. } => None,
        })
        .collect();
    if ids.is_empty() { Ok(Vec::new()) } else { dead_letters::load_many(session, &ids).await }
}

fn letter_headers(letter: &dead_letters::DeadLetter) -> HeaderMap {
    let original = messages::headers_from_json(&letter.headers);
    let refusal = Refusal::new(Reason::from_word(&letter.reason).unwrap_or(Reason::Internal), letter.detail.as_str());
    let origin = messages::Origin {
        stream: &letter.stream,
        sequence: u64::try_from(letter.sequence).unwrap_or_default(),
        consumer: &letter.consumer,
        headers: Some(&original),
    };
    messages::dead_headers(letter.event_id, &refusal, &origin)
}

/// Raises the versions of rows whose last telling is in doubt, and stores what they are to be told as.
async fn retell(session: &mut PgConnection, doubts: &BTreeSet<StockKey>) -> anyhow::Result<()> {
    let keys: Vec<StockKey> = doubts.iter().cloned().collect();
    tracing::info!(rows = keys.len(), "rows in doubt are told again");
    let mut transaction = session.begin().await?;
    let locked = stock::retell_many(&mut transaction, &keys).await?;
    tell_figures(&mut transaction, &locked.rows, locked.now).await?;
    transaction.commit().await?;
    Ok(())
}
