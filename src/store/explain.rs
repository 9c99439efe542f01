//! What is asked by somebody who wants to know why: everything of one snapshot ([`audit::begin`](super::audit::begin)), and nothing locked.
//!
//! Whoever asks has no hurry and is one: some of these statements read a table whole, so that no order pays for an index that only they need.

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use serde_json::Value;
use sqlx::PgConnection;

use super::outbox::Row;
use super::stock::key;
use super::{StoreError, denials};
use crate::domain::{Denial, OrderKey, Stock, StockKey, Timestamp};

/// An order's row.
#[derive(Debug, sqlx::FromRow)]
pub struct OrderFacts {
    /// What became of it.
    pub state: String,
    /// The event that created it.
    pub event_id: Option<String>,
    /// How it is paid.
    pub payment_mode: String,
    /// What it costs, in minor units.
    pub total_amount: Option<i64>,
    /// Of which currency.
    pub currency: Option<String>,
    /// Why it was rejected.
    pub rejection: Option<String>,
    /// When it was claimed.
    pub created_at: Timestamp,
    /// Since when stock is held.
    pub held_since: Option<Timestamp>,
    /// When the hold ends, or ended.
    pub expires_at: Option<Timestamp>,
    denial: Option<Value>,
}

impl OrderFacts {
    /// What it was denied last, if it was.
    ///
    /// # Errors
    /// What stands there cannot be read.
    pub fn denial(&self) -> Result<Option<Denial>, StoreError> {
        self.denial.as_ref().map(denials::from_json).transpose()
    }
}

/// The order's row, if there is one.
pub async fn order(connection: &mut PgConnection, order: &OrderKey) -> Result<Option<OrderFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("explain_order.sql"));
    Ok(asked.bind(order.channel.as_str()).bind(order.order_ref.as_str()).fetch_optional(connection).await?)
}

/// A line of an order.
#[derive(Debug, sqlx::FromRow)]
pub struct LineFacts {
    /// Its row.
    pub id: i64,
    /// What.
    pub sku: String,
    /// Where.
    pub warehouse: String,
    /// Units, less what was cancelled in part.
    pub qty: i64,
    /// Units that left the shelf.
    pub shipped_qty: i64,
    /// Units that came back.
    pub returned_qty: i64,
    /// What became of it.
    pub state: String,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// The lines of the order.
pub async fn lines(connection: &mut PgConnection, order: &OrderKey) -> Result<Vec<LineFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("explain_lines.sql"));
    Ok(asked.bind(order.channel.as_str()).bind(order.order_ref.as_str()).fetch_all(connection).await?)
}

/// A step of a line.
#[derive(Debug, sqlx::FromRow)]
pub struct StepFacts {
    /// Its row.
    pub id: i64,
    /// Of which line.
    pub reservation_id: i64,
    /// What.
    pub sku: String,
    /// Where.
    pub warehouse: String,
    /// From which state; none at first.
    pub from_state: Option<String>,
    /// To which.
    pub to_state: String,
    /// The signed change of what is reserved.
    pub qty: i64,
    /// Why.
    pub reason: Option<String>,
    /// Which event caused it; none for a timer.
    pub event_id: Option<String>,
    /// The batch's clock.
    pub at: Timestamp,
}

/// What a gateway said of a payment.
#[derive(Debug, sqlx::FromRow)]
pub struct PaymentFacts {
    /// The gateway.
    pub provider: String,
    /// The payment's name there.
    pub payment_id: String,
    /// What became of it: started, failed, succeeded, refunded.
    pub verb: String,
    /// The event that said so.
    pub event_id: String,
    /// How much, in minor units.
    pub amount: Option<i64>,
    /// Of which currency.
    pub currency: Option<String>,
    /// The gateway's words.
    pub reason: Option<String>,
    /// The batch's clock.
    pub at: Timestamp,
}

/// What was said of the order's payments, in order.
pub async fn payments(connection: &mut PgConnection, order: &OrderKey) -> Result<Vec<PaymentFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("explain_payments.sql"));
    Ok(asked.bind(order.channel.as_str()).bind(order.order_ref.as_str()).fetch_all(connection).await?)
}

