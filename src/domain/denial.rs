//! What an order could not have, as it stood in the instant of the decision: enough to find out later who had it.

use super::decision::Rejection;
use super::names::EventId;
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
    /// The stock rows that could have served and could not, at most [`DENIED_ROWS`] of them.
    pub rows: Vec<DeniedRow>,
}

/// Of more rows nobody reads: an order may have 500 lines, and a line as many candidates as there are warehouses.
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
