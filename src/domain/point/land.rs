//! What a flight leaves behind.

use std::time::Duration;

use super::{Flight, Point, PointQuestion, PushState, Rhythm, Told};
use crate::domain::{ReviewKind, Timestamp};

/// How long an item that cannot be taken yet rests at first; twice as long each time, up to the most.
const DEFERRED: Duration = Duration::from_mins(10);
const DEFERRED_MOST: Duration = Duration::from_hours(6);
/// How often in a row an item may be deferred: about two days.
const MAX_DEFERRALS: i32 = 12;
/// The longest rest of a point of which nobody knows what became: a channel that is down comes back.
const UNKNOWN_MOST: Duration = Duration::from_mins(10);
/// How often in a row nobody may know what became of an item of which the channel said nothing while it spoke of others; and of one that was sent alone,
/// where that is an hour or two. Of a call of many of which nothing was said it is the channel that fails, and no item.
const MAX_UNSAID: i32 = 5;
const MAX_UNSAID_ALONE: i32 = 12;
/// How often in a row an item may be refused for the moment: some hours.
const MAX_AGAIN: i32 = 60;
/// After so many refusals for the moment, one follows another more slowly.
const PATIENT_REFUSALS: i32 = 5;

/// Of what nobody knows what became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The item: the channel spoke of others of the call.
    Item,
    /// A call of nothing but the item.
    Lone,
    /// A call of many.
    Call,
}

impl Silence {
    /// How often in a row it is borne before a person is asked.
    fn limit(self) -> i32 {
        match self {
            Self::Item => MAX_UNSAID,
            Self::Lone => MAX_UNSAID_ALONE,
            Self::Call => i32::MAX,
        }
    }
}

/// How a flight ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// The channel says that it has it.
    Accepted,
    /// Not taken, and may be after so long.
    Again(Duration, String),
    /// Not taken, and may be in tens of minutes.
    Deferred(String),
    /// Refused until somebody changes something.
    Rejected(String),
    /// Nobody knows: of this item, or of the whole call.
    Unknown(Silence, String),
    /// Not taken for the sake of another one of a call of so many.
    Split(usize, String),
    /// Not taken, and nothing is.
    Halted(String),
}

impl Landing {
    /// The word in tables.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Again(..) => "again",
            Self::Deferred(_) => "deferred",
            Self::Rejected(_) => "rejected",
            Self::Unknown(..) => "unknown",
            Self::Split(..) => "split",
            Self::Halted(_) => "halted",
        }
    }

    /// What the channel said; none where it took it.
    fn why(&self) -> Option<&str> {
        match self {
            Self::Accepted => None,
            Self::Again(_, why)
            | Self::Deferred(why)
            | Self::Rejected(why)
            | Self::Unknown(_, why)
            | Self::Split(_, why)
            | Self::Halted(why) => Some(why),
        }
    }

    /// Why nothing is taken, if so.
    pub fn halts(&self) -> Option<&str> {
        if let Self::Halted(why) = self { Some(why) } else { None }
    }
}

/// What follows outside the point's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// What the version that flew is now.
    pub state: PushState,
    /// Why it was not taken.
    pub error: Option<String>,
    /// Whether it counts as shown: where nobody can look.
    pub confirmed: bool,
    /// What a person is asked.
    pub question: Option<PointQuestion>,
}

impl Point {
    /// Lands a flight, which must be the point's own.
    pub fn land(&mut self, flight: &Flight, landing: &Landing, now: Timestamp, rhythm: &Rhythm) -> Landed {
        self.lease = None;
        let is_newest = flight.version == self.newest_version;
        let landed = if flight.withdrawal {
            self.land_withdrawal(flight, landing, now, rhythm)
        } else {
            self.land_figures(flight, landing, now, rhythm)
        };
        if self.parked.is_some() {
            self.due_at = None;
        } else if !is_newest && !matches!(landing, Landing::Unknown(..)) && !self.awaits_withdrawal() {
            // Something newer was queued meanwhile: it goes as soon as the channel takes it. (What nobody knows the end of may yet be applied: the newer
            // waits as the same again would.)
            let wait = match landing {
                Landing::Again(after, _) => *after,
                _ => Duration::ZERO,
            };
            self.due(now, wait);
        }
        landed
    }

