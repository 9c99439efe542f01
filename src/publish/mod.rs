//! Channels that are told stock: what they should show, what they were told, what they show.
//!
//! ```text
//! STOCK ─ hear ─▶ publish_point, stock_push ─ claim (one in flight a point) ─▶ Marketplace::push ─▶ outcome per item
//! timer ─ look ─▶ Marketplace::observe ─▶ stock_observation ─▶ confirmed | again | review
//! ```

mod adapter;
mod limits;
mod marketplace;
mod outcomes;
mod ozon;
mod transport;
mod webhook;
mod wildberries;

pub use adapter::{AdapterError, adapter};
pub use marketplace::{
    Capabilities, Card, Credentials, ExternalWarehouse, Item, Marketplace, Outcome, ReadFault, Reads,
};
