//! A decision, as what the world is told: parcels for the outbox, and direct replies.

use bytes::Bytes;
use sqlx::PgConnection;
use uuid::Uuid;

use super::attempt::Work;
use super::batch::Reply;
use super::resolve;
use crate::domain::{Decision, Kind, Outcome, Review, Sku, Stock, StockChange, StockKey, Timestamp, Warehouse};
use crate::messages::{self, Message, Told};
use crate::store::StoreError;
use crate::store::outbox::{self, Entry, Lane, Parcel};
use crate::store::review_answers::StoredReview;

/// Everything that a decision tells, encoded.
pub(super) struct Telling {
    at: Timestamp,
    stock: Vec<(Told, Option<String>)>,
    answers: Vec<(Told, Option<String>)>,
    refunds: Vec<(Told, Option<String>)>,
    reviews: Vec<(Told, Option<String>)>,
}

impl Telling {
    /// Encodes. `origins` are the messages behind the commands, `review_ids` the rows of the reviews that were opened, `answered` those that were
    /// resolved.
    pub fn encode(
        decision: &Decision,
        review_ids: &[Option<i64>],
        answered: &[StoredReview],
        origins: &[Option<&Message>],
        at: Timestamp,
    ) -> Self {
        let trace = |cause: Option<usize>| {
            let message = origins.get(cause?).copied().flatten()?;
            messages::traceparent(message.headers.as_ref()).map(str::to_owned)
        };
        let review = |(review, id): (&Review, &Option<i64>)| {
            let told = messages::review_opened(review, (*id)?, Uuid::now_v7(), at);
            Some((told, trace(Some(review.cause))))
        };
        Self {
            at,
            stock: decision
                .stock
                .iter()
                .map(|change| (messages::stock_changed(change, Uuid::now_v7(), at), trace(change.cause)))
                .collect(),
            answers: decision
                .answers
                .iter()
                .map(|answer| (messages::answer(answer, Uuid::now_v7(), at), trace(answer.cause)))
                .collect(),
            refunds: decision
                .refunds
                .iter()
                .map(|refund| (messages::refund_required(refund, Uuid::now_v7(), at), trace(Some(refund.cause))))
                .collect(),
            reviews: decision
                .reviews
                .iter()
                .zip(review_ids)
                .filter_map(review)
                .chain(resolve::told(answered).map(|told| (told, None)))
                .collect(),
        }
    }

    /// The outbox rows, with the dead letters that were stored.
    pub fn parcels(&self, dead_letters: &[i64]) -> Result<Vec<(Lane, Parcel<'_>)>, StoreError> {
        let at_us = microseconds(self.at)?;
        let parcel = |entries| Parcel { at_us, entries };
        Ok(vec![
            (Lane::Stock, parcel(self.stock.iter().map(entry).collect())),
            (
                Lane::Reservations,
                parcel(self.answers.iter().chain(&self.refunds).chain(&self.reviews).map(entry).collect()),
            ),
            (Lane::Dead, parcel(dead_letters.iter().map(|id| Entry::DeadLetter(*id)).collect())),
        ])
    }

    /// Direct replies to those who asked for one.
    pub fn replies(
        self,
        work: &Work<'_>,
        origins: &[Option<&Message>],
        decision: &Decision,
        prefixes: &[String],
    ) -> Vec<Reply> {
        let mut replies = Vec::new();
        for (index, outcome) in decision.outcomes.iter().enumerate() {
            let Some(to) = origins[index].and_then(|message| reply_to(message, prefixes)) else { continue };
            let body = match outcome {
                Outcome::Answered(place) => self.answers[*place].0.body.clone(),
                Outcome::Redelivered(Some(answer)) | Outcome::Noted(answer) => {
                    messages::answer(answer, Uuid::now_v7(), self.at).body
                }
                Outcome::Refused(refusal) => messages::reply_error(refusal),
                Outcome::Applied | Outcome::Redelivered(None) => {
                    let command = work.command(index);
                    let Some(event) = &command.event else { continue };
                    if command.kind.order().is_some() {
                        continue;
                    }
                    let rows = rows_of(&command.kind);
                    let figures =
                        rows.iter().filter_map(|key| Some((key, decision.figures.get(&key.sku, &key.warehouse)?)));
                    messages::reply_stock(&event.id, figures)
                }
                Outcome::Waiting | Outcome::UnderReview(_) | Outcome::Attended => continue,
            };
            replies.push(Reply { to, body: Bytes::from(body) });
        }
        replies
    }
}

