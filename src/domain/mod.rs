//! What is decided, and nothing else: no I/O, no clock, no randomness (the crate's clippy.toml forbids them).
//!
//! A [`Command`] asks. A [`Snapshot`] is the locked state that the asking touches, with the instant at which it is judged. [`decide`] turns
//! both into a [`Decision`]: the whole write-set and one [`Outcome`] per command. Nothing here knows of messages, SQL or subjects.

mod command;

mod decide;
mod decision;
mod denial;
mod finding;
mod money;
mod names;
mod order;
mod payment;
mod point;
mod refusal;
mod repair;
mod shipment;
mod slot;
mod snapshot;
mod step;
mod stock;

pub use command::{
    AskedLine, AskedSlot, CancelLine, CancelOrder, Command, Count, CountLine, CreateOrder, Digest, DocumentKey,
    EventKey, Kind, MovedLine, Receipt, RenewOrder, Transfer, WriteOff,
};

pub use decide::{Batch, decide};
pub use decision::{
    Answer, AnswerReason, Decision, FiledDocument, JournalEntry, LineId, LineView, Movement, MovementKind,
    NewReservation, NewSlot, OrderChange, Outcome, Rejection, ReservationChange, Review, ReviewKind, ReviewSubject,
    Shortage, SlotChange, SlotStep, SlotView, StockChange, What,
};
pub use denial::{DENIED_ROWS, Denial, Denied, DeniedRow, DeniedSlot};
pub use finding::{Finding, Place};
pub use money::{Currency, Money};
pub use names::{Channel, EventId, NameFault, OrderRef, Provider, Resource, Sku, Text, Warehouse};
pub use order::{Order, OrderKey, OrderRow, OrderState, PaymentMode, Reservation, ReservationState};
pub use payment::{
    NewReport, Payment, PaymentChange, PaymentKey, PaymentReport, PaymentState, RefundReason, RefundRequired, Reported,
    Settlement,
};
pub use point::{
    Address, Flight, Landed, Landing, Lease, Looked, MAX_HEALS, News, Point, PointKey, PointQuestion, PushState,
    Rhythm, Seen, Silence, Told, Verdict,
};
pub use refusal::{Reason, Refusal};
pub use repair::{Entry, EntryKind, Figure, Remedy, Repaired, RowFacts, by_hand, remedy};
pub use shipment::{Condition, FiledShipment, ParcelKind, ParcelLine, Return, ReturnedLine, Shipment, ShipmentKey};
pub use slot::{SlotHold, SlotTable, Taken};
pub use snapshot::{HoldBounds, Known, PaymentPolicy, Policy, Snapshot};
pub use step::{Reserved, STEPS, Step, slot_steps};
pub use stock::{Stock, StockKey, StockTable};

/// An instant of the database's clock, to the microsecond.
pub type Timestamp = time::OffsetDateTime;

/// Units of one SKU. Bounded by the messages (1 to 1,000,000 a line) and by `on_hand`.
pub type Qty = i64;
