//! Outbox to JetStream: in order, a lane per stream, one copy at a time.
//!
//! A row is told when the broker has acknowledged all its messages; after a failure the lane goes back to the first row that is not. Ids stay
//! the same, so the broker drops what it has seen within its window. Beyond the window, and after a failure in the middle, an older figure of a
//! stock row may come after a newer one: the rows in doubt are *retold*, with a new version, so that it is not the last word.
//!
//! What the broker acknowledged last in a stream is remembered with the rows that were told, and a stream that counts back has lost its tail.

mod again;
mod window;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::config::Database;
use crate::crash_point;
use crate::domain::{Reason, Refusal, StockKey, Timestamp};
use crate::engine::tell_figures;
use crate::losses;
use crate::messages;
use crate::ops::metrics as names;
use crate::store::broker::{self, LossKind, Mark};
use crate::store::dead_letters::{self, DeadLetter};
use crate::store::outbox::{self, Entry, Lane, Parcel, Row};
use crate::store::turn::{Session, TurnOf};
use crate::store::{StoreError, stock};
use crate::topology::Topology;
use window::{Failure, WentBack, Window};

/// How many rows are told in one go.
const ROWS: i64 = 16;
/// How long a lane that has nothing to tell sleeps before it looks again; a wake-up makes it sooner.
const POLL: Duration = Duration::from_millis(100);
/// How long a lane waits after a failure, and before it asks for the turn again.
const PAUSE: Duration = Duration::from_millis(500);

/// How far behind the last row that was told the next are looked for. Told rows stay in the index until nobody's snapshot can see them untold,
/// hours maybe, and without this each look would read past all of them.
const BEHIND: i64 = 1_000;

/// How often the backlog is measured, and rows are found that were committed after so many later ones.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// What a lane works with.
#[derive(Debug, Clone)]
pub struct Relay {
    /// Where the outbox is.
    pub database: Database,
    /// The broker.
    pub client: Client,
    /// What streams and subjects are called there.
    pub topology: Arc<Topology>,
    /// Rung when something was stored to be told.
    pub outbox: Arc<Notify>,
}