/// A refund that was required.
#[derive(Debug, sqlx::FromRow)]
pub struct RefundFacts {
    /// The gateway.
    pub provider: String,
    /// The payment's name there.
    pub payment_id: String,
    /// Why.
    pub reason: String,
    /// The event that caused it.
    pub event_id: String,
    /// How much, in minor units; none where it cannot be known.
    pub amount: Option<i64>,
    /// Of which currency.
    pub currency: Option<String>,
    /// The batch's clock.
    pub at: Timestamp,
    /// When it was settled.
    pub settled_at: Option<Timestamp>,
}

/// Refunds that were required of the order's payments, in order.
pub async fn refunds(connection: &mut PgConnection, order: &OrderKey) -> Result<Vec<RefundFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("explain_refunds.sql"));
    Ok(asked.bind(order.channel.as_str()).bind(order.order_ref.as_str()).fetch_all(connection).await?)
}

/// Units of a line that left a shelf, or came back.
#[derive(Debug, sqlx::FromRow)]
pub struct ParcelFacts {
    /// Its row.
    pub id: i64,
    /// Of which line.
    pub reservation_id: i64,
    /// What.
    pub sku: String,
    /// Which shelf they left, or where they came back to.
    pub warehouse: String,
    /// shipped, returned or damaged.
    pub kind: String,
    /// Units.
    pub qty: i64,
    /// The event that said so.
    pub event_id: String,
    /// The batch's clock.
    pub at: Timestamp,
}

/// The parcels of these lines, in order.
pub async fn parcels(connection: &mut PgConnection, lines: &[i64]) -> Result<Vec<ParcelFacts>, StoreError> {
    Ok(sqlx::query_as(include_str!("explain_parcels.sql")).bind(lines).fetch_all(connection).await?)
}

/// A slot of an order.
#[derive(Debug, sqlx::FromRow)]
pub struct SlotFacts {
    /// Its row.
    pub id: i64,
    /// Of what.
    pub resource: String,
    /// From when.
    pub begins: Timestamp,
    /// To when, excluded.
    pub ends: Timestamp,
    /// What became of it.
    pub state: String,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// The slots of the order.
pub async fn slots(connection: &mut PgConnection, order: &OrderKey) -> Result<Vec<SlotFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("explain_slots.sql"));
    Ok(asked.bind(order.channel.as_str()).bind(order.order_ref.as_str()).fetch_all(connection).await?)
}

/// A step of a slot.
#[derive(Debug, sqlx::FromRow)]
pub struct SlotStepFacts {
    /// Its row.
    pub id: i64,
    /// Of which slot.
    pub slot_hold_id: i64,
    /// Of what.
    pub resource: String,
    /// From when.
    pub begins: Timestamp,
    /// To when, excluded.
    pub ends: Timestamp,
    /// From which state; none at first.
    pub from_state: Option<String>,
    /// To which.
    pub to_state: String,
    /// Why.
    pub reason: Option<String>,
    /// Which event caused it; none for a timer.
    pub event_id: Option<String>,
    /// The batch's clock.
    pub at: Timestamp,
}

/// Every step of these slots, in order.
pub async fn slot_steps(connection: &mut PgConnection, slots: &[i64]) -> Result<Vec<SlotStepFacts>, StoreError> {
    Ok(sqlx::query_as(include_str!("explain_slot_steps.sql")).bind(slots).fetch_all(connection).await?)
}

/// Every step of these lines, in order.
pub async fn steps(connection: &mut PgConnection, lines: &[i64]) -> Result<Vec<StepFacts>, StoreError> {
    Ok(sqlx::query_as(include_str!("explain_steps.sql")).bind(lines).fetch_all(connection).await?)
}

/// Somebody who had units of a row at a moment.
#[derive(Debug, sqlx::FromRow)]
pub struct HolderFacts {
    /// Which of the rows that were asked for, counted from 0.
    pub place: i64,
    /// How many units.
    pub units: i64,
    /// Since when.
    pub since: Timestamp,
    /// How many holders the row had, and how many units all of them.
    pub holders: i64,
    /// How many units all holders of the row had.
    pub units_of_all: i64,
    /// Whose.
    pub channel: String,
    /// Whose.
    pub order_ref: String,
    /// What its line was then.
    pub state_then: String,
    /// What it is now.
    pub state_now: String,
    /// When the order's hold ends, or ended.
    pub expires_at: Option<Timestamp>,
    /// When units of it first went back or out after that moment.
    pub ended_at: Option<Timestamp>,
    /// What it was from then on.
    pub ended_as: Option<String>,
    /// Why.
    pub ended_why: Option<String>,
}

