//! What may be asked.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::money::Money;
use super::names::{EventId, Resource, Sku, Text, Warehouse};
use super::order::{OrderKey, PaymentMode};
use super::payment::PaymentReport;
use super::shipment::{Return, Shipment};
use super::{Qty, Timestamp};

/// An event's identity: unique per full subject.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventKey {
    /// The full subject it came on, without any prefix.
    pub subject: Arc<str>,
    /// Its id there.
    pub id: EventId,
}

/// One thing asked, by an event or by the clock.
#[derive(Debug, Clone)]
pub struct Command {
    /// The event that asks; none for a timer.
    pub event: Option<EventKey>,
    /// What it asks.
    pub kind: Kind,
}

/// The kinds of commands.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Hold stock for an order, all lines or none.
    Create(CreateOrder),
    /// Prolong the hold; if it ended, have every line again or none.
    Renew(RenewOrder),
    /// Give back all lines, or the named ones.
    Cancel(CancelOrder),
    /// A gateway says what became of a payment.
    Payment(PaymentReport),
    /// Units came in.
    Receive(Receipt),
    /// Units are gone.
    WriteOff(WriteOff),
    /// A stock-take: this is what lies there.
    Count(Count),
    /// Units move to another warehouse.
    Transfer(Transfer),
    /// Units left a shelf for an order.
    Ship(Shipment),
    /// Units of an order came back.
    Return(Return),
    /// This order's hold may have ended.
    Expire(OrderKey),
    /// Something waits for this order, which exists.
    Wake(OrderKey),
}

impl Kind {
    /// The order it is about, if it is about one.
    pub fn order(&self) -> Option<&OrderKey> {
        match self {
            Self::Create(create) => Some(&create.order),
            Self::Renew(renew) => Some(&renew.order),
            Self::Cancel(cancel) => Some(&cancel.order),
            Self::Ship(shipment) => Some(&shipment.key.order),
            Self::Return(returned) => Some(&returned.order),
            Self::Payment(report) => Some(&report.order),
            Self::Expire(order) | Self::Wake(order) => Some(order),
            Self::Receive(_) | Self::WriteOff(_) | Self::Count(_) | Self::Transfer(_) => None,
        }
    }
}

/// Digest of the content by which a repeat is told from a conflict: the first half of a SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

/// A new order.
#[derive(Debug, Clone)]
pub struct CreateOrder {
    /// Which order.
    pub order: OrderKey,
    /// How it is paid.
    pub payment: PaymentMode,
    /// What it costs.
    pub total: Option<Money>,
    /// For how long to hold, in seconds, before clamping.
    pub hold_for_s: Option<u64>,
    /// Counted lines, one a SKU, in the order's own sequence.
    pub lines: Vec<AskedLine>,
    /// Slots.
    pub slots: Vec<AskedSlot>,
    /// Digest of payment, total, lines with the warehouses they name, and slots.
    pub digest: Digest,
}

/// Units of one SKU that an order asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedLine {
    /// What.
    pub sku: Sku,
    /// How many, after summing.
    pub qty: Qty,
    /// From where, if the order says so.
    pub warehouse: Option<Warehouse>,
}

/// A half-open period `[from, to)` of a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskedSlot {
    /// Of what.
    pub resource: Resource,
    /// Its beginning, included.
    pub from: Timestamp,
    /// Its end, excluded.
    pub to: Timestamp,
}

/// The shopper is back.
#[derive(Debug, Clone)]
pub struct RenewOrder {
    /// Which order.
    pub order: OrderKey,
    /// For how long to hold, in seconds, before clamping.
    pub hold_for_s: Option<u64>,
}

/// Somebody gives units back.
#[derive(Debug, Clone)]
pub struct CancelOrder {
    /// Which order.
    pub order: OrderKey,
    /// The canceller's words.
    pub reason: Option<Arc<str>>,
    /// Which lines; none means the whole order.
    pub lines: Option<Vec<CancelLine>>,
}

