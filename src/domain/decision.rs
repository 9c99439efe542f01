//! What was decided: the write-set, what to tell the world, and one outcome per command.

use std::sync::Arc;

use super::command::{AskedSlot, DocumentKey, EventKey};
use super::denial::Denial;
use super::finding::Finding;
use super::names::{Channel, EventId, Sku, Warehouse};
use super::order::{OrderKey, OrderRow, OrderState, Reservation, ReservationState};
use super::payment::{NewReport, PaymentChange, PaymentKey, RefundRequired, Settlement};
use super::point::{PointKey, PointQuestion};
use super::refusal::Refusal;
use super::shipment::{FiledShipment, ParcelLine};
use super::slot::SlotHold;
use super::stock::{Stock, StockKey, StockTable};
use super::{Qty, Timestamp};

/// A reservation's or slot's row: one that stands in its table, or the n-th that this decision adds there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineId {
    /// Its id in the table.
    Stored(i64),
    /// Its place among [`Decision::new_reservations`] or [`Decision::new_slots`].
    New(usize),
}

/// Everything a batch writes and tells.
#[derive(Debug, Default)]
pub struct Decision {
    /// One per command, in the commands' order.
    pub outcomes: Vec<Outcome>,
    /// Orders whose columns must become these.
    pub orders: Vec<OrderChange>,
    /// Reservations to add, with the order each belongs to.
    pub new_reservations: Vec<NewReservation>,
    /// Reservations to change.
    pub reservations: Vec<ReservationChange>,
    /// Rows of the journal, in order.
    pub journal: Vec<JournalEntry>,
    /// Slots to add, with the order each belongs to.
    pub new_slots: Vec<NewSlot>,
    /// Slots to change.
    pub slots: Vec<SlotChange>,
    /// Rows of the slots' journal, in order.
    pub slot_journal: Vec<SlotStep>,
    /// Stock rows to change, each once, sorted.
    pub stock: Vec<StockChange>,
    /// Changes of `on_hand`, in order.
    pub movements: Vec<Movement>,
    /// Payments to add or change, sorted, each once.
    pub payments: Vec<PaymentChange>,
    /// What gateways said for the first time, in order.
    pub reports: Vec<NewReport>,
    /// Refunds that are required, in order.
    pub refunds: Vec<RefundRequired>,
    /// Refunds required before this batch that are settled, in order.
    pub settled: Vec<Settlement>,
    /// What became of orders, in order.
    pub answers: Vec<Answer>,
    /// Questions for a person, in order.
    pub reviews: Vec<Review>,
    /// Events that were refused in the end and must not count as decided, sorted. An event may be delivered twice in a batch, refused, and
    /// taken the second time: it does not stand here.
    pub forgotten: Vec<EventKey>,
    /// Documents that are taken with this batch.
    pub documents: Vec<FiledDocument>,
    /// Shipments that are taken with this batch.
    pub shipments: Vec<FiledShipment>,
    /// What left shelves for orders and what came back, in order.
    pub parcel_lines: Vec<ParcelLine>,
    /// Every locked row, as it stands from now on.
    pub figures: StockTable,
    /// Rows that the transaction made and that nothing needed, because what would have filled them was refused.
    pub spare_rows: Vec<StockKey>,
    /// Stock rows for want of which somebody was refused. If a due hold stands on one of them, the decision is not final.
    pub short: Vec<StockKey>,
    /// Orders whose ended hold has a slot for want of which somebody was refused, sorted: with any of them the decision is not final.
    pub overdue: Vec<OrderKey>,
}

/// A reservation that the decision adds, in its final form.
#[derive(Debug, Clone)]
pub struct NewReservation {
    /// Whose.
    pub order: OrderKey,
    /// Its columns.
    pub reservation: Reservation,
    /// When it ends, if it is or was held for a time.
    pub expires_at: Option<Timestamp>,
}

