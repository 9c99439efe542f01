//! Channels that are told stock: what they should show, what they were told, what they show.
//!
//! ```text
//! STOCK ─ hear ─▶ publish_point, stock_push ─ claim (one in flight a point) ─▶ Marketplace::push ─▶ outcome per item
//! timer ─ look ─▶ Marketplace::observe ─▶ stock_observation ─▶ confirmed | again | review
//! ```
//!
//! - `hear` reads `STOCK`, `queue` makes each point's newest figures of it; both change nothing when they come twice.
//! - `desk` is a channel's worker, one copy at a time: `push` claims, sends and lands, `look` reads and judges.
//! - `unprocessed` knows whether orders of a channel are on their way.
//! - `marketplace` is what a channel is spoken to through; `adapter` makes one of settings: `ozon`, `wildberries`, `webhook`, each over
//!   `transport`, within `limits`.

mod adapter;
mod check;
mod checked;
mod desk;
mod hear;
mod limits;
mod look;
mod marketplace;
mod outcomes;
mod ozon;
mod proposal;
mod push;
mod queue;
mod transport;
mod unprocessed;
mod webhook;
mod wildberries;

pub use adapter::{AdapterError, adapter};
pub use check::{CheckFinding, Maps, Question, check};
pub use desk::{Desk, Ground, run as run_desk};
pub use hear::{Ear, run as run_ear};
pub use look::{LookFault, Tally};
pub use marketplace::{
    Capabilities, Card, Credentials, ExternalWarehouse, Item, Marketplace, Outcome, ReadFault, Reads,
};
pub use proposal::{Proposal, candidates, propose};
pub(crate) use transport::install_cryptography;
