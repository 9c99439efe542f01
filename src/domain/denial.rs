//! What an order could not have, as it stood in the instant of the decision: enough to find out later who had it.

use super::command::AskedSlot;
use super::decision::Rejection;
use super::names::EventId;
use super::order::OrderKey;
use super::stock::{Stock, StockKey};
use super::{Qty, Timestamp};

/// Of an order that was rejected, or had asked in vain to have its lines again: the last such answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The event that was denied.
    pub event_id: EventId,
    /// When: the batch's clock, which the steps of those who were served in the same batch bear too.
    pub at: Timestamp,
    /// Why.
    pub reason: Rejection,
    /// What stood in its way.
    pub by: Denied,
}

/// What an order could not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Denied {
    /// The stock rows that could have served and could not, at most [`DENIED_ROWS`] of them.
    pub rows: Vec<DeniedRow>,
    /// Who had the slots, each with a part of one, at most [`DENIED_ROWS`] of them.
    pub slots: Vec<DeniedSlot>,
}

/// Of more rows nobody reads: an order may have 500 lines, a line as many candidates as there are warehouses, and in the way of a slot may be
/// many.
pub const DENIED_ROWS: usize = 100;

/// A stock row as it stood when it could not serve a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedRow {
    /// Which.
    pub key: StockKey,
    /// Units that the line asked for.
    pub requested: Qty,
    /// Its figures at that moment, in the middle of the batch; the version is that of before the batch.
    pub stock: Stock,
    /// How many steps of this very batch had changed `reserved` of this row by then: they bear the same instant, those after them too.
    pub steps: u32,
}

/// A slot that was another's, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedSlot {
    /// What was asked for.
    pub asked: AskedSlot,
    /// What of the same resource was in its way.
    pub taken: AskedSlot,
    /// Whose that was.
    pub order: OrderKey,
    /// How many steps of this very batch that slot had taken by then: they bear the same instant, those after them too.
    pub steps: u32,
}