/// Who had units of the rows of a denial at its moment: of each row at most `limit`, those who took theirs last first.
pub async fn holders(
    connection: &mut PgConnection,
    denial: &Denial,
    limit: i64,
) -> Result<Vec<HolderFacts>, StoreError> {
    let rows = &denial.by.rows;
    Ok(sqlx::query_as(include_str!("explain_holders.sql"))
        .bind(rows.iter().map(|row| row.key.sku.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.key.warehouse.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| i64::from(row.steps)).collect::<Vec<_>>())
        .bind(denial.at)
        .bind(limit)
        .fetch_all(connection)
        .await?)
}

/// What became of a slot that was in the way of another order's at a moment.
#[derive(Debug, sqlx::FromRow)]
pub struct SlotHolderFacts {
    /// Which of the slots that were asked for, counted from 0.
    pub place: i64,
    /// What it was then.
    pub state_then: String,
    /// Since when its order had it.
    pub since: Timestamp,
    /// What it is now.
    pub state_now: String,
    /// When the order's hold ends, or ended.
    pub expires_at: Option<Timestamp>,
    /// When it was first given back after that moment.
    pub ended_at: Option<Timestamp>,
    /// What it was from then on.
    pub ended_as: Option<String>,
    /// Why.
    pub ended_why: Option<String>,
}

/// What was, and what became, of the slots that were in the way of a denial.
pub async fn slot_holders(connection: &mut PgConnection, denial: &Denial) -> Result<Vec<SlotHolderFacts>, StoreError> {
    let slots = &denial.by.slots;
    Ok(sqlx::query_as(include_str!("explain_slot_holders.sql"))
        .bind(slots.iter().map(|slot| slot.order.channel.as_str()).collect::<Vec<_>>())
        .bind(slots.iter().map(|slot| slot.order.order_ref.as_str()).collect::<Vec<_>>())
        .bind(slots.iter().map(|slot| slot.taken.resource.as_str()).collect::<Vec<_>>())
        .bind(slots.iter().map(|slot| slot.taken.from).collect::<Vec<_>>())
        .bind(slots.iter().map(|slot| slot.taken.to).collect::<Vec<_>>())
        .bind(slots.iter().map(|slot| i64::from(slot.steps)).collect::<Vec<_>>())
        .bind(denial.at)
        .fetch_all(connection)
        .await?)
}

/// The present figures of those of the rows that there are.
pub async fn figures(connection: &mut PgConnection, rows: &[&StockKey]) -> Result<Vec<(StockKey, Stock)>, StoreError> {
    let found: Vec<(String, String, i64, i64, i64)> = sqlx::query_as(include_str!("explain_figures.sql"))
        .bind(rows.iter().map(|row| row.sku.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.warehouse.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    let read = |(sku, warehouse, on_hand, reserved, version): (String, String, _, _, _)| {
        (key(&sku, &warehouse), Stock { on_hand, reserved, version })
    };
    Ok(found.into_iter().map(read).collect())
}

/// A message that waits.
#[derive(Debug, sqlx::FromRow)]
pub struct WaitingFacts {
    /// Its row.
    pub id: i64,
    /// The stream it came from.
    pub stream: String,
    /// Its place there.
    pub sequence: i64,
    /// When the stream received it.
    pub received_at: Timestamp,
    /// Its full subject.
    pub subject: String,
    /// Its event.
    pub event_id: String,
    /// Since when it waits.
    pub since: Timestamp,
    /// Whether a person was asked about it.
    pub overdue: bool,
}

/// What waits for the order.
pub async fn waiting(connection: &mut PgConnection, order: &OrderKey) -> Result<Vec<WaitingFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("explain_waiting.sql"));
    Ok(asked.bind(order.channel.as_str()).bind(order.order_ref.as_str()).fetch_all(connection).await?)
}

/// A message that could not be processed.
#[derive(Debug, sqlx::FromRow)]
pub struct DeadFacts {
    /// Its row.
    pub id: i64,
    /// The stream it came from.
    pub stream: String,
    /// Its place there.
    pub sequence: i64,
    /// When the stream received it.
    pub received_at: Timestamp,
    /// Its full subject.
    pub subject: String,
    /// Why.
    pub reason: String,
    /// Why, in a sentence.
    pub detail: String,
    /// Its headers: name to list of values.
    pub headers: Value,
    /// Its body.
    pub body: Vec<u8>,
    /// When it was refused.
    pub opened_at: Timestamp,
    /// When it was resolved.
    pub resolved_at: Option<Timestamp>,
}

