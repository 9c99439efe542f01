//! A point: a SKU of a warehouse as one channel sells it. What it should show, what it was told, and what follows from each answer.
//!
//! Its row is locked by whoever judges it. What is told is a *flight*: taken off with the newest figures, landed with an outcome.

mod land;
mod look;
#[cfg(test)]
mod tests;

use std::time::Duration;

use uuid::Uuid;

use super::names::{Channel, Sku, Warehouse};
use super::{Qty, ReviewKind, StockKey, Timestamp};

pub use land::{Landed, Landing, Silence};
pub use look::{Looked, Seen, Verdict};

/// How often in a row a point is told the same again because it is seen to show something else. Then a person must look.
pub const MAX_HEALS: i32 = 3;
/// How long a point must have been right before what was healed before is forgotten: somebody who keeps changing it by hand is not fought for ever.
pub const HEALS_REMEMBERED: Duration = Duration::from_hours(1);

/// Which point: ordered as rows are locked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PointKey {
    /// What.
    pub sku: Sku,
    /// To whom.
    pub channel: Channel,
    /// From where.
    pub warehouse: Warehouse,
}

impl PointKey {
    /// The stock row that it shows.
    pub fn stock(&self) -> StockKey {
        StockKey { sku: self.sku.clone(), warehouse: self.warehouse.clone() }
    }
}

/// What a channel calls a point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// The item.
    pub external_id: String,
    /// The warehouse.
    pub external_warehouse_id: String,
}

/// What was sent last and may have been taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The version of the figures.
    pub version: i64,
    /// How many: what should be shown, capped as the channel caps.
    pub qty: Qty,
    /// When it was sent.
    pub at: Timestamp,
    /// Whereto.
    pub address: Address,
}

/// Who is sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The call.
    pub id: Uuid,
    /// Until when it is believed to be under way.
    pub until: Timestamp,
}

/// A point's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Which.
    pub key: PointKey,
    /// Where it is shown; none once the channel no longer sells it.
    pub address: Option<Address>,
    /// The version of the newest figures.
    pub newest_version: i64,
    /// What is free by them.
    pub available: Qty,
    /// What should be shown by them.
    pub desired_qty: Qty,
    /// What was told last; none when nothing was, or when it was withdrawn.
    pub told: Option<Told>,
    /// The channel takes nothing of it before.
    pub free_at: Option<Timestamp>,
    /// How often something was sent.
    pub flights: i64,
    /// Who is sending now.
    pub lease: Option<Lease>,
    /// When the newest figures go out; none when there is nothing to send.
    pub due_at: Option<Timestamp>,
    /// When it is to be looked at, out of the schedule.
    pub look_at: Option<Timestamp>,
    /// How often in a row it was deferred or unknown.
    pub failures: i32,
    /// How often in a row it was healed.
    pub heals: i32,
    /// How often ever a version was told again that the channel had taken, or a person had seen to.
    pub repeats: i64,
    /// Since when it has been seen to show less than it should.
    pub low_since: Option<Timestamp>,
    /// The largest call that it may be part of.
    pub call_max: Option<i32>,
    /// Why a person must look before it is sent again.
    pub parked: Option<String>,
    /// Whether newer figures wait for them too: the channel refuses the item, whatever the number.
    pub refused: bool,
    /// What is shown, as far as is known.
    pub shown_qty: Option<Qty>,
    /// Since when more is shown than is free.
    pub exposed_since: Option<Timestamp>,
}

/// How a channel's points are to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// Between two sendings of one point.
    pub min_interval: Duration,
    /// How long what was accepted may take to show.
    pub grace: Duration,
    /// How long one request may take.
    pub timeout: Duration,
    /// When to look after a sending; none where the channel cannot be read.
    pub first_look: Option<Duration>,
    /// Whether what is not listed may be taken for 0 where 0 was told.
    pub absent_is_zero: bool,
}

/// One sending of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flight {
    /// Which point.
    pub key: PointKey,
    /// Its number.
    pub number: i64,
    /// The version of the figures.
    pub version: i64,
    /// How many.
    pub qty: Qty,
    /// Whereto.
    pub address: Address,
    /// Whether 0 is told to an address that is the point's no more.
    pub withdrawal: bool,
    /// When it began.
    pub at: Timestamp,
    /// The point's [`Point::repeats`].
    pub repeats: i64,
}

/// Newer figures of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// Their version.
    pub version: i64,
    /// What is free by them; below 0 never.
    pub available: Qty,
    /// What should be shown: what is free without the safety stock.
    pub desired_qty: Qty,
    /// Where; none where the channel does not sell it.
    pub address: Option<Address>,
}

/// The states of a queued version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushState {
    /// To be sent.
    Pending,
    /// Being sent.
    Sending,
    /// The channel has taken it.
    Accepted,
    /// A newer one went or goes instead.
    Superseded,
    /// Sent, and nobody knows what became of it.
    Unknown,
    /// A person must look.
    NeedsReview,
}

