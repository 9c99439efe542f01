//! A decision, written: a fixed number of statements, each counting what it changed.

use std::collections::BTreeMap;

use sqlx::PgConnection;

use super::attempt::Work;
use super::batch::Replayed;
use super::tell::Telling;
use crate::domain::{Answer, Decision, Outcome, Refusal, Timestamp, What};
use crate::messages::Message;
use crate::store::waiting::{For, NewWaiting};
use crate::store::{
    StoreError, dead_letters, inbox, journal, orders, outbox, payments, reservations, review_answers, reviews,
    shipments, slots, stock, waiting,
};

/// What was written.
pub(super) struct Applied {
    /// What is told of it.
    pub telling: Telling,
    /// Whether anything is.
    pub told: bool,
}

/// Writes everything that was decided.
pub(super) async fn apply(
    connection: &mut PgConnection,
    work: &Work<'_>,
    origins: &[Option<&Message>],
    decision: &Decision,
    now: Timestamp,
) -> Result<Applied, StoreError> {
    write_orders_and_stock(connection, decision, now).await?;
    write_slots(connection, decision, now).await?;
    payments::write(connection, decision, now).await?;
    inbox::file_many(connection, &decision.documents, now).await?;
    shipments::file_many(connection, &decision.shipments, now).await?;
    inbox::forget_many(connection, &decision.forgotten).await?;

    let opened = reviews::open_many(connection, &decision.reviews, now).await?;
    write_waiting(connection, work, origins, decision, &opened, now).await?;

    let refused = refused_messages(work, origins, decision);
    let dead_letters = write_dead_letters(connection, work, decision, &refused, now).await?;

    let answered = review_answers::resolve_many(connection, &work.answers(decision), now).await?;
    let telling = Telling::encode(decision, &reviews::new_ids(&opened), &answered, origins, now);
    let parcels = telling.parcels(&dead_letters)?;
    let told = parcels.iter().any(|(_, parcel)| !parcel.entries.is_empty());
    outbox::insert_many(connection, &parcels, now).await?;
    drop(parcels);
    count(decision, &refused);
    Ok(Applied { telling, told })
}

async fn write_orders_and_stock(
    connection: &mut PgConnection,
    decision: &Decision,
    now: Timestamp,
) -> Result<(), StoreError> {
    let ids = reservations::new_ids(connection, decision.new_reservations.len()).await?;
    reservations::insert_many(connection, &decision.new_reservations, &ids, now).await?;
    reservations::update_many(connection, &decision.reservations).await?;
    orders::update_many(connection, &decision.orders).await?;
    journal::insert_steps(connection, &decision.journal, &ids, now).await?;
    shipments::insert_lines(connection, &decision.parcel_lines, &ids, now).await?;
    stock::update_many(connection, &decision.stock, now).await?;
    stock::unmake_many(connection, &decision.spare_rows).await?;
    journal::insert_movements(connection, &decision.movements, now).await
}

/// What is given up goes first, so that others may have it.
async fn write_slots(connection: &mut PgConnection, decision: &Decision, now: Timestamp) -> Result<(), StoreError> {
    slots::update_many(connection, &decision.slots).await?;
    let ids = slots::new_ids(connection, decision.new_slots.len()).await?;
    slots::insert_many(connection, &decision.new_slots, &ids, now).await?;
    slots::insert_steps(connection, &decision.slot_journal, &ids, now).await
}

