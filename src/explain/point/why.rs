//! Why a channel shows another number than it should: one answer, the first that holds.

use std::fmt;

use crate::domain::{Qty, Timestamp};
use crate::messages::WireTime;
use crate::store::point_story::{AttemptFacts, PointFacts, PushFacts};

/// What the settings say of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelFacts {
    /// The channel's safety stock, where a warehouse has none of its own.
    pub safety_stock: Qty,
    /// The largest number that it takes.
    pub max_qty: Qty,
}

/// The answer. Its text is one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The settings do not have the channel: nothing is told.
    NotInSettings,
    /// The channel has no name for the SKU.
    NotMapped,
    /// The channel is not served from the warehouse, or has no name for it.
    NotSoldFrom,
    /// It shows what it should.
    NothingDiffers,
    /// The channel refuses it, or does not keep to it, and a person must look.
    Parked {
        /// Why.
        reason: String,
        /// The open review about it, as far as there is one.
        review: Option<i64>,
    },
    /// The newest figures are not queued yet.
    NotQueued {
        /// Their version.
        version: i64,
    },
    /// Somebody is sending to it.
    InFlight {
        /// Since when; none where the attempt is not written yet.
        since: Option<Timestamp>,
    },
    /// People have stopped the channel.
    Paused(Timestamp),
    /// The channel's own answers have.
    Halted {
        /// Until when.
        until: Timestamp,
        /// Why.
        reason: String,
    },
    /// Nobody knows whether what was sent was taken.
    Unknown {
        /// When it is read.
        look_at: Option<Timestamp>,
    },
    /// The newest figures go out later: the channel takes no two changes of a point at once, or asked for patience.
    Waiting {
        /// What was told last; none where nothing was.
        told: Option<i64>,
        /// The version that waits.
        version: i64,
        /// Until when.
        until: Timestamp,
    },
    /// The newest figures are due, and it is not their turn yet.
    Due {
        /// What was told last; none where nothing was.
        told: Option<i64>,
        /// The version that waits.
        version: i64,
        /// Since when.
        since: Timestamp,
    },
    /// It was taken, and has not been seen yet.
    NotSeen {
        /// What was told.
        version: i64,
        /// When.
        told_at: Timestamp,
        /// When it is looked at again.
        look_at: Option<Timestamp>,
    },
    /// It was seen to show less than it should: somebody may have bought it there whose order is not here yet.
    Low {
        /// Since when.
        since: Timestamp,
        /// When the second look is due.
        look_at: Option<Timestamp>,
    },
    /// It shows another number than it was told, for no reason that is known.
    Drift {
        /// What it shows.
        shown: Option<Qty>,
        /// When it is looked at again.
        look_at: Option<Timestamp>,
    },
}

/// What should be shown by the figures and maps of now, before it is capped; none where the channel does not sell it.
pub fn desired(facts: &PointFacts, channel: ChannelFacts) -> Option<Qty> {
    if facts.mapped_id.is_none() || facts.mapped_warehouse_id.is_none() {
        return None;
    }
    let available = facts.on_hand.unwrap_or(0) - facts.reserved.unwrap_or(0);
    Some((available - facts.safety_stock.unwrap_or(channel.safety_stock)).max(0))
}

/// What is shown, as far as is known: as it was seen, or else as it was confirmed.
pub fn shown(facts: &PointFacts) -> Option<Qty> {
    facts.shown_qty.or(facts.confirmed_qty)
}

/// Why the point shows another number than it should.
pub fn why(facts: &PointFacts, channel: Option<ChannelFacts>, attempts: &[AttemptFacts], pushes: &[PushFacts]) -> Why {
    let Some(channel) = channel else { return Why::NotInSettings };
    if facts.mapped_id.is_none() {
        return Why::NotMapped;
    }
    let Some(desired) = desired(facts, channel) else { return Why::NotSoldFrom };
    if is_in_sync(facts, desired, channel.max_qty) {
        return Why::NothingDiffers;
    }
    if let Some(reason) = &facts.parked {
        return Why::Parked { reason: reason.clone(), review: facts.review_id };
    }
    if facts.lease_until.is_some_and(|until| until > facts.now) {
        let flying = attempts.first().filter(|attempt| attempt.ended_at.is_none());
        return Why::InFlight { since: flying.map(|attempt| attempt.began_at) };
    }
    if let Some(stopped) = stopped(facts) {
        return stopped;
    }
    if let Some(version) = not_queued(facts, desired, channel.max_qty) {
        return Why::NotQueued { version };
    }
    if pushes.iter().any(|push| push.state == "unknown") {
        return Why::Unknown { look_at: facts.look_at };
    }
    sent_or_not(facts)
}

/// Whether everything agrees: the figures, what was queued, told, and seen.
fn is_in_sync(facts: &PointFacts, desired: Qty, max_qty: Qty) -> bool {
    let told_here =
        facts.told_external_id == facts.mapped_id && facts.told_external_warehouse_id == facts.mapped_warehouse_id;
    let is_newest = facts.told_version == facts.newest_version && facts.confirmed_version == facts.told_version;
    not_queued(facts, desired, max_qty).is_none()
        && facts.told_version.is_some()
        && told_here
        && is_newest
        && facts.due_at.is_none()
        && facts.parked.is_none()
        && shown(facts) == Some(desired.min(max_qty))
}

