//! What leaves shelves for orders, and what comes back.

use super::Qty;
use super::command::{Digest, MovedLine};
use super::decision::LineId;
use super::names::{EventId, Sku, Text, Warehouse};
use super::order::OrderKey;

/// Which shipment: a business key. The same content under a new event id changes nothing, other content is a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShipmentKey {
    /// For which order.
    pub order: OrderKey,
    /// Its name at the warehouse.
    pub shipment_ref: Text,
    /// The warehouse whose shelf it left.
    pub warehouse: Warehouse,
}

/// Units that left a shelf for an order.
#[derive(Debug, Clone)]
pub struct Shipment {
    /// Which one.
    pub key: ShipmentKey,
    /// Digest of its lines.
    pub digest: Digest,
    /// What, one line a SKU.
    pub lines: Vec<MovedLine>,
}

/// Units that came back to a warehouse.
#[derive(Debug, Clone)]
pub struct Return {
    /// Of which order.
    pub order: OrderKey,
    /// To which warehouse, whether or not it sent them.
    pub warehouse: Warehouse,
    /// What, one line a SKU and condition.
    pub lines: Vec<ReturnedLine>,
}

/// Units of one SKU that came back in one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedLine {
    /// What.
    pub sku: Sku,
    /// How many, 1 to 1,000,000.
    pub qty: Qty,
    /// As what.
    pub condition: Condition,
}

/// How units are that came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// They go back on the shelf.
    Resellable,
    /// They came back, and lie on no shelf.
    Damaged,
}

impl Condition {
    /// The condition of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Resellable, Self::Damaged].into_iter().find(|condition| condition.word() == word)
    }

    /// The word in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Resellable => "resellable",
            Self::Damaged => "damaged",
        }
    }
}

/// A shipment that is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiledShipment {
    /// Which one.
    pub key: ShipmentKey,
    /// Digest of its lines.
    pub digest: Digest,
    /// The event that brought it.
    pub event_id: EventId,
}

/// What happened to units of a reservation outside the warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParcelKind {
    /// They left a shelf.
    Shipped,
    /// They are back on a shelf.
    Returned,
    /// They came back and lie on no shelf.
    Damaged,
}

impl ParcelKind {
    /// The word in the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Returned => "returned",
            Self::Damaged => "damaged",
        }
    }
}

/// Units of a reservation that left a shelf, or came back: a row of the parcels' journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParcelLine {
    /// Of which reservation.
    pub line: LineId,
    /// What.
    pub sku: Sku,
    /// Which warehouse they left or came back to; not always the one where they are reserved.
    pub warehouse: Warehouse,
    /// What happened.
    pub kind: ParcelKind,
    /// How many, at least 1.
    pub qty: Qty,
    /// By which event.
    pub event_id: EventId,
}
