//! The statements: free functions over a connection, one use case each, the `.sql` beside the `.rs` that runs it.
//!
//! Every statement works on whole batches, arrays through `unnest`, so that their number does not depend on a batch's size. Nothing here
//! decides. Every change counts the rows it changed ([`Conflict`]): the condition is in the write, and a decision that does not fit the table
//! rolls the whole batch back.

pub mod audit;
pub mod broker;
pub mod channel_maps;
pub mod channel_switch;
pub mod channels;
pub mod clock;
pub mod compared;
pub mod dead_letters;
mod denials;
pub mod doubts;
pub mod due;
pub mod explain;
pub mod exported;
pub mod fault;
pub mod generations;
pub mod horizon;
pub mod imported;
pub mod inbox;
pub mod item_map;
pub mod journal;
pub mod known;
pub mod locks;
pub mod message;
pub mod migrate;
pub mod newest;
pub mod observed;
pub mod orders;
pub mod outbox;
pub mod payments;
pub mod point_story;
pub mod points;
pub mod pool;
pub mod pushes;
pub mod query;
pub mod repair;
pub mod replays;
pub mod reports;
pub mod reservations;
pub mod resources;
pub mod review_answers;
pub mod reviews;
pub mod routes;
pub mod shipments;
pub mod slots;
pub mod stock;
pub mod turn;
pub mod waiting;
pub mod warehouse_map;

pub use fault::{Fault, StoreError};
pub use pool::{Pool, connect, reach};

use sqlx::postgres::PgQueryResult;

/// A write that found the table other than it was decided on.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {changed} rows were changed where {expected} had to be")]
pub struct Conflict {
    /// Which write.
    what: &'static str,
    changed: u64,
    expected: u64,
}

/// How rows that somebody else has locked are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Wait for them, up to the lock timeout.
    Wait,
    /// Leave them out.
    SkipLocked,
}

impl Locking {
    /// The statement as it is, or with its lock clause skipping what is locked.
    fn apply(self, statement: &'static str) -> std::borrow::Cow<'static, str> {
        match self {
            Self::Wait => statement.into(),
            Self::SkipLocked => statement
                .replace("FOR NO KEY UPDATE OF locked_row", "FOR NO KEY UPDATE OF locked_row SKIP LOCKED")
                .into(),
        }
    }
}

/// Checks that a write changed exactly the rows it had to.
fn changed_all(what: &'static str, result: &PgQueryResult, expected: usize) -> Result<(), StoreError> {
    counted(what, result.rows_affected(), expected)
}

/// The same of a statement that counts by itself.
fn counted(what: &'static str, changed: u64, expected: usize) -> Result<(), StoreError> {
    let expected = expected as u64;
    if changed == expected { Ok(()) } else { Err(Conflict { what, changed, expected }.into()) }
}