/// Messages that begin to wait are kept, those that wait no more are let go.
async fn write_waiting(
    connection: &mut PgConnection,
    work: &Work<'_>,
    origins: &[Option<&Message>],
    decision: &Decision,
    opened: &[reviews::Opened],
    now: Timestamp,
) -> Result<(), StoreError> {
    let (mut begin, mut asked, mut done) = (Vec::new(), Vec::new(), Vec::new());
    for (index, outcome) in decision.outcomes.iter().enumerate() {
        let command = work.command(index);
        let waits_for = match outcome {
            Outcome::Waiting => command.kind.order().cloned().map(For::Order),
            Outcome::UnderReview(place) => Some(For::Review(opened[*place].id)),
            _ => None,
        };
        match index.checked_sub(work.commands.len()) {
            Some(woken) if waits_for.is_none() => done.push(work.woken_rows[woken].0),
            Some(woken) => {
                if let Some(For::Review(review)) = waits_for {
                    asked.push((work.woken_rows[woken].0, review));
                }
            }
            None => {
                if let (Some(waits_for), Some(event), Some(message)) = (waits_for, &command.event, origins[index]) {
                    begin.push(NewWaiting { waits_for, event, message });
                }
            }
        }
    }
    done.extend(work.unreadable.iter().map(|(id, _, _)| *id));
    waiting::insert_many(connection, &begin, now).await?;
    waiting::put_under_review(connection, &asked).await?;
    waiting::remove_many(connection, &done).await
}

/// Lays to rest what was refused, and marks what was replayed. Returns the rows that are to be told.
async fn write_dead_letters(
    connection: &mut PgConnection,
    work: &Work<'_>,
    decision: &Decision,
    refused: &[(&Message, &Refusal)],
    now: Timestamp,
) -> Result<Vec<i64>, StoreError> {
    let (mut again, mut resolved) = (Vec::new(), Vec::new());
    let replayed = work.replayed(decision);
    for (row, replayed) in &replayed {
        match replayed {
            Replayed::Refused(refusal) => again.push((*row, refusal)),
            Replayed::Processed | Replayed::Waiting => resolved.push(*row),
            Replayed::ResolvedBefore => {}
        }
    }
    dead_letters::resolve_many(connection, &resolved, now).await?;
    dead_letters::refuse_again_many(connection, &again).await?;
    let mut told = dead_letters::reopen_many(connection, &work.refused_after_waiting(decision), now).await?;
    told.extend(dead_letters::insert_many(connection, refused, now).await?);
    Ok(told)
}

fn refused_messages<'a>(
    work: &'a Work<'_>,
    origins: &[Option<&'a Message>],
    decision: &'a Decision,
) -> Vec<(&'a Message, &'a Refusal)> {
    let decided = decision.outcomes.iter().zip(origins).filter_map(|(outcome, origin)| match outcome {
        Outcome::Refused(refusal) => Some(((*origin)?, refusal)),
        _ => None,
    });
    let mut refused: Vec<_> = work.refused_unread().chain(decided).collect();
    refused.sort_by_key(|(message, _)| message.sequence);
    refused
}

fn count(decision: &Decision, refused: &[(&Message, &Refusal)]) {
    use crate::ops::metrics as names;
    let mut decided: BTreeMap<&str, u64> = BTreeMap::new();
    for answer in &decision.answers {
        *decided.entry(answer.what.word()).or_default() += 1;
    }
    if !decision.refunds.is_empty() {
        decided.insert("refund_required", decision.refunds.len() as u64);
    }
    for (what, count) in decided {
        metrics::counter!(names::DECIDED, "outcome" => what).increment(count);
    }
    let is_expiry = |answer: &&Answer| answer.what == What::Expired && !answer.duplicate;
    let expired = decision.answers.iter().filter(is_expiry).count();
    metrics::counter!(names::EXPIRED_ORDERS).increment(expired as u64);
    let redelivered = decision.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Redelivered(_))).count();
    metrics::counter!(names::REDELIVERED).increment(redelivered as u64);
    for (message, refusal) in refused {
        metrics::counter!(names::DEAD_LETTERS, "reason" => refusal.reason.word()).increment(1);
        tracing::warn!(
            subject = %message.subject, stream = %message.stream, sequence = message.sequence,
            reason = refusal.reason.word(), detail = %refusal.detail, "refused"
        );
    }
}