/// The stock rows that a stock message is about.
fn rows_of(kind: &Kind) -> Vec<StockKey> {
    fn rows<'a>(skus: impl Iterator<Item = &'a Sku>, warehouse: &Warehouse) -> Vec<StockKey> {
        skus.map(|sku| StockKey { sku: sku.clone(), warehouse: warehouse.clone() }).collect()
    }
    match kind {
        Kind::Receive(receipt) => rows(receipt.lines.iter().map(|line| &line.sku), &receipt.warehouse),
        Kind::WriteOff(write_off) => rows(write_off.lines.iter().map(|line| &line.sku), &write_off.warehouse),
        Kind::Count(count) => rows(count.lines.iter().map(|line| &line.sku), &count.warehouse),
        Kind::Transfer(transfer) => [&transfer.warehouse, &transfer.to]
            .into_iter()
            .flat_map(|warehouse| rows(transfer.lines.iter().map(|line| &line.sku), warehouse))
            .collect(),
        Kind::Create(_)
        | Kind::Renew(_)
        | Kind::Cancel(_)
        | Kind::Payment(_)
        | Kind::Ship(_)
        | Kind::Return(_)
        | Kind::Expire(_)
        | Kind::Wake(_) => Vec::new(),
    }
}

/// Stores that these rows have these figures now, to be told: for whoever changes stock without a command.
pub async fn tell_figures(
    connection: &mut PgConnection,
    rows: &[(StockKey, Stock)],
    at: Timestamp,
) -> Result<(), StoreError> {
    let told: Vec<_> = rows
        .iter()
        .map(|(key, after)| {
            let change = StockChange { key: key.clone(), before: Stock::default(), after: *after, cause: None };
            (messages::stock_changed(&change, Uuid::now_v7(), at), None)
        })
        .collect();
    let parcel = Parcel { at_us: microseconds(at)?, entries: told.iter().map(entry).collect() };
    outbox::insert_many(connection, &[(Lane::Stock, parcel)], at).await
}

/// Stores that these reviews were opened, to be told: for whoever asks a person without a command. `ids` are the rows of those that are new.
pub async fn tell_reviews(
    connection: &mut PgConnection,
    reviews: &[Review],
    ids: &[Option<i64>],
    at: Timestamp,
) -> Result<(), StoreError> {
    let told: Vec<_> = reviews
        .iter()
        .zip(ids)
        .filter_map(|(review, id)| Some((messages::review_opened(review, (*id)?, Uuid::now_v7(), at), None)))
        .collect();
    let parcel = Parcel { at_us: microseconds(at)?, entries: told.iter().map(entry).collect() };
    outbox::insert_many(connection, &[(Lane::Reservations, parcel)], at).await
}

/// Stores that these reviews were resolved, to be told.
pub(super) async fn tell_resolved(
    connection: &mut PgConnection,
    resolved: &[StoredReview],
    at: Timestamp,
) -> Result<(), StoreError> {
    let told: Vec<_> = resolve::told(resolved).map(|told| (told, None)).collect();
    let parcel = Parcel { at_us: microseconds(at)?, entries: told.iter().map(entry).collect() };
    outbox::insert_many(connection, &[(Lane::Reservations, parcel)], at).await
}

/// Where a message wants its direct reply; what it says otherwise is ignored and counted.
pub(super) fn reply_to(message: &Message, prefixes: &[String]) -> Option<String> {
    let asked = messages::reply_to(message.headers.as_ref())?;
    if messages::judge_reply_to(asked, prefixes) {
        return Some(asked.to_owned());
    }
    metrics::counter!(crate::ops::metrics::REPLIES_IGNORED).increment(1);
    None
}

fn entry((told, traceparent): &(Told, Option<String>)) -> Entry<'_> {
    Entry::Event {
        event_id: told.event_id,
        subject: &told.subject,
        body: &told.body,
        traceparent: traceparent.as_deref(),
    }
}

/// Microseconds since 1970.
pub(super) fn microseconds(at: Timestamp) -> Result<i64, StoreError> {
    i64::try_from(at.unix_timestamp_nanos() / 1000)
        .map_err(|error| StoreError::Unreadable { what: "clock", detail: error.to_string() })
}
