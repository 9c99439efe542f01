//! What follows from what a channel shows.

use std::time::Duration;

use serde::Serialize;

use super::{HEALS_REMEMBERED, MAX_HEALS, Point, PointQuestion, PushState, Rhythm, Told};
use crate::domain::{Qty, ReviewKind, Timestamp};

/// How soon to look again at the earliest, and at the latest where orders have to be waited for.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
const LOOK_AGAIN_MOST: Duration = Duration::from_mins(1);

/// How what is shown compares with what was told last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is shown.
    InSync,
    /// It is not, and need not be yet: it was told lately, or something newer is on its way.
    Lagging,
    /// Something else is shown.
    Drift,
    /// The channel does not list it.
    Absent,
}

impl Verdict {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::InSync => "in_sync",
            Self::Lagging => "lagging",
            Self::Drift => "drift",
            Self::Absent => "absent",
        }
    }
}

/// What was seen of a point that nothing was sent to meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// How many; none where the channel does not list it.
    pub qty: Option<Qty>,
    /// The last version that is known to have been shown.
    pub confirmed_version: Option<i64>,
    /// Whether more may be free here than there in truth: an order of the channel has not been processed, or the stock row has newer figures.
    pub more_sold: bool,
}

/// What follows outside the point's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// How it compares.
    pub verdict: Verdict,
    /// What it was compared with.
    pub told: Told,
    /// Whether it is known to be shown where the point is to be shown.
    pub confirmed: bool,
    /// What the version that was told last is now; none where that does not change.
    pub state: Option<PushState>,
    /// What a person is asked.
    pub question: Option<PointQuestion>,
}

impl Point {
    /// Judges what was seen, and says what follows. None where nothing was told to be compared with.
    ///
    /// A correction downwards goes at once. One upwards might sell again what the channel has just sold: it goes only when the same has been seen a
    /// grace time before, and nothing is known to have been sold that the figures do not hold.
    pub fn look(&mut self, seen: &Seen, now: Timestamp, rhythm: &Rhythm) -> Option<Looked> {
        let told = self.told.clone()?;
        self.look_at = None;
        self.show(seen.qty, now);
        let is_here = !self.has_moved();
        let looked = |verdict, state, question| {
            let confirmed = verdict == Verdict::InSync && is_here;
            Some(Looked { verdict, told: told.clone(), confirmed, state, question })
        };
        if self.has_moved() && told.qty == 0 {
            let shows_zero = seen.qty.is_none_or(|qty| qty == 0);
            let (verdict, state, question) = self.look_left(&told, shows_zero, seen, now, rhythm);
            return looked(verdict, state, question);
        }
        let is_newest = told.version == self.newest_version && self.address.as_ref() == Some(&told.address);
        if seen.qty.map_or(rhythm.absent_is_zero && told.qty == 0, |qty| qty == told.qty) {
            return looked(Verdict::InSync, self.settle(&told, is_newest, now, rhythm), None);
        }
        // Something is going out anyway.
        if !is_newest || self.due_at.is_some() {
            return looked(Verdict::Lagging, None, None);
        }
        let shows_by = told.at + rhythm.grace;
        if seen.confirmed_version < Some(told.version) && now < shows_by {
            let since = (now - told.at).unsigned_abs();
            self.look_at = Some((now + (2 * since).max(LOOK_AGAIN)).min(shows_by));
            return looked(Verdict::Lagging, None, None);
        }
        let verdict = if seen.qty.is_some() { Verdict::Drift } else { Verdict::Absent };
        if self.parked.is_some() {
            return looked(verdict, None, None);
        }
        let is_high = seen.qty.is_some_and(|qty| qty > told.qty);
        if !is_high && !self.may_rise(seen, now, rhythm) {
            return looked(verdict, None, None);
        }
        self.low_since = None;
        if self.heals >= MAX_HEALS {
            let question = self.unapplied(&told, seen);
            self.park(&question.detail, false);
            return looked(verdict, Some(PushState::NeedsReview), Some(question));
        }
        self.heals += 1;
        self.repeats += 1;
        self.due(now, Duration::ZERO);
        looked(verdict, Some(PushState::Pending), None)
    }

    /// It is shown. Returns what its version is now, if that was not sure.
    fn settle(&mut self, told: &Told, is_newest: bool, now: Timestamp, rhythm: &Rhythm) -> Option<PushState> {
        let waited = self.failures > 0;
        self.free_at = Some(told.at + rhythm.min_interval);
        self.failures = 0;
        self.low_since = None;
        if now - told.at > HEALS_REMEMBERED {
            self.heals = 0;
        }
        if !is_newest {
            if waited && self.parked.is_none() {
                // Its end is known now: the newer need not wait any more.
                self.due(now, Duration::ZERO);
            }
            return None;
        }
        self.parked = None;
        self.refused = false;
        self.due_at = None;
        Some(PushState::Accepted)
    }

    /// Judges the address that the point has left, which has taken its 0: only when it shows that, or has been told in vain often enough, the new address
    /// is told. What is not listed there sells nothing.
    fn look_left(
        &mut self,
        told: &Told,
        shows_zero: bool,
        seen: &Seen,
        now: Timestamp,
        rhythm: &Rhythm,
    ) -> (Verdict, Option<PushState>, Option<PointQuestion>) {
        let state = |point: &mut Self| {
            let state = point.withdrawn(now);
            (told.version == point.newest_version).then_some(state)
        };
        if shows_zero {
            return (Verdict::InSync, state(self), None);
        }
        let shows_by = told.at + rhythm.grace;
        if now < shows_by {
            let since = (now - told.at).unsigned_abs();
            self.look_at = Some((now + (2 * since).max(LOOK_AGAIN)).min(shows_by));
            return (Verdict::Lagging, None, None);
        }
        if self.heals >= MAX_HEALS {
            let question = self.unapplied(told, seen);
            return (Verdict::Drift, state(self), Some(question));
        }
        self.heals += 1;
        self.repeats += 1;
        self.due(now, Duration::ZERO);
        (Verdict::Drift, None, None)
    }

    /// Whether what is shown may be raised now; if not, when to look again.
    fn may_rise(&mut self, seen: &Seen, now: Timestamp, rhythm: &Rhythm) -> bool {
        let since = *self.low_since.get_or_insert(now);
        let ripe = since + rhythm.grace.max(LOOK_AGAIN);
        if now < ripe {
            self.look_at = Some(ripe);
            return false;
        }
        if seen.more_sold {
            self.look_at = Some(now + rhythm.grace.clamp(LOOK_AGAIN, LOOK_AGAIN_MOST));
        }
        !seen.more_sold
    }

    fn unapplied(&self, told: &Told, seen: &Seen) -> PointQuestion {
        let (sku, channel, warehouse) = (&self.key.sku, &self.key.channel, &self.key.warehouse);
        let shows = seen.qty.map_or_else(|| "does not list it".to_owned(), |qty| format!("shows {qty}"));
        let detail = format!(
            "{channel} was told {} of {sku} in {warehouse} {} times and {shows} (there {} in {})",
            told.qty,
            self.heals + 1,
            told.address.external_id,
            told.address.external_warehouse_id
        );
        let kind = ReviewKind::PushUnapplied;
        PointQuestion { kind, detail, desired_qty: told.qty, observed_qty: seen.qty, version: told.version }
    }
}