    fn land_figures(&mut self, flight: &Flight, landing: &Landing, now: Timestamp, rhythm: &Rhythm) -> Landed {
        match landing {
            Landing::Accepted => {
                self.note_told(flight, rhythm);
                self.failures = 0;
                self.call_max = None;
                self.show(Some(flight.qty), now);
                self.look_at = rhythm.first_look.map(|after| now + after);
                Landed { confirmed: rhythm.first_look.is_none(), ..Landed::plain(PushState::Accepted) }
            }
            Landing::Unknown(silence, why) if self.failures + 1 >= silence.limit() => {
                self.note_told(flight, rhythm);
                self.park(why, false);
                let question = self.unsaid(flight, why);
                Landed { question: Some(question), ..Landed::failed(PushState::NeedsReview, why) }
            }
            Landing::Unknown(_, why) => {
                self.note_told(flight, rhythm);
                self.failures += 1;
                self.look_at = rhythm.first_look.map(|after| now + after.max(rhythm.timeout));
                // The newest goes out again when the reading has not settled it by then.
                let wait = (2 * rhythm.timeout).max(rhythm.min_interval);
                // It may be applied yet: until then nothing is sent that it could undo.
                self.free_at = self.free_at.max(Some(now + wait));
                self.due(now, doubled(wait, self.failures - 1, UNKNOWN_MOST.max(wait)));
                Landed::failed(PushState::Unknown, why)
            }
            Landing::Again(_, why) if self.failures >= MAX_AGAIN => {
                self.park(why, false);
                let question = self.refused(flight, why);
                Landed { question: Some(question), ..Landed::failed(PushState::NeedsReview, why) }
            }
            Landing::Again(after, why) => {
                self.failures += 1;
                let patience = self.failures - PATIENT_REFUSALS;
                let slower = doubled((*after).max(Duration::from_secs(1)), patience, UNKNOWN_MOST.max(*after));
                self.due(now, if patience > 0 { slower } else { *after });
                Landed::failed(PushState::Pending, why)
            }
            Landing::Deferred(why) if self.failures < MAX_DEFERRALS => {
                self.failures += 1;
                self.due(now, doubled(DEFERRED, self.failures - 1, DEFERRED_MOST));
                Landed::failed(PushState::Pending, why)
            }
            Landing::Split(of, why) => {
                self.call_max = Some(i32::try_from(of / 2).unwrap_or(i32::MAX).max(1));
                self.due(now, Duration::ZERO);
                Landed::failed(PushState::Pending, why)
            }
            Landing::Halted(why) => {
                self.due(now, Duration::ZERO);
                Landed::failed(PushState::Pending, why)
            }
            Landing::Deferred(why) | Landing::Rejected(why) => {
                self.park(why, true);
                let question = self.refused(flight, why);
                Landed { question: Some(question), ..Landed::failed(PushState::NeedsReview, why) }
            }
        }
    }

    /// Whatever the old address says, the new one is told in the end; a person is asked only where nobody knows what the old one shows. Where it can be
    /// read, it is seen to show 0 before.
    fn land_withdrawal(&mut self, flight: &Flight, landing: &Landing, now: Timestamp, rhythm: &Rhythm) -> Landed {
        let question = match landing {
            Landing::Accepted => {
                if let Some(first_look) = rhythm.first_look {
                    self.note_told(flight, rhythm);
                    self.show(Some(0), now);
                    self.failures = 0;
                    self.call_max = None;
                    self.look_at = Some(now + first_look);
                    return Landed::plain(PushState::Pending);
                }
                None
            }
            Landing::Rejected(why) => Some(self.refused(flight, why)),
            Landing::Deferred(why) | Landing::Unknown(_, why) | Landing::Again(_, why)
                if self.failures >= MAX_DEFERRALS =>
            {
                Some(self.refused(flight, why))
            }
            Landing::Again(..)
            | Landing::Deferred(_)
            | Landing::Unknown(..)
            | Landing::Split(..)
            | Landing::Halted(_) => {
                let told = self.told.clone();
                let landed = self.land_figures(flight, landing, now, rhythm);
                // What the old address was told before stands until it is known to have taken the 0.
                self.told = told;
                self.look_at = None;
                if self.parked.take().is_some() {
                    self.refused = false;
                    self.due(now, DEFERRED);
                }
                return Landed { state: PushState::Pending, question: None, ..landed };
            }
        };
        let state = self.withdrawn(now);
        Landed { error: landing.why().map(str::to_owned), question, ..Landed::plain(state) }
    }

    /// Nothing more is to be done about the old address: the new one is told, if there is one. Returns what the newest version is.
    pub(super) fn withdrawn(&mut self, now: Timestamp) -> PushState {
        self.forget_told();
        self.failures = 0;
        self.heals = 0;
        self.call_max = None;
        if self.address.is_none() {
            self.due_at = None;
            return PushState::Accepted;
        }
        self.free_at = None;
        self.due(now, Duration::ZERO);
        PushState::Pending
    }

    fn note_told(&mut self, flight: &Flight, rhythm: &Rhythm) {
        let Flight { version, qty, at, .. } = *flight;
        self.told = Some(Told { version, qty, at, address: flight.address.clone() });
        self.free_at = Some(at + rhythm.min_interval);
        self.low_since = None;
    }

    fn unsaid(&self, flight: &Flight, why: &str) -> PointQuestion {
        let question = self.refused(flight, why);
        let detail = format!("nobody knows what became of it, time after time: {}", question.detail);
        PointQuestion { kind: ReviewKind::PushUnapplied, detail, ..question }
    }

    fn refused(&self, flight: &Flight, why: &str) -> PointQuestion {
        let Flight { qty, version, address, .. } = flight;
        let (sku, channel, warehouse) = (&self.key.sku, &self.key.channel, &self.key.warehouse);
        let detail = format!(
            "{channel} does not take {qty} of {sku} in {warehouse} (there {} in {}): {why}",
            address.external_id, address.external_warehouse_id
        );
        let kind = ReviewKind::PushRejected;
        PointQuestion { kind, detail, desired_qty: *qty, observed_qty: None, version: *version }
    }
}

impl Landed {
    fn plain(state: PushState) -> Self {
        Self { state, error: None, confirmed: false, question: None }
    }

    fn failed(state: PushState, why: &str) -> Self {
        Self { error: Some(why.to_owned()), ..Self::plain(state) }
    }
}

/// Twice as long each time.
fn doubled(first: Duration, times: i32, most: Duration) -> Duration {
    let times = u32::try_from(times.clamp(0, 16)).unwrap_or(0);
    first.saturating_mul(1 << times).min(most)
}