impl PushState {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sending => "sending",
            Self::Accepted => "accepted",
            Self::Superseded => "superseded",
            Self::Unknown => "unknown",
            Self::NeedsReview => "needs_review",
        }
    }
}

/// What a person is asked about a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointQuestion {
    /// Of which kind.
    pub kind: ReviewKind,
    /// A sentence.
    pub detail: String,
    /// What was to be shown.
    pub desired_qty: Qty,
    /// What is shown, where it was read and listed.
    pub observed_qty: Option<Qty>,
    /// The version.
    pub version: i64,
}

impl Point {
    /// Takes newer figures, which go out as soon as the channel takes them: what is resting because of a failure keeps its rest. Returns what their
    /// version is now; of figures that are not newer, superseded.
    pub fn queue(&mut self, news: &News, now: Timestamp) -> PushState {
        if news.version <= self.newest_version {
            return PushState::Superseded;
        }
        if self.address != news.address || !self.refused {
            self.parked = None;
            self.refused = false;
        }
        if self.address != news.address {
            self.failures = 0;
            self.heals = 0;
            self.call_max = None;
        }
        self.newest_version = news.version;
        self.available = news.available;
        self.desired_qty = news.desired_qty;
        self.address.clone_from(&news.address);
        self.low_since = None;
        self.show(self.shown_qty, now);
        if self.parked.is_some() {
            return PushState::NeedsReview;
        }
        if self.is_withdrawn() {
            self.due_at = None;
            return PushState::Superseded;
        }
        let rests = self.failures > 0 && self.due_at.is_some();
        if !rests && !self.awaits_withdrawal() {
            self.due(now, Duration::ZERO);
        }
        PushState::Pending
    }

    /// Whether the address that the point has left has taken its 0, and has not been seen to show it.
    fn awaits_withdrawal(&self) -> bool {
        self.has_moved() && self.look_at.is_some() && self.told.as_ref().is_some_and(|told| told.qty == 0)
    }

    /// Whether the channel does not sell it, and shows nothing of it.
    fn is_withdrawn(&self) -> bool {
        self.address.is_none() && self.told.is_none() && self.lease.is_none()
    }

    /// Whether what was confirmed is of an address that the point has no more.
    pub fn has_moved(&self) -> bool {
        self.told.as_ref().is_some_and(|told| self.address.as_ref() != Some(&told.address))
    }

    /// Takes the newest figures off, if there is anything to tell: 0 to the address that was told last, where the point has another one now, unless that
    /// one is `another's` by now, who is told of it; else what should be shown, at most `max_qty`.
    pub fn take_off(&mut self, lease: Lease, now: Timestamp, max_qty: Qty, anothers: bool) -> Option<Flight> {
        self.due_at = None;
        let left = self.told.as_ref().filter(|_| self.has_moved());
        let withdrawn = left.filter(|_| !anothers).map(|told| told.address.clone());
        if left.is_some() && anothers {
            self.forget_told();
        }
        let (address, qty, withdrawal) = match (withdrawn, &self.address) {
            (Some(address), _) => (address, 0, true),
            (None, Some(address)) => (address.clone(), self.desired_qty.min(max_qty), false),
            (None, None) => return None,
        };
        self.flights += 1;
        self.lease = Some(lease);
        self.look_at = None;
        let (key, version) = (self.key.clone(), self.newest_version);
        Some(Flight { key, number: self.flights, version, qty, address, withdrawal, at: now, repeats: self.repeats })
    }

    /// Notes what is shown, and since when more than is free.
    fn show(&mut self, qty: Option<Qty>, now: Timestamp) {
        self.shown_qty = qty;
        self.exposed_since = (self.exposed_units() > 0).then(|| self.exposed_since.unwrap_or(now));
    }

    /// Units that are shown and are not free.
    pub fn exposed_units(&self) -> Qty {
        (self.shown_qty.unwrap_or(0) - self.available.max(0)).max(0)
    }

    /// Nothing is shown under the last address any more, or it is not ours.
    fn forget_told(&mut self) {
        self.told = None;
        self.shown_qty = None;
        self.exposed_since = None;
        self.look_at = None;
        self.low_since = None;
    }

    /// Gives the point to a person. What is queued is not sent until they have answered; if it is `refused`, neither is what comes.
    fn park(&mut self, reason: &str, refused: bool) {
        self.parked = Some(reason.to_owned());
        self.refused = refused;
        self.due_at = None;
        self.look_at = None;
    }

    /// A person has answered: the newest figures go out again, as if nothing had gone wrong.
    pub fn unpark(&mut self, now: Timestamp) {
        self.parked = None;
        self.refused = false;
        self.failures = 0;
        self.heals = 0;
        self.repeats += 1;
        self.low_since = None;
        self.call_max = None;
        self.due(now, Duration::ZERO);
    }

    /// The newest figures go out after so long, when the channel takes them.
    fn due(&mut self, now: Timestamp, after: Duration) {
        let at = now + after;
        self.due_at = Some(self.free_at.map_or(at, |free| free.max(at)));
    }
}
