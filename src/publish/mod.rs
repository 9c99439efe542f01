//! Channels that are told stock: what they should show, what they were told, what they show.
//!
//! ```text
//! STOCK ─ hear ─▶ publish_point, stock_push ─ claim (one in flight a point) ─▶ Marketplace::push ─▶ outcome per item
//! timer ─ look ─▶ Marketplace::observe ─▶ stock_observation ─▶ confirmed | again | review
//! ```

mod check;
mod marketplace;
mod proposal;

pub use check::{CheckFinding, Maps, Question, check};
pub use marketplace::{
    Capabilities, Card, Credentials, ExternalWarehouse, Item, Marketplace, Outcome, ReadFault, Reads,
};
pub use proposal::{Proposal, candidates, propose};