/// The version of the figures of now, where the point was not queued with them.
fn not_queued(facts: &PointFacts, desired: Qty, max_qty: Qty) -> Option<i64> {
    let version = facts.stock_version.unwrap_or(0);
    let has_figures = facts.desired_qty.is_some_and(|queued| queued.min(max_qty) == desired.min(max_qty));
    (facts.newest_version.is_none_or(|newest| newest < version) || !has_figures).then_some(version)
}

/// Whether the channel as a whole is told nothing.
fn stopped(facts: &PointFacts) -> Option<Why> {
    if let Some(at) = facts.paused_at {
        return Some(Why::Paused(at));
    }
    let (until, reason) = (facts.halted_until?, facts.halted_reason.clone()?);
    Some(Why::Halted { until, reason })
}

/// Of a point that nothing and nobody stops.
fn sent_or_not(facts: &PointFacts) -> Why {
    let (told, version) = (facts.told_version, facts.newest_version.unwrap_or(0));
    if let Some(due_at) = facts.due_at {
        return if due_at > facts.now {
            Why::Waiting { told, version, until: due_at }
        } else {
            Why::Due { told, version, since: due_at }
        };
    }
    if let Some(since) = facts.low_since {
        return Why::Low { since, look_at: facts.look_at };
    }
    match (told, facts.told_at) {
        (Some(version), Some(told_at)) if facts.confirmed_version.is_none_or(|seen| seen < version) => {
            Why::NotSeen { version, told_at, look_at: facts.look_at }
        }
        _ => Why::Drift { shown: shown(facts), look_at: facts.look_at },
    }
}

impl Why {
    /// A word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NotInSettings => "not_in_settings",
            Self::NotMapped => "not_mapped",
            Self::NotSoldFrom => "not_sold_from",
            Self::NothingDiffers => "in_sync",
            Self::Parked { .. } => "needs_review",
            Self::NotQueued { .. } => "not_queued",
            Self::InFlight { .. } => "in_flight",
            Self::Paused(_) => "paused",
            Self::Halted { .. } => "halted",
            Self::Unknown { .. } => "unknown",
            Self::Waiting { .. } => "waiting",
            Self::Due { .. } => "due",
            Self::NotSeen { .. } => "not_seen",
            Self::Low { .. } => "low",
            Self::Drift { .. } => "drift",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let looked = |look_at: &Option<Timestamp>| match look_at {
            Some(at) => format!("looked at again at {}", WireTime(*at)),
            None => "looked at again with the whole channel".to_owned(),
        };
        let older = |told: &Option<i64>| match told {
            Some(version) => format!("it was told version {version}"),
            None => "it was told nothing yet".to_owned(),
        };
        match self {
            Self::NotInSettings => f.write_str("the channel does not stand in the settings, so it is told nothing"),
            Self::NotMapped => {
                f.write_str("the channel has no name for the SKU (import mappings), so it is told nothing of it")
            }
            Self::NotSoldFrom => f.write_str(
                "the channel has no name for the warehouse (import warehouses), so it is not served from there",
            ),
            Self::NothingDiffers => f.write_str("nothing differs: it shows what it should"),
            Self::Parked { reason, review } => {
                let review = review.map_or_else(|| "a person".to_owned(), |id| format!("an answer to review {id}"));
                write!(f, "nothing more is sent: {reason}; it waits for {review}")
            }
            Self::NotQueued { version } => write!(f, "the newest figures (version {version}) are not queued yet"),
            Self::InFlight { since } => {
                let since = since.map_or_else(String::new, |at| format!(" since {}", WireTime(at)));
                write!(f, "it is being told{since}")
            }
            Self::Paused(at) => write!(f, "the channel is paused since {} (publisher resume)", WireTime(*at)),
            Self::Halted { until, reason } => write!(f, "the channel is halted until {}: {reason}", WireTime(*until)),
            Self::Unknown { look_at } => {
                write!(f, "nobody knows whether what was sent was taken: it is {}", looked(look_at))
            }
            Self::Waiting { told, version, until } => {
                write!(f, "{}, and version {version} waits until {}", older(told), WireTime(*until))
            }
            Self::Due { told, version, since } => {
                write!(f, "{}, and version {version} is due since {}", older(told), WireTime(*since))
            }
            Self::NotSeen { version, told_at, look_at } => {
                write!(
                    f,
                    "version {version}, told at {}, has not been seen yet: it is {}",
                    WireTime(*told_at),
                    looked(look_at)
                )
            }
            Self::Low { since, look_at } => write!(
                f,
                "it shows less than it should since {}, and is raised only after a second look with no order of the channel unprocessed: it is {}",
                WireTime(*since),
                looked(look_at)
            ),
            Self::Drift { shown, look_at } => {
                let shown = shown.map_or_else(|| "a number that is not known".to_owned(), |qty| qty.to_string());
                write!(f, "it shows {shown}, which it was not told: it is {}", looked(look_at))
            }
        }
    }
}