/// What became of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was decided, and this answer (by its place) tells how.
    Answered(usize),
    /// It was decided; its effect is in the figures.
    Applied,
    /// It was decided, and nothing is told of its order: how that stands, for whoever asked to be told directly.
    Noted(Box<Answer>),
    /// It had been decided before. For an order's event: its present state, for whoever asked to be told directly.
    Redelivered(Option<Box<Answer>>),
    /// It waits for its order, or for its order to be confirmed.
    Waiting,
    /// It waits for a person: the review, by its place.
    UnderReview(usize),
    /// It cannot be processed.
    Refused(Refusal),
    /// A timer's command: nothing to tell anybody.
    Attended,
}

/// A document that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiledDocument {
    /// The full subject it came on.
    pub subject: Arc<str>,
    /// The event that brought it.
    pub event_id: EventId,
    /// Its reference and the digest of its lines.
    pub key: DocumentKey,
}

/// New columns of an order's row.
#[derive(Debug, Clone)]
pub struct OrderChange {
    /// Which order.
    pub key: OrderKey,
    /// Its columns from now on.
    pub row: OrderRow,
    /// The state that must stand in the table before.
    pub before: OrderState,
    /// What it was denied in this batch, if anything: else what stands in the table stays.
    pub denial: Option<Denial>,
}

/// New columns of a reservation's row.
#[derive(Debug, Clone)]
pub struct ReservationChange {
    /// Its id in the table.
    pub id: i64,
    /// The state that must stand in the table before.
    pub before: ReservationState,
    /// The quantity that must stand in the table before.
    pub qty_before: Qty,
    /// The units shipped that must stand in the table before.
    pub shipped_before: Qty,
    /// The units returned that must stand in the table before.
    pub returned_before: Qty,
    /// Its columns from now on.
    pub after: Reservation,
    /// When it ends, if it is held.
    pub expires_at: Option<Timestamp>,
}

/// One step of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// Whose step.
    pub line: LineId,
    /// What.
    pub sku: Sku,
    /// Where `reserved` changes.
    pub warehouse: Warehouse,
    /// From which state; none at first.
    pub from: Option<ReservationState>,
    /// To which state; the same in a partial step.
    pub to: ReservationState,
    /// The signed change of `reserved`.
    pub qty: Qty,
    /// Why, in a word or in the canceller's words.
    pub reason: Option<Arc<str>>,
    /// Which event caused it; none for a timer.
    pub event_id: Option<EventId>,
}

/// A slot that the decision adds, in its final form.
#[derive(Debug, Clone)]
pub struct NewSlot {
    /// Whose.
    pub order: OrderKey,
    /// Its columns.
    pub hold: SlotHold,
    /// When it ends, if it is or was held for a time.
    pub expires_at: Option<Timestamp>,
}

/// New columns of a slot's row.
#[derive(Debug, Clone)]
pub struct SlotChange {
    /// Its id in the table.
    pub id: i64,
    /// The state that must stand in the table before.
    pub before: ReservationState,
    /// Its columns from now on.
    pub after: SlotHold,
    /// When it ends, if it is held.
    pub expires_at: Option<Timestamp>,
}

/// One step of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotStep {
    /// Whose step.
    pub hold: LineId,
    /// Of what, from when to when.
    pub slot: AskedSlot,
    /// From which state; none at first.
    pub from: Option<ReservationState>,
    /// To which state.
    pub to: ReservationState,
    /// Why, in a word or in the canceller's words.
    pub reason: Option<Arc<str>>,
    /// Which event caused it; none for a timer.
    pub event_id: Option<EventId>,
}

/// New figures of a stock row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockChange {
    /// Which row.
    pub key: StockKey,
    /// What stood there.
    pub before: Stock,
    /// What stands there from now on; its version is higher.
    pub after: Stock,
    /// The command that changed it last, whose trace the event carries on; none for a timer.
    pub cause: Option<usize>,
}

