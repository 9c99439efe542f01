//! Slots of the model: every order's bookings, looked through one by one.

use std::fmt::Write as _;

use super::Model;
use crate::domain::{AskedSlot, CancelLine, CancelOrder, Timestamp};

#[derive(Clone)]
pub(super) struct Booking {
    room: String,
    from: Timestamp,
    to: Timestamp,
    pub state: &'static str,
    pub cancelled: bool,
}

impl Booking {
    fn of(slot: &AskedSlot, state: &'static str) -> Self {
        Self { room: slot.resource.to_string(), from: slot.from, to: slot.to, state, cancelled: false }
    }

    pub fn period(&self) -> String {
        let hour = |at: Timestamp| at.unix_timestamp() / 3600;
        format!("{} {}-{}", self.room, hour(self.from), hour(self.to))
    }

    pub fn is_live(&self) -> bool {
        self.state == "held" || self.state == "confirmed"
    }

    pub fn can_be_had_again(&self) -> bool {
        (self.state == "expired" || self.state == "released") && !self.cancelled
    }

    pub fn is(&self, slot: &AskedSlot) -> bool {
        self.room == slot.resource.as_str() && self.from == slot.from && self.to == slot.to
    }

    pub fn is_named(&self, cancel: &CancelOrder) -> bool {
        let named = |line: &CancelLine| matches!(line, CancelLine::Slot(slot) if self.is(slot));
        cancel.lines.iter().flatten().any(named)
    }
}

impl Model {
    pub fn rooms(mut self, names: &[&str]) -> Self {
        self.rooms = names.iter().map(|name| (*name).into()).collect();
        self
    }

    pub(super) fn book(&mut self, place: usize, slots: &[AskedSlot], state: &'static str) {
        self.orders[place].bookings = slots.iter().map(|slot| Booking::of(slot, state)).collect();
    }

    /// Those of rooms that nobody knows.
    pub(super) fn undefined(&self, slots: &[AskedSlot]) -> String {
        let unknown = slots.iter().filter(|slot| !self.rooms.iter().any(|room| room == slot.resource.as_str()));
        unknown.fold(String::new(), |all, slot| all + " " + &Booking::of(slot, "").period())
    }

    /// Those of which any instant is somebody's.
    pub(super) fn taken(&self, slots: &[AskedSlot]) -> String {
        self.all_taken(&slots.iter().map(|slot| Booking::of(slot, "")).collect::<Vec<_>>())
    }

    pub(super) fn all_taken(&self, wanted: &[Booking]) -> String {
        let mut taken = String::new();
        for wanted in wanted {
            let others = self.orders.iter().flat_map(|order| &order.bookings).filter(|other| other.is_live());
            let mut same_room = others.filter(|other| other.room == wanted.room);
            if same_room.any(|other| wanted.from.max(other.from) < wanted.to.min(other.to)) {
                write!(taken, " {}", wanted.period()).expect("a string takes all");
            }
        }
        taken
    }
}
