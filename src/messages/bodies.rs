//! The shapes of the bodies that are told, borrowing from what was decided. The sequence of the fields is the contract's.

use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::instant::WireTime;
use crate::domain::{AskedSlot, Finding, LineView, Money, Qty, ReviewSubject, Shortage, SlotView, Stock, StockKey};

/// The body as JSON.
pub(super) fn to_json(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("structs of texts and numbers always serialize into memory")
}

#[derive(Serialize)]
pub(super) struct StockChanged<'a> {
    pub(super) event_id: Uuid,
    #[serde(flatten)]
    pub(super) figures: Figures<'a>,
    pub(super) occurred_at: WireTime,
}

#[derive(Serialize)]
pub(super) struct StockReply<'a> {
    pub(super) in_reply_to: &'a str,
    pub(super) lines: Vec<Figures<'a>>,
}

#[derive(Serialize)]
pub(super) struct Figures<'a> {
    sku: &'a str,
    warehouse: &'a str,
    version: i64,
    on_hand: Qty,
    reserved: Qty,
    available: Qty,
}

impl<'a> Figures<'a> {
    pub(super) fn of(key: &'a StockKey, stock: &Stock) -> Self {
        Self {
            sku: key.sku.as_str(),
            warehouse: key.warehouse.as_str(),
            version: stock.version,
            on_hand: stock.on_hand,
            reserved: stock.reserved,
            available: stock.available(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct OrderAnswer<'a> {
    pub(super) event_id: Uuid,
    pub(super) channel: &'a str,
    pub(super) order_ref: &'a str,
    pub(super) in_reply_to: Option<&'a str>,
    pub(super) duplicate: bool,
    pub(super) lines: Lines<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<WireTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shortages: Option<Shortages<'a>>,
    pub(super) occurred_at: WireTime,
}

/// An order's lines, then its slots.
pub(super) struct Lines<'a>(pub(super) &'a [LineView], pub(super) &'a [SlotView]);

impl Serialize for Lines<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Line::of).chain(self.1.iter().map(Line::of_slot)))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Units { sku: &'a str, warehouse: &'a str, qty: Qty, shipped_qty: Qty, returned_qty: Qty, state: &'static str },
    Slot { resource: &'a str, from: WireTime, to: WireTime, state: &'static str },
}

impl<'a> Line<'a> {
    fn of(line: &'a LineView) -> Self {
        Self::Units {
            sku: line.sku.as_str(),
            warehouse: line.warehouse.as_str(),
            qty: line.qty,
            shipped_qty: line.shipped_qty,
            returned_qty: line.returned_qty,
            state: line.state.word(),
        }
    }

    fn of_slot(SlotView { slot, state }: &'a SlotView) -> Self {
        let (from, to) = (WireTime(slot.from), WireTime(slot.to));
        Self::Slot { resource: slot.resource.as_str(), from, to, state: state.word() }
    }
}

/// What was missing.
pub(super) struct Shortages<'a>(pub(super) &'a [Shortage]);

impl Serialize for Shortages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Missing::of))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Missing<'a> {
    Units { sku: &'a str, requested: Qty, available: Qty },
    Slot { resource: &'a str, from: WireTime, to: WireTime },
}

impl<'a> Missing<'a> {
    fn of(shortage: &'a Shortage) -> Self {
        match shortage {
            Shortage::Units { sku, requested, available } => {
                Self::Units { sku: sku.as_str(), requested: *requested, available: *available }
            }
            Shortage::Slot(AskedSlot { resource, from, to }) => {
                Self::Slot { resource: resource.as_str(), from: WireTime(*from), to: WireTime(*to) }
            }
        }
    }
}

#[derive(Serialize)]
pub(super) struct RefundBody<'a> {
    pub(super) event_id: Uuid,
    pub(super) channel: &'a str,
    pub(super) order_ref: &'a str,
    pub(super) payment_id: &'a str,
    pub(super) amount: Option<Amount<'a>>,
    pub(super) lines: Lines<'a>,
    pub(super) reason: &'static str,
    pub(super) occurred_at: WireTime,
}