/// Why `on_hand` changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MovementKind {
    /// Units came in.
    Received,
    /// Units are gone.
    WrittenOff,
    /// A stock-take found another figure.
    Counted,
    /// Units moved between warehouses.
    Transferred,
    /// Units left for an order.
    Shipped,
    /// Units of an order came back, to be sold again.
    Returned,
    /// Units that were there before this program was: never decided, only imported.
    Opening,
}

impl MovementKind {
    /// The word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::WrittenOff => "written_off",
            Self::Counted => "counted",
            Self::Transferred => "transferred",
            Self::Shipped => "shipped",
            Self::Returned => "returned",
            Self::Opening => "opening",
        }
    }
}

/// A change of `on_hand`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Movement {
    /// Which row.
    pub key: StockKey,
    /// The signed change, never 0.
    pub delta: Qty,
    /// Why.
    pub kind: MovementKind,
    /// Which event caused it.
    pub event_id: Option<EventId>,
}

/// What an answer tells of an order: the word in `reservation.<what>.<channel>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// Stock is held, or still held.
    Held,
    /// Nothing could be held.
    Rejected,
    /// Stock is the customer's.
    Confirmed,
    /// Given back, in whole or in part.
    Released,
    /// The hold ended.
    Expired,
    /// Left the shelf, in whole or in part.
    Shipped,
    /// Came back, in whole or in part.
    Returned,
}

impl What {
    /// The word in the subject.
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Rejected => "rejected",
            Self::Confirmed => "confirmed",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Shipped => "shipped",
            Self::Returned => "returned",
        }
    }
}

/// Why an order is rejected, the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rejection {
    /// A SKU without a stock row anywhere.
    UnknownSku,
    /// A warehouse that is not known.
    UnknownWarehouse,
    /// A resource that is not known.
    UnknownResource,
    /// New orders are not taken at present.
    NotAccepting,
    /// A line that no single warehouse can serve.
    InsufficientStock,
    /// A slot that somebody else has, or a part of it.
    SlotTaken,
}

impl Rejection {
    const ALL: [Self; 6] = [
        Self::UnknownSku,
        Self::UnknownWarehouse,
        Self::UnknownResource,
        Self::NotAccepting,
        Self::InsufficientStock,
        Self::SlotTaken,
    ];

    /// The word in messages and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::UnknownSku => "unknown_sku",
            Self::UnknownWarehouse => "unknown_warehouse",
            Self::UnknownResource => "unknown_resource",
            Self::NotAccepting => "not_accepting",
            Self::InsufficientStock => "insufficient_stock",
            Self::SlotTaken => "slot_taken",
        }
    }

    /// The rejection of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rejection| rejection.word() == word)
    }
}

/// Why an answer is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerReason {
    /// The order was rejected, or a renewal refused, for this.
    Rejected(Rejection),
    /// Somebody cancelled.
    Cancelled,
    /// The hold ended unpaid.
    HoldEnded,
    /// The payment failed.
    PaymentFailed,
    /// The payment came after the hold, and the order was had again.
    HadAgain,
}

impl AnswerReason {
    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rejected(rejection) => rejection.word(),
            Self::Cancelled => "cancelled",
            Self::HoldEnded => "hold_ended",
            Self::PaymentFailed => "payment_failed",
            Self::HadAgain => "had_again",
        }
    }
}

/// One line of an order, as it stood when the answer was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineView {
    /// What.
    pub sku: Sku,
    /// Where.
    pub warehouse: Warehouse,
    /// Units, less what was cancelled in part.
    pub qty: Qty,
    /// Units that left the shelf.
    pub shipped_qty: Qty,
    /// Units that came back.
    pub returned_qty: Qty,
    /// What became of it.
    pub state: ReservationState,
}

/// One slot of an order, as it stood when the answer was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotView {
    /// Of what, from when to when.
    pub slot: AskedSlot,
    /// What became of it.
    pub state: ReservationState,
}

