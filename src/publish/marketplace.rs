//! What a channel is spoken to through: one call that tells stock, one that reads it, and what there is to know of both.

use std::time::Duration;

use futures::future::BoxFuture;

use crate::domain::{Qty, Sku, Timestamp, Warehouse};

/// What a channel takes, gives, and how its silence is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The most items of one push.
    pub max_batch: usize,
    /// Whether all items of one push must be of one warehouse.
    pub one_warehouse_a_call: bool,
    /// The largest number it takes. More is told as so much.
    pub max_qty: Qty,
    /// Pushes that may be under way at once.
    pub at_once: usize,
    /// How it is read; none where it cannot be.
    pub reads: Option<Reads>,
}

/// How a channel is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reads {
    /// The most items of one reading.
    pub max_batch: usize,
    /// Whether an item that is not in the answer may be taken for one that shows 0, where 0 was told.
    pub absent_is_zero: bool,
    /// How long after a push it is worth looking for the first time.
    pub first_look: Duration,
}

/// What is to be shown at one point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Our name of it.
    pub sku: Sku,
    /// Where it lies.
    pub warehouse: Warehouse,
    /// What the channel calls it.
    pub external_id: String,
    /// What the channel calls the warehouse.
    pub external_warehouse_id: String,
    /// How many, at most [`Capabilities::max_qty`].
    pub qty: Qty,
    /// The version of the figures.
    pub version: i64,
    /// Grows each time that a version is told anew which the channel had taken: who knows a call again by its id must not take that for the
    /// call before. An attempt that follows one whose end nobody knows has the same number.
    pub repeats: i64,
}

/// What became of one item of a push. Never `Accepted` by guess: whatever is not said is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The channel says that it has it. Whether it shows it is another matter.
    Accepted,
    /// It was not taken, and may be after so long.
    Again {
        /// At the earliest then.
        after: Duration,
        /// What the channel said.
        reason: String,
    },
    /// It cannot be taken yet: something about the item must happen there first. Worth trying in tens of minutes.
    Deferred(String),
    /// It is refused until somebody changes something.
    Rejected(String),
    /// It may have been taken or not, or may be yet.
    Unknown(String),
    /// Nothing of the call was taken for the sake of one item that the channel does not name: to be sent again in smaller calls. Of a call of
    /// one item it is that item: `Rejected` instead.
    Split(String),
    /// Nothing was taken, and nothing will be, whatever the item: a key, a ban.
    Halted(String),
}

impl Outcome {
    /// The word in tables and metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Again { .. } => "again",
            Self::Deferred(_) => "deferred",
            Self::Rejected(_) => "rejected",
            Self::Unknown(_) => "unknown",
            Self::Split(_) => "split",
            Self::Halted(_) => "halted",
        }
    }

    /// What the channel said; none where it took it.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Accepted => None,
            Self::Again { reason, .. }
            | Self::Deferred(reason)
            | Self::Rejected(reason)
            | Self::Unknown(reason)
            | Self::Split(reason)
            | Self::Halted(reason) => Some(reason),
        }
    }
}

/// Why a channel could not be read. The text holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFault {
    /// It did not answer, or with something that cannot be understood. It may the next time.
    #[error("{0}")]
    Failed(String),
    /// It answers nobody with this key.
    #[error("{0}")]
    Halted(String),
    /// It has no such thing to read.
    #[error("a channel of this kind cannot be asked for this")]
    Unsupported,
}

/// An item as the channel has it in its catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// What the channel calls it.
    pub external_id: String,
    /// The seller's own name of it there: likely the SKU.
    pub seller_code: String,
    /// What a person would recognise it by.
    pub title: String,
}

/// A warehouse as the channel has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalWarehouse {
    /// What the channel calls it.
    pub id: String,
    /// What a person would recognise it by.
    pub name: String,
    /// Why it takes no stock now, if so.
    pub trouble: Option<String>,
}

/// What a key may and how long it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// When it ends; none where the channel does not say.
    pub expires_at: Option<Timestamp>,
    /// What it may not that it must.
    pub trouble: Option<String>,
}

/// A channel that is told stock. Every call keeps to the channel's rates by itself, and waits for as long as that takes; what the channel says of
/// its limits is honoured. No text that is returned holds a secret.
pub trait Marketplace: Send + Sync + std::fmt::Debug {
    /// What it takes.
    fn capabilities(&self) -> Capabilities;

    /// Waits until a push may be made without waiting. To be awaited before what is pushed is chosen, so that it is the newest.
    fn ready(&self) -> BoxFuture<'_, ()>;

    /// Tells it. At most [`Capabilities::max_batch`] items, no address twice, of one warehouse where it must be. One outcome an item, in their order.
    /// Ends within twice the channel's timeout, whatever the other side does. `now` is the database's clock, where a call must say what time it is.
    fn push<'a>(&'a self, items: &'a [Item], now: Timestamp) -> BoxFuture<'a, Vec<Outcome>>;

    /// Reads what it shows of these items of a warehouse, at most [`Reads::max_batch`]: a number each, in their order; none where it lists none.
    fn observe<'a>(
        &'a self,
        external_warehouse_id: &'a str,
        external_ids: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Qty>>, ReadFault>>;

    /// Everything in its catalogue.
    fn cards(&self) -> BoxFuture<'_, Result<Vec<Card>, ReadFault>>;

    /// Every warehouse that it knows of ours.
    fn warehouses(&self) -> BoxFuture<'_, Result<Vec<ExternalWarehouse>, ReadFault>>;

    /// What our key may. `now` is for what says of itself until when it holds.
    fn credentials(&self, now: Timestamp) -> BoxFuture<'_, Result<Credentials, ReadFault>>;
}