/// What a partial cancel names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelLine {
    /// Units of a SKU, after summing.
    Units(Sku, Qty),
    /// A whole slot.
    Slot(AskedSlot),
}

/// Units of one SKU that move, after summing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedLine {
    /// What.
    pub sku: Sku,
    /// How many, 1 to 1,000,000.
    pub qty: Qty,
}

/// A document that is a business key: the same content under a new event id changes nothing, other content is a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentKey {
    /// The document, unique per full subject.
    pub document_ref: Text,
    /// Digest of the lines.
    pub digest: Digest,
}

/// Units that came in.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// Where.
    pub warehouse: Warehouse,
    /// By which document.
    pub document: Option<DocumentKey>,
    /// What.
    pub lines: Vec<MovedLine>,
}

/// Units that are gone.
#[derive(Debug, Clone)]
pub struct WriteOff {
    /// From where.
    pub warehouse: Warehouse,
    /// By which document.
    pub document: Option<DocumentKey>,
    /// What.
    pub lines: Vec<MovedLine>,
}

/// What lies on a shelf, counted.
#[derive(Debug, Clone)]
pub struct Count {
    /// Where.
    pub warehouse: Warehouse,
    /// What.
    pub lines: Vec<CountLine>,
}

/// The figure of one SKU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountLine {
    /// What.
    pub sku: Sku,
    /// How many lie there.
    pub on_hand: Qty,
}

/// Units that move between warehouses.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// From where.
    pub warehouse: Warehouse,
    /// To where.
    pub to: Warehouse,
    /// What.
    pub lines: Vec<MovedLine>,
}

impl Digest {
    /// The digest of an order's content. Lines count sorted, so that their sequence in the message does not.
    pub fn of_order(payment: PaymentMode, total: Option<Money>, lines: &[AskedLine], slots: &[AskedSlot]) -> Self {
        let mut digest = Fields::new("order");
        digest.text(payment.word());
        match total {
            Some(money) => digest.number(money.amount).text(money.currency.as_str()),
            None => digest.absent(),
        };
        let mut lines: Vec<_> = lines.iter().collect();
        lines.sort_by(|a, b| a.sku.cmp(&b.sku));
        for line in lines {
            digest.text(line.sku.as_str()).number(line.qty);
            match &line.warehouse {
                Some(warehouse) => digest.text(warehouse.as_str()),
                None => digest.absent(),
            };
        }
        digest.text("slots");
        let mut slots: Vec<_> = slots.iter().collect();
        slots.sort();
        for slot in slots {
            digest.text(slot.resource.as_str()).instant(slot.from).instant(slot.to);
        }
        digest.finish()
    }

    /// The digest of a document's lines, whatever their sequence.
    pub fn of_moved(lines: &[MovedLine]) -> Self {
        let mut digest = Fields::new("moved");
        let mut lines: Vec<_> = lines.iter().collect();
        lines.sort_by(|a, b| a.sku.cmp(&b.sku));
        for line in lines {
            digest.text(line.sku.as_str()).number(line.qty);
        }
        digest.finish()
    }
}

/// Feeds fields to the hash so that no two sequences of fields look alike: each is tagged and of known length.
struct Fields(Sha256);

impl Fields {
    fn new(of: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.text(of);
        fields
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.update([b't']);
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
        self
    }

    fn number(&mut self, number: i64) -> &mut Self {
        self.0.update([b'n']);
        self.0.update(number.to_be_bytes());
        self
    }

    fn instant(&mut self, at: Timestamp) -> &mut Self {
        self.0.update([b'i']);
        self.0.update(at.unix_timestamp_nanos().to_be_bytes());
        self
    }

    fn absent(&mut self) -> &mut Self {
        self.0.update([b'-']);
        self
    }

    fn finish(self) -> Digest {
        let whole = self.0.finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&whole[..16]);
        Digest(half)
    }
}
