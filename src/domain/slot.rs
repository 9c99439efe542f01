//! Slots: periods of a resource, each one order's at a time.

use std::collections::{BTreeMap, HashMap};

use super::Timestamp;
use super::command::AskedSlot;
use super::decision::LineId;
use super::names::Resource;
use super::order::{OrderKey, ReservationState};

/// One slot of an order. It is never [`ReservationState::Shipped`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotHold {
    /// Its row.
    pub id: LineId,
    /// Of what, from when to when.
    pub slot: AskedSlot,
    /// What became of it.
    pub state: ReservationState,
    /// Whether it was cancelled: a cancelled slot is never had again.
    pub cancelled: bool,
}

impl SlotHold {
    /// Whether it was given up without being cancelled, and so may be had again.
    pub fn can_be_had_again(&self) -> bool {
        !self.cancelled && matches!(self.state, ReservationState::Expired | ReservationState::Released)
    }
}

/// Who has a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Of what, from when to when.
    pub slot: AskedSlot,
    /// Whose it is.
    pub order: OrderKey,
    /// When the hold ends; none where it is confirmed.
    pub expires_at: Option<Timestamp>,
    /// How many steps it has taken in the batch that is being decided.
    pub steps: u32,
}

impl Taken {
    /// Whether the hold has ended: the instant itself counts as ended.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// Held and confirmed periods by resource, then by their beginning. No two of a resource overlap.
#[derive(Debug, Clone, Default)]
pub struct SlotTable(HashMap<Resource, BTreeMap<Timestamp, Taken>>);

impl SlotTable {
    /// Puts a period in, which nobody else may have.
    pub fn insert(&mut self, taken: Taken) {
        self.0.entry(taken.slot.resource.clone()).or_default().insert(taken.slot.from, taken);
    }

    /// Takes a period out, if it stands here.
    pub fn remove(&mut self, slot: &AskedSlot) {
        if let Some(periods) = self.0.get_mut(&slot.resource) {
            periods.remove(&slot.from);
        }
    }

    /// Who has a part of this period, the latest first.
    pub fn in_the_way<'a>(&'a self, slot: &'a AskedSlot) -> impl Iterator<Item = &'a Taken> {
        let before_its_end = self.0.get(&slot.resource).into_iter().flat_map(|periods| periods.range(..slot.to).rev());
        before_its_end.map(|(_, taken)| taken).take_while(|taken| taken.slot.to > slot.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Channel, OrderRef};

    fn at(hour: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + time::Duration::hours(hour)
    }

    fn slot(resource: &str, from: i64, to: i64) -> AskedSlot {
        AskedSlot { resource: Resource::new(resource).unwrap(), from: at(from), to: at(to) }
    }

    fn order(name: &str) -> OrderKey {
        OrderKey { channel: Channel::new("web").unwrap(), order_ref: OrderRef::new(name).unwrap() }
    }

    fn taken(slot: AskedSlot, name: &str, expires_at: Option<Timestamp>) -> Taken {
        Taken { slot, order: order(name), expires_at, steps: 0 }
    }

    #[test]
    fn a_period_is_in_the_way_where_it_shares_an_instant() {
        let mut table = SlotTable::default();
        table.insert(taken(slot("room", 10, 11), "a", None));
        table.insert(taken(slot("room", 11, 13), "b", None));
        table.insert(taken(slot("other", 0, 24), "c", None));
        let cases = [
            ((8, 10), ""),
            ((13, 20), ""),
            ((10, 11), "a"),
            ((9, 12), "b a"),
            ((11, 12), "b"),
            ((12, 14), "b"),
            ((0, 24), "b a"),
        ];
        for ((from, to), expected) in cases {
            let wanted = slot("room", from, to);
            let found: Vec<_> = table.in_the_way(&wanted).map(|taken| taken.order.order_ref.as_str()).collect();
            assert_eq!(found.join(" "), expected, "{from} to {to}");
        }
        table.remove(&slot("room", 10, 11));
        let wanted = slot("room", 9, 11);
        assert_eq!(table.in_the_way(&wanted).count(), 0);
    }

    #[test]
    fn a_hold_has_ended_at_its_end() {
        let taken = |expires_at| taken(slot("room", 0, 1), "a", expires_at);
        assert!(taken(Some(at(5))).is_due(at(5)));
        assert!(!taken(Some(at(6))).is_due(at(5)));
        assert!(!taken(None).is_due(at(5)));
    }
}