/// Dead letters in whose body this stands.
pub async fn dead_letters(connection: &mut PgConnection, needle: &[u8]) -> Result<Vec<DeadFacts>, StoreError> {
    Ok(sqlx::query_as(include_str!("explain_dead.sql")).bind(needle).fetch_all(connection).await?)
}

/// A question for a person.
#[derive(Debug, sqlx::FromRow)]
pub struct ReviewFacts {
    /// Its row.
    pub id: i64,
    /// Of which kind.
    pub kind: String,
    /// A sentence for a person.
    pub detail: String,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// When it was answered.
    pub resolved_at: Option<Timestamp>,
    /// By whom.
    pub resolved_by: Option<String>,
    /// What they said.
    pub note: Option<String>,
}

/// Reviews about the order, or about one of these events: full subject and id.
pub async fn reviews(
    connection: &mut PgConnection,
    order: &OrderKey,
    events: &[(String, String)],
) -> Result<Vec<ReviewFacts>, StoreError> {
    Ok(sqlx::query_as(include_str!("explain_reviews.sql"))
        .bind(order.channel.as_str())
        .bind(order.order_ref.as_str())
        .bind(events.iter().map(|(subject, id)| format!("{subject}\t{id}")).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?)
}

/// A row of the outbox, and when it was told.
pub type ToldRow = (Row, Option<Timestamp>);

/// What was stored to be told of orders by decisions at these instants.
pub fn told_at<'a>(
    connection: &'a mut PgConnection,
    instants: &'a [Timestamp],
) -> BoxStream<'a, Result<ToldRow, StoreError>> {
    let asked = sqlx::query_as(include_str!("explain_told_at.sql")).bind(instants);
    asked.fetch(connection).map_ok(told).err_into().boxed()
}

/// What was stored to be told of orders since an instant, the oldest first.
pub fn told_since(connection: &mut PgConnection, since: Timestamp) -> BoxStream<'_, Result<ToldRow, StoreError>> {
    let asked = sqlx::query_as(include_str!("explain_told_since.sql")).bind(since);
    asked.fetch(connection).map_ok(told).err_into().boxed()
}

fn told((id, packed, sent_at): (i64, Vec<u8>, Option<Timestamp>)) -> ToldRow {
    (Row::stored(id, packed), sent_at)
}

/// A movement of a row.
#[derive(Debug, sqlx::FromRow)]
pub struct MovementFacts {
    /// Its row.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// The signed change of what lies there.
    pub delta: i64,
    /// Why.
    pub kind: String,
    /// Which event caused it.
    pub event_id: Option<String>,
    /// What lay there then.
    pub after: i64,
    /// How many movements there are up to the instant that was asked for.
    pub rows: i64,
}

/// The last movements of a row up to an instant, newest first.
pub async fn movements(
    connection: &mut PgConnection,
    row: &StockKey,
    at: Timestamp,
    limit: i64,
) -> Result<Vec<MovementFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("explain_movements.sql"));
    Ok(asked.bind(row.sku.as_str()).bind(row.warehouse.as_str()).bind(at).bind(limit).fetch_all(connection).await?)
}

/// A step that changed what is reserved of a row.
#[derive(Debug, sqlx::FromRow)]
pub struct RowStepFacts {
    /// Its row.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// The signed change of what is reserved.
    pub qty: i64,
    /// From which state; none at first.
    pub from_state: Option<String>,
    /// To which.
    pub to_state: String,
    /// Why.
    pub reason: Option<String>,
    /// Which event caused it; none for a timer.
    pub event_id: Option<String>,
    /// What was reserved then.
    pub after: i64,
    /// How many such steps there are up to the instant that was asked for.
    pub rows: i64,
    /// Whose.
    pub channel: String,
    /// Whose.
    pub order_ref: String,
}

/// The last steps that changed what is reserved of a row up to an instant, newest first.
pub async fn row_steps(
    connection: &mut PgConnection,
    row: &StockKey,
    at: Timestamp,
    limit: i64,
) -> Result<Vec<RowStepFacts>, StoreError> {
    let asked = sqlx::query_as(include_str!("explain_row_steps.sql"));
    Ok(asked.bind(row.sku.as_str()).bind(row.warehouse.as_str()).bind(at).bind(limit).fetch_all(connection).await?)
}
