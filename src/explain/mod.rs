//! Why: the story of an order, the figures of a shelf at a moment, and what a channel shows at a point.
//!
//! Each source of an order's story is a file of its own, and adds [`Event`]s to it:
//!
//! - `books`: the order's row, its lines, and every step of them.
//! - `slots`: its slots, and every step of them.
//! - `money`: what gateways said of its payments, and what was required back.
//! - `parcels`: what left shelves for it, and what came back.
//! - `denial`: what it could not have, and who had it, slots by `denied_slots`. Its text is an answer that a person can be sent.
//! - `told`: what the world was told, out of the outbox.
//! - `kept`: what waits, what could not be processed, what a person was asked.
//! - `inbound`: the messages themselves, as far as the streams still hold them.
//! - `shelf`: a stock row at a moment. No part of an order's story.
//! - `point`: what a channel should show, was told and shows. No part of one either.
//!
//! All tables are read in one snapshot. Nothing is locked, and nothing written.

mod books;
mod denial;
mod denied_slots;
mod inbound;
mod kept;
mod money;
mod parcels;
mod point;
mod shelf;
mod slots;
mod story;
mod told;

pub use denial::{Holder, Refused, RefusedRow};
pub use denied_slots::{RefusedSlot, SlotHolder};
pub use point::{ChannelFacts, PointStory, Why, point};
pub use shelf::{Shelf, shelf};
pub use story::{Event, Source, Story};

use sqlx::PgConnection;

use crate::audit::Broker;
use crate::domain::OrderKey;
use crate::store::{StoreError, audit};

/// Tells the story of an order. Without a broker the messages that came are not part of it, and the story says so.
///
/// # Errors
/// The database's own, and what is stored there and cannot be read.
pub async fn explain(
    connection: &mut PgConnection,
    broker: Result<&Broker, String>,
    order: &OrderKey,
) -> Result<Story, StoreError> {
    let mut snapshot = audit::begin(connection).await?;
    let mut story = Story::of(order.clone());
    books::read(&mut snapshot, &mut story).await?;
    slots::read(&mut snapshot, &mut story).await?;
    money::read(&mut snapshot, &mut story).await?;
    parcels::read(&mut snapshot, &mut story).await?;
    denial::read(&mut snapshot, &mut story).await?;
    told::read(&mut snapshot, &mut story).await?;
    inbound::read(broker, &mut story).await;
    kept::read(&mut snapshot, &mut story).await?;
    snapshot.rollback().await?;
    story.put_in_order();
    Ok(story)
}