/// Tells one lane until `stop`. Other copies' lanes wait for their turn meanwhile.
///
/// `looked` is dropped when the lane has looked for its turn once: what it finds untold then was left by somebody before.
pub async fn run(relay: Relay, lane: Lane, stop: CancellationToken, looked: oneshot::Sender<()>) {
    let mut looked = Some(looked);
    let mut on_its_way = BTreeSet::new();
    loop {
        if let Err(error) = relay.hold_turn(lane, &stop, &mut looked, &mut on_its_way).await {
            tracing::warn!(stream = lane.stream(), error = format!("{error:#}"), "the relay starts over");
        }
        // Whoever has the turn next measures it.
        measure_backlog(lane, 0, 0.0);
        if let Err(error) = relay.disown(lane, &mut on_its_way).await {
            tracing::warn!(
                stream = lane.stream(),
                error = format!("{error:#}"),
                "what may arrive late is told again later"
            );
        }
        if stop.is_cancelled() {
            return;
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

impl Relay {
    async fn hold_turn(
        &self,
        lane: Lane,
        stop: &CancellationToken,
        looked: &mut Option<oneshot::Sender<()>>,
        on_its_way: &mut BTreeSet<StockKey>,
    ) -> anyhow::Result<()> {
        if stop.is_cancelled() {
            return Ok(());
        }
        let mut session = Session::open(&self.database).await.context("no session for the relay")?;
        while !session.take(TurnOf::relay(lane)).await? {
            drop(looked.take());
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
        // The holder before may have told them without our knowing.
        let doubted_to = outbox::last_unsent(session.connection(), lane).await?;
        drop(looked.take());
        let stream = self.topology.stream_name(lane.stream());
        let known = broker::mark(session.connection(), &stream).await?;
        let window = session
            .during(Window::open(self.client.clone(), lane, known.last_seq.unsigned_abs()))
            .await?
            .context("no inbox for the relay")?;
        let mut teller = Teller {
            relay: self,
            lane,
            stream,
            epoch: known.epoch,
            session,
            window,
            doubted_to,
            on_its_way,
            after: 0,
            reported: None,
            again: again::Again::default(),
        };
        loop {
            let rung = self.outbox.notified();
            let round = teller.tell_next().await?;
            if stop.is_cancelled() {
                // At the end the last words are told, unless there is nobody to tell them to. What is told again can wait.
                if round != Round::Told {
                    return Ok(());
                }
                continue;
            }
            let again = teller.tell_again().await?;
            if round != Round::Idle || again != Round::Idle {
                continue;
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = rung => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }
}

impl Relay {
    /// Makes harmless what was sent in a turn that was lost before its fate was known. It may reach the broker after what the next holder told, and
    /// an old figure would be the last word: so the rows are told again, once the broker must have got all that was sent.
    async fn disown(&self, lane: Lane, on_its_way: &mut BTreeSet<StockKey>) -> anyhow::Result<()> {
        if on_its_way.is_empty() {
            return Ok(());
        }
        // What is asked now comes to the broker behind what was sent before.
        let stream = self.topology.stream_name(lane.stream());
        crate::broker::jetstream(self.client.clone()).get_stream(stream).await.context("the broker does not answer")?;
        let mut session = Session::open(&self.database).await.context("no session for the relay")?;
        let mut transaction = session.connection().begin().await?;
        retell(&mut transaction, on_its_way).await?;
        transaction.commit().await?;
        on_its_way.clear();
        self.outbox.notify_waiters();
        Ok(())
    }
}

/// How a round of telling went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    /// There was nothing to tell.
    Idle,
    /// Rows were told.
    Told,
    /// Some could not be told.
    Failed,
}

/// A lane in its turn.
struct Teller<'a> {
    relay: &'a Relay,
    lane: Lane,
    /// What its stream is called at the broker.
    stream: String,
    /// How often the stream had lost something when it was last asked.
    epoch: i64,
    session: Session,
    window: Window,
    /// Rows up to this one may have been told before.
    doubted_to: Option<i64>,
    /// Stock rows that were sent and whose fate is not known. Outlives the turn.
    on_its_way: &'a mut BTreeSet<StockKey>,
    /// Behind this row the next are looked for.
    after: i64,
    reported: Option<Instant>,
    again: again::Again,
}

impl Teller<'_> {
    /// Tells the oldest rows.
    async fn tell_next(&mut self) -> anyhow::Result<Round> {
        self.report().await?;
        let rows = outbox::unsent(self.session.connection(), self.lane, self.after, ROWS).await?;
        let Some(last) = rows.last() else { return Ok(Round::Idle) };
        let parcels = rows.iter().map(Row::parcel).collect::<Result<Vec<_>, _>>()?;
        let round = self.tell(&rows, &parcels).await;
        match round {
            // In one connection nothing overtakes: what was sent before has arrived too.
            Ok(None) => self.on_its_way.clear(),
            Ok(Some(_)) | Err(_) => self.on_its_way.extend(parcels.iter().flat_map(stock_keys)),
        }
        let Some(failure) = round? else { return Ok(Round::Told) };
        self.doubted_to = self.doubted_to.max(Some(last.id));
        report_failure(self.lane, &failure);
        tokio::time::sleep(PAUSE).await;
        Ok(Round::Failed)
    }

    /// Tells rows and marks those that were acknowledged. Returns why not all were.
    async fn tell(&mut self, rows: &[Row], parcels: &[Parcel<'_>]) -> anyhow::Result<Option<Failure>> {
        let (told, failure) = self.send(rows, parcels).await?;
        crash_point("relay::after_ack");
        self.note_loss().await?;
        self.mark(&rows[..told], &parcels[..told]).await?;
        if let Some(last_told) = rows[..told].last() {
            self.after = self.after.max(last_told.id - BEHIND);
        }
        Ok(failure)
    }

    /// Sends rows in order, with a bounded number of messages unacknowledged. Returns how many rows were acknowledged whole before the first
    /// that was not, and why that one was not.
    async fn send(&mut self, rows: &[Row], parcels: &[Parcel<'_>]) -> anyhow::Result<(usize, Option<Failure>)> {
        let mut ends = Vec::with_capacity(parcels.len());
        let mut failure = None;
        self.window.begin();
        'rows: for (row, parcel) in rows.iter().zip(parcels) {
            let letters = dead_letters_of(self.session.connection(), parcel).await?;
            for entry in &parcel.entries {
                let Some(message) = self.relay.message(entry, row, parcel.at_us, &letters)? else { continue };
                // Who stood still since may have lost the turn.
                self.session.stands().await?;
                if let Err(error) = self.session.during(self.window.send(message)).await? {
                    failure = Some(error);
                    break 'rows;
                }
            }
            ends.push(self.window.sent());
        }
        if let Err(error) = self.session.during(self.window.close()).await? {
            failure = failure.or(Some(error));
        }
        Ok((ends.iter().filter(|end| **end <= self.window.acknowledged()).count(), failure))
    }

    /// Marks rows as told. What may have been told before is retold in the same transaction, so that no doubt is ever forgotten.
    async fn mark(&mut self, rows: &[Row], parcels: &[Parcel<'_>]) -> anyhow::Result<()> {
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        let doubted = |id: i64| self.doubted_to.is_some_and(|to| id <= to);
        let in_doubt = rows.iter().zip(parcels).filter(|(row, _)| doubted(row.id));
        let in_doubt: BTreeSet<StockKey> = in_doubt.flat_map(|(_, parcel)| stock_keys(parcel)).collect();
        let known = self.known();
        if in_doubt.is_empty() {
            return Ok(outbox::mark_sent(self.session.connection(), &ids, (&self.stream, known)).await?);
        }
        let mut transaction = self.session.connection().begin().await?;
        retell(&mut transaction, &in_doubt).await?;
        outbox::mark_sent(&mut transaction, &ids, (&self.stream, known)).await?;
        Ok(transaction.commit().await?)
    }

    /// What was acknowledged last.
    fn known(&self) -> Mark {
        Mark { last_seq: i64::try_from(self.window.last_seq()).unwrap_or(i64::MAX), epoch: self.epoch }
    }

    /// Notes that the stream has lost its tail, before anything else is remembered of it.
    async fn note_loss(&mut self) -> Result<(), StoreError> {
        let Some(WentBack { last_seq, seq }) = self.window.take_went_back() else { return Ok(()) };
        let signed = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
        let detail = losses::tail_lost(signed(seq) - 1, signed(last_seq));
        let known = (self.stream.as_str(), self.epoch);
        broker::lost(self.session.connection(), known, (None, signed(seq)), LossKind::TailLost, &detail).await?;
        self.look_at_epoch().await
    }

    /// What was known of a stream that has lost something is forgotten.
    async fn look_at_epoch(&mut self) -> Result<(), StoreError> {
        let known = broker::mark(self.session.connection(), &self.stream).await?;
        if known.epoch != self.epoch {
            self.epoch = known.epoch;
            self.window.forget(known.last_seq.unsigned_abs());
        }
        Ok(())
    }

    /// Measures the backlog and goes back to where it begins, and asks whether the stream has lost something, once in a while.
    async fn report(&mut self) -> Result<(), StoreError> {
        if self.reported.is_some_and(|at| at.elapsed() < REPORT_EVERY) {
            return Ok(());
        }
        self.reported = Some(Instant::now());
        let backlog = outbox::backlog(self.session.connection(), self.lane).await?;
        if let Some(first) = backlog.first {
            self.after = self.after.min(first - 1);
        }
        measure_backlog(self.lane, backlog.rows, backlog.oldest_s);
        self.look_at_epoch().await
    }
}

#[allow(clippy::cast_precision_loss, reason = "a gauge")]
fn measure_backlog(lane: Lane, rows: i64, oldest_s: f64) {
    metrics::gauge!(names::OUTBOX_UNSENT_ROWS, "stream" => lane.stream()).set(rows as f64);
    metrics::gauge!(names::OUTBOX_OLDEST_SECONDS, "stream" => lane.stream()).set(oldest_s);
}

fn report_failure(lane: Lane, failure: &Failure) {
    metrics::counter!(names::RELAY_FAILURES, "stream" => lane.stream()).increment(1);
    let stream = lane.stream();
    match failure {
        Failure::Full => {
            tracing::error!(stream, "the stream is full: nothing more can be told in it until there is room");
        }
        Failure::Unknown(error) => {
            tracing::warn!(stream, error, "telling failed; it goes on at the first message not acknowledged");
        }
    }
}

impl Relay {
    /// An entry as it is published; none where its dead letter is gone.
    fn message(
        &self,
        entry: &Entry<'_>,
        row: &Row,
        at_us: i64,
        letters: &HashMap<i64, DeadLetter>,
    ) -> anyhow::Result<Option<Outbound>> {
        Ok(match entry {
            Entry::Event { event_id, subject, body, traceparent } => Some(Outbound {
                subject: self.topology.published(subject),
                headers: messages::headers(*event_id, &messages::ce_type(subject), instant(at_us)?, *traceparent),
                body: row.share(body),
            }),
            Entry::DeadLetter(id) => letters.get(id).map(|letter| Outbound {
                subject: self.topology.published(&messages::dead_subject(&letter.message.subject)),
                headers: letter_headers(letter),
                body: Bytes::copy_from_slice(&letter.message.body),
            }),
        })
    }
}

/// A message to publish.
struct Outbound {
    subject: String,
    headers: HeaderMap,
    body: Bytes,
}

/// The stock rows that a parcel tells of.
pub(crate) fn stock_keys<'a>(parcel: &'a Parcel<'_>) -> impl Iterator<Item = StockKey> + 'a {
    parcel.entries.iter().filter_map(|entry| match entry {
        Entry::Event { subject, .. } => messages::parse_stock_subject(subject),
        Entry::DeadLetter(_) => None,
    })
}

fn instant(microseconds: i64) -> anyhow::Result<Timestamp> {
    Ok(Timestamp::from_unix_timestamp_nanos(i128::from(microseconds) * 1000)?)
}

/// The dead letters that a parcel refers to, by their rows.
async fn dead_letters_of(
    session: &mut PgConnection,
    parcel: &Parcel<'_>,
) -> Result<HashMap<i64, DeadLetter>, StoreError> {
    let ids: Vec<i64> = parcel
        .entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::DeadLetter(id) => Some(*id),
            Entry::Event { .. } => None,
        })
        .collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let letters = dead_letters::load_many(session, &ids).await?;
    Ok(letters.into_iter().map(|letter| (letter.id, letter)).collect())
}

fn letter_headers(letter: &DeadLetter) -> HeaderMap {
    let message = &letter.message;
    let original = messages::headers_from_json(&message.headers);
    let refusal = Refusal::new(Reason::from_word(&letter.reason).unwrap_or(Reason::Internal), letter.detail.as_str());
    let origin = messages::Origin {
        stream: &message.stream,
        sequence: u64::try_from(message.sequence).unwrap_or_default(),
        consumer: &message.consumer,
        headers: Some(&original),
    };
    messages::dead_headers(letter.event_id, &refusal, &origin)
}

/// Raises the versions of rows whose last telling is in doubt, and stores what they are to be told as.
async fn retell(transaction: &mut PgConnection, doubts: &BTreeSet<StockKey>) -> anyhow::Result<()> {
    let keys: Vec<StockKey> = doubts.iter().cloned().collect();
    tracing::info!(rows = keys.len(), "rows in doubt are told again");
    let locked = stock::retell_many(transaction, &keys).await?;
    tell_figures(transaction, &locked.rows, locked.now).await?;
    Ok(())
}