/// An amount of money.
#[derive(Serialize)]
pub(super) struct Amount<'a> {
    amount: i64,
    currency: &'a str,
}

impl<'a> Amount<'a> {
    pub(super) fn of(money: &'a Money) -> Self {
        Self { amount: money.amount, currency: money.currency.as_str() }
    }
}

#[derive(Serialize)]
pub(super) struct ReviewOpened<'a> {
    pub(super) event_id: Uuid,
    pub(super) review_id: i64,
    pub(super) kind: &'static str,
    pub(super) subject: About<'a>,
    pub(super) detail: &'a str,
    pub(super) occurred_at: WireTime,
}

/// What a review is about.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum About<'a> {
    Order {
        channel: &'a str,
        order_ref: &'a str,
    },
    Payment {
        provider: &'a str,
        payment_id: &'a str,
        channel: &'a str,
        order_ref: &'a str,
    },
    Message {
        subject: &'a str,
        event_id: &'a str,
        rows: Vec<Row<'a>>,
    },
    Finding(FindingBody<'a>),
    Point {
        sku: &'a str,
        channel: &'a str,
        warehouse: &'a str,
        version: i64,
        desired_qty: Qty,
        observed_qty: Option<Qty>,
    },
    Channel {
        channel: &'a str,
        what: &'a str,
    },
}

impl<'a> About<'a> {
    pub(super) fn of(subject: &'a ReviewSubject) -> Self {
        match subject {
            ReviewSubject::Order(order) => {
                Self::Order { channel: order.channel.as_str(), order_ref: order.order_ref.as_str() }
            }
            ReviewSubject::Payment(payment, order) => Self::Payment {
                provider: payment.provider.as_str(),
                payment_id: payment.payment_id.as_str(),
                channel: order.channel.as_str(),
                order_ref: order.order_ref.as_str(),
            },
            ReviewSubject::Message { subject, event_id, rows } => {
                Self::Message { subject, event_id: event_id.as_str(), rows: rows.iter().map(Row::of).collect() }
            }
            ReviewSubject::Finding(finding) => Self::Finding(FindingBody::of(finding)),
            ReviewSubject::Point(point, question) => Self::Point {
                sku: point.sku.as_str(),
                channel: point.channel.as_str(),
                warehouse: point.warehouse.as_str(),
                version: question.version,
                desired_qty: question.desired_qty,
                observed_qty: question.observed_qty,
            },
            ReviewSubject::Channel(channel, what) => Self::Channel { channel: channel.as_str(), what },
        }
    }
}

/// What an audit found, the fields that name its place only where they do.
#[derive(Serialize)]
pub(super) struct FindingBody<'a> {
    invariant: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_ref: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reservation_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot_hold_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sku: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warehouse: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<&'a str>,
    expected: &'a str,
    found: &'a str,
}

impl<'a> FindingBody<'a> {
    pub(super) fn of(finding: &'a Finding) -> Self {
        let place = &finding.place;
        Self {
            invariant: finding.invariant,
            channel: place.channel.as_deref(),
            order_ref: place.order_ref.as_deref(),
            provider: place.provider.as_deref(),
            payment_id: place.payment_id.as_deref(),
            reservation_id: place.reservation_id,
            step_id: place.step_id,
            slot_hold_id: place.slot_hold_id,
            resource: place.resource.as_deref(),
            sku: place.sku.as_deref(),
            warehouse: place.warehouse.as_deref(),
            stream: place.stream.as_deref(),
            sequence: place.sequence,
            subject: place.subject.as_deref(),
            event_id: place.event_id.as_deref(),
            expected: &finding.expected,
            found: &finding.found,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Row<'a> {
    sku: &'a str,
    warehouse: &'a str,
}

impl<'a> Row<'a> {
    fn of(key: &'a StockKey) -> Self {
        Self { sku: key.sku.as_str(), warehouse: key.warehouse.as_str() }
    }
}

#[derive(Serialize)]
pub(super) struct ErrorReply<'a> {
    pub(super) error: Fault<'a>,
}

#[derive(Serialize)]
pub(super) struct Fault<'a> {
    pub(super) code: &'static str,
    pub(super) message: &'a str,
}
