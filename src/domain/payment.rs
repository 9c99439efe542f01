//! Payments: what a gateway reports, what is known of each, and the refunds that follow.

use std::sync::Arc;

use super::decision::{LineView, SlotView};
use super::money::Money;
use super::names::{EventId, Provider, Text};
use super::order::OrderKey;

/// Which payment: ordered by provider, then id, the order in which payments are inserted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PaymentKey {
    /// The gateway.
    pub provider: Provider,
    /// The payment's name there.
    pub payment_id: Text,
}

/// How far a payment is. It only rises, in this order: a gateway may use one id for a failed try and the success after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaymentState {
    /// Money is on its way.
    Started,
    /// It did not come.
    Failed,
    /// It was taken.
    Succeeded,
    /// It was given back whole.
    Refunded,
}

impl PaymentState {
    const ALL: [Self; 4] = [Self::Started, Self::Failed, Self::Succeeded, Self::Refunded];

    /// The word in subjects and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Failed => "failed",
            Self::Succeeded => "succeeded",
            Self::Refunded => "refunded",
        }
    }

    /// The state of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

/// What a gateway says of a payment.
#[derive(Debug, Clone)]
pub struct PaymentReport {
    /// Which payment.
    pub key: PaymentKey,
    /// For which order.
    pub order: OrderKey,
    /// What became of it.
    pub says: PaymentState,
    /// How much was paid, or given back.
    pub amount: Option<Money>,
    /// The gateway's words.
    pub reason: Option<Arc<str>>,
}

/// What was said of a payment before: the first report of each state, and every refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// What became of it.
    pub says: PaymentState,
    /// By which event.
    pub event_id: EventId,
    /// How much.
    pub amount: Option<Money>,
}

/// What is known of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Which.
    pub key: PaymentKey,
    /// For which order, for ever.
    pub order: OrderKey,
    /// How far it is.
    pub state: PaymentState,
    /// How much it is, if the gateway said so.
    pub amount: Option<Money>,
    /// What its refunds add up to, in minor units of its currency.
    pub refunded: i64,
    /// Whether the order is paid by it.
    pub pays: bool,
    /// What was said of it before.
    pub reports: Vec<Reported>,
    /// Why refunds of it were required.
    pub required: Vec<RefundReason>,
}

impl Payment {
    /// Whether it may still pay, or does: started or succeeded.
    pub fn lives(&self) -> bool {
        matches!(self.state, PaymentState::Started | PaymentState::Succeeded)
    }

    /// What is left of it after its refunds; none where its amount is not known.
    pub fn left(&self) -> Option<Money> {
        self.amount.map(|amount| Money { amount: (amount.amount - self.refunded).max(0), ..amount })
    }

    /// Whether all of it has been asked back.
    pub fn is_asked_back(&self) -> bool {
        self.required.iter().any(|reason| *reason != RefundReason::PartiallyCancelled)
    }
}

/// Why money is to be given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefundReason {
    /// It came after the hold, and the order cannot be had again.
    ExpiredAndSoldOut,
    /// The order was cancelled.
    Cancelled,
    /// A part of the order was cancelled.
    PartiallyCancelled,
    /// The order was never held.
    OrderRejected,
    /// Another payment had paid.
    AlreadyPaid,
}

impl RefundReason {
    const ALL: [Self; 5] =
        [Self::ExpiredAndSoldOut, Self::Cancelled, Self::PartiallyCancelled, Self::OrderRejected, Self::AlreadyPaid];

    /// The word in messages and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::ExpiredAndSoldOut => "expired_and_sold_out",
            Self::Cancelled => "cancelled",
            Self::PartiallyCancelled => "partially_cancelled",
            Self::OrderRejected => "order_rejected",
            Self::AlreadyPaid => "already_paid",
        }
    }

    /// The reason of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.word() == word)
    }
}

/// Money that is to be given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundRequired {
    /// Of which payment.
    pub key: PaymentKey,
    /// Of which order.
    pub order: OrderKey,
    /// Why.
    pub reason: RefundReason,
    /// How much; none where it cannot be known.
    pub amount: Option<Money>,
    /// After a partial cancel the units given back; else all lines of the order, as they are now.
    pub lines: Vec<LineView>,
    /// The slots likewise.
    pub slots: Vec<SlotView>,
    /// The event that caused it.
    pub event_id: EventId,
    /// The command that caused it.
    pub cause: usize,
    /// Whether it was refunded in the same batch.
    pub settled: bool,
}

/// New columns of a payment's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentChange {
    /// State and refunds that must stand in the table before; none where there must be no row.
    pub before: Option<(PaymentState, i64)>,
    /// Its columns from now on.
    pub after: Payment,
}

/// A report that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReport {
    /// Of which payment.
    pub key: PaymentKey,
    /// What was said.
    pub reported: Reported,
    /// The gateway's words.
    pub reason: Option<Arc<str>>,
}

/// Required refunds that a refund settles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Of which payment.
    pub key: PaymentKey,
    /// Whether all of them, or only those of partial cancels.
    pub whole: bool,
}
