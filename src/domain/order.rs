//! An order, its reservations, and their states.

use super::command::{CreateOrder, Digest};
use super::decision::{LineId, Rejection};
use super::money::Money;
use super::names::{Channel, EventId, OrderRef, Sku, Warehouse};
use super::slot::SlotHold;
use super::snapshot::HoldBounds;
use super::{Qty, Timestamp};

/// Which order: ordered by channel, then reference, the order in which orders are locked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderKey {
    /// The channel it came through.
    pub channel: Channel,
    /// Its name there.
    pub order_ref: OrderRef,
}

/// How an order is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentMode {
    /// Held until paid.
    Online,
    /// Paid elsewhere already: confirmed at once.
    Prepaid,
    /// Paid at the door: confirmed at once.
    OnDelivery,
}

impl PaymentMode {
    /// The word in messages and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Prepaid => "prepaid",
            Self::OnDelivery => "on_delivery",
        }
    }

    /// The mode of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Online, Self::Prepaid, Self::OnDelivery].into_iter().find(|mode| mode.word() == word)
    }
}

/// What became of an order as a whole: the first of held, confirmed, shipped, expired, released that any line or slot has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderState {
    /// Something came before it; the order itself has not.
    Awaited,
    /// Decided, and nothing was held.
    Rejected,
    /// Stock is held until `expires_at`.
    Held,
    /// Stock is the customer's.
    Confirmed,
    /// Left the shelf.
    Shipped,
    /// Given back.
    Released,
    /// The hold ended unpaid.
    Expired,
}

impl OrderState {
    const ALL: [Self; 7] =
        [Self::Awaited, Self::Rejected, Self::Held, Self::Confirmed, Self::Shipped, Self::Released, Self::Expired];

    /// The word in messages and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Awaited => "awaited",
            Self::Rejected => "rejected",
            Self::Held => "held",
            Self::Confirmed => "confirmed",
            Self::Shipped => "shipped",
            Self::Released => "released",
            Self::Expired => "expired",
        }
    }

    /// The state of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// What became of one line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReservationState {
    /// Held until the order's `expires_at`.
    Held,
    /// The customer's.
    Confirmed,
    /// Given back.
    Released,
    /// The hold ended unpaid.
    Expired,
    /// Nothing is outstanding and something left the shelf.
    Shipped,
}

impl ReservationState {
    const ALL: [Self; 5] = [Self::Held, Self::Confirmed, Self::Released, Self::Expired, Self::Shipped];

    /// The word in messages and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Confirmed => "confirmed",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Shipped => "shipped",
        }
    }

    /// The state of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether units in this state are counted in `reserved`.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Held | Self::Confirmed)
    }
}

/// One line of an order: units of one SKU in one warehouse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Its row.
    pub id: LineId,
    /// What.
    pub sku: Sku,
    /// Where it is held.
    pub warehouse: Warehouse,
    /// Whether the order named that warehouse; then no other is ever chosen.
    pub named: bool,
    /// Units, less what was cancelled in part.
    pub qty: Qty,
    /// Units that left the shelf.
    pub shipped_qty: Qty,
    /// Units that came back.
    pub returned_qty: Qty,
    /// What became of it.
    pub state: ReservationState,
    /// Whether it was cancelled: a cancelled line is never had again.
    pub cancelled: bool,
}

impl Reservation {
    /// Whether it ended without anybody's cancelling it: then it may be had again.
    pub fn can_be_had_again(&self) -> bool {
        !self.cancelled && matches!(self.state, ReservationState::Expired | ReservationState::Released)
    }

    /// Units that are held or confirmed and have not shipped.
    pub fn outstanding(&self) -> Qty {
        if self.state.is_live() { self.qty - self.shipped_qty } else { 0 }
    }
}

/// An order's own columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRow {
    /// What became of it.
    pub state: OrderState,
    /// The event that created it; none while it is awaited.
    pub event_id: Option<EventId>,
    /// How it is paid.
    pub payment: PaymentMode,
    /// What it costs, if the checkout said so.
    pub total: Option<Money>,
    /// Digest of the content that was accepted.
    pub digest: Option<Digest>,
    /// Why it was rejected.
    pub rejection: Option<Rejection>,
    /// When it was claimed.
    pub created_at: Timestamp,
    /// Since when stock is held; starts anew when an order is had again.
    pub held_since: Option<Timestamp>,
    /// When the hold ends; the instant itself counts as ended.
    pub expires_at: Option<Timestamp>,
}

impl OrderRow {
    /// The row of an order for which stock was found: held from `at` on or, where nobody has to pay first, confirmed.
    pub fn success(create: &CreateOrder, event_id: EventId, hold: HoldBounds, at: Timestamp) -> Self {
        let online = create.payment == PaymentMode::Online;
        Self {
            state: if online { OrderState::Held } else { OrderState::Confirmed },
            event_id: Some(event_id),
            payment: create.payment,
            total: create.total,
            digest: Some(create.digest),
            rejection: None,
            created_at: at,
            held_since: online.then_some(at),
            expires_at: online.then(|| at + hold.clamp(create.hold_for_s)),
        }
    }

    /// Whether the hold has ended: the instant itself counts as ended.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.state == OrderState::Held && self.expires_at.is_some_and(|end| end <= now)
    }

    /// The row of an order that something else came before.
    pub fn awaited(created_at: Timestamp) -> Self {
        Self {
            state: OrderState::Awaited,
            event_id: None,
            payment: PaymentMode::Online,
            total: None,
            digest: None,
            rejection: None,
            created_at,
            held_since: None,
            expires_at: None,
        }
    }
}

/// An order as it is locked.
#[derive(Debug, Clone)]
pub struct Order {
    /// Its columns as the transaction would leave them if nothing were decided. For an order that the transaction itself claimed these are
    /// the provisional ones of success, and `born` is false.
    pub stored: OrderRow,
    /// Whether the order itself has been decided before.
    pub born: bool,
    /// Its lines, in order of their rows.
    pub lines: Vec<Reservation>,
    /// Its slots, in order of their rows.
    pub slots: Vec<SlotHold>,
}

impl Order {
    /// Of its lines' and slots' states the first that stands here makes the order's.
    pub const PRECEDENCE: [(ReservationState, OrderState); 5] = [
        (ReservationState::Held, OrderState::Held),
        (ReservationState::Confirmed, OrderState::Confirmed),
        (ReservationState::Shipped, OrderState::Shipped),
        (ReservationState::Expired, OrderState::Expired),
        (ReservationState::Released, OrderState::Released),
    ];

    /// The order's state as its lines and slots have it.
    pub fn state_of(lines: &[Reservation], slots: &[SlotHold]) -> OrderState {
        let states = || lines.iter().map(|line| line.state).chain(slots.iter().map(|slot| slot.state));
        Self::PRECEDENCE
            .into_iter()
            .find(|(line, _)| states().any(|state| state == *line))
            .map_or(OrderState::Rejected, |(_, order)| order)
    }
}