/// What was missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortage {
    /// Units: what was asked, and the most that a single warehouse had.
    Units {
        /// What.
        sku: Sku,
        /// How many were asked for.
        requested: Qty,
        /// The most that one warehouse could give.
        available: Qty,
    },
    /// A slot.
    Slot(AskedSlot),
}

/// What became of an order, for the world and for whoever asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which order.
    pub order: OrderKey,
    /// What happened.
    pub what: What,
    /// The event it answers; none for a timer.
    pub in_reply_to: Option<EventId>,
    /// Whether nothing was changed by what it answers.
    pub duplicate: bool,
    /// All lines of the order, as they are now.
    pub lines: Vec<LineView>,
    /// All slots of the order, as they are now.
    pub slots: Vec<SlotView>,
    /// When the hold ends; only of a held order.
    pub expires_at: Option<Timestamp>,
    /// Why.
    pub reason: Option<AnswerReason>,
    /// What was missing.
    pub shortages: Vec<Shortage>,
    /// The command it answers, whose trace it carries on; none for a timer.
    pub cause: Option<usize>,
}

/// What a person must look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewKind {
    /// Sold elsewhere already, and it cannot be held.
    Oversold,
    /// Paid elsewhere, and cancelled here.
    RefundElsewhere,
    /// A payment that does not agree with what is known of it or of its order.
    PaymentMismatch,
    /// A refund that nothing here required.
    RefundUnasked,
    /// A count below what is reserved.
    CountBelowReserved,
    /// A write-off of more than is free.
    WrittenOffBelowReserved,
    /// A transfer of more than is free.
    TransferredBelowReserved,
    /// A message that waited too long for its order.
    WaitedTooLong,
    /// Units left a shelf for an order that held none of them.
    ShippedWithoutHold,
    /// Units left another warehouse than the one where they are reserved, and it has none free.
    ShippedElsewhere,
    /// A channel refuses what it is told of a point.
    PushRejected,
    /// A channel takes what it is told of a point, and does not show it.
    PushUnapplied,
    /// A channel and what is known of it here do not fit.
    ChannelCheck,
    /// An invariant does not hold.
    Audit,
}

impl ReviewKind {
    /// The word in messages and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Oversold => "oversold",
            Self::RefundElsewhere => "refund_elsewhere",
            Self::PaymentMismatch => "payment_mismatch",
            Self::RefundUnasked => "refund_unasked",
            Self::CountBelowReserved => "count_below_reserved",
            Self::WrittenOffBelowReserved => "written_off_below_reserved",
            Self::TransferredBelowReserved => "transferred_below_reserved",
            Self::WaitedTooLong => "waited_too_long",
            Self::ShippedWithoutHold => "shipped_without_hold",
            Self::ShippedElsewhere => "shipped_elsewhere",
            Self::PushRejected => "push_rejected",
            Self::PushUnapplied => "push_unapplied",
            Self::ChannelCheck => "channel_check",
            Self::Audit => "audit",
        }
    }
}

/// What a review is about; one review is open per kind and subject at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewSubject {
    /// An order.
    Order(OrderKey),
    /// A payment, with the order it was reported for.
    Payment(PaymentKey, OrderKey),
    /// A message, kept until a person has made room: its subject, its event id, and the rows that are short.
    Message {
        /// The full subject.
        subject: Arc<str>,
        /// The event's id.
        event_id: EventId,
        /// The rows that are short.
        rows: Vec<StockKey>,
    },
    /// A place where an invariant does not hold.
    Finding(Box<Finding>),
    /// A point, and what was told and seen of it.
    Point(PointKey, Box<PointQuestion>),
    /// A channel, and what of it does not fit, in one word and a name.
    Channel(Channel, String),
}

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Of which kind.
    pub kind: ReviewKind,
    /// What it is about.
    pub subject: ReviewSubject,
    /// A sentence for a person.
    pub detail: String,
    /// The command that caused it.
    pub cause: usize,
}
