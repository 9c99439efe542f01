//! The slots of an order: taken, given back, had again, always together with its lines.

use super::ledger::{Entry, Ledger, Rules, Why};
use crate::domain::command::{AskedSlot, CancelLine, CancelOrder, CreateOrder};
use crate::domain::decision::{Decision, LineId, NewSlot, Shortage, SlotChange};
use crate::domain::denial::{DENIED_ROWS, DeniedSlot};
use crate::domain::order::ReservationState;
use crate::domain::slot::Taken;

/// Slots of resources that are not known.
pub(super) fn unknown(create: &CreateOrder, ledger: &Ledger) -> Vec<Shortage> {
    let unknown = create.slots.iter().filter(|slot| !ledger.knows_resource(&slot.resource));
    unknown.cloned().map(Shortage::Slot).collect()
}

/// Slots that cannot be had.
pub(super) struct Missing {
    pub shortages: Vec<Shortage>,
    /// Who has the first of them.
    pub denied: Vec<DeniedSlot>,
}

/// Those of the slots that somebody has, or a part of them, and who. Where it is a hold that has ended, its order is remembered.
pub(super) fn missing<'a>(
    wanted: impl Iterator<Item = &'a AskedSlot>,
    rules: &Rules<'_>,
    ledger: &mut Ledger,
) -> Missing {
    let mut missing = Missing { shortages: Vec::new(), denied: Vec::new() };
    let mut overdue = Vec::new();
    for slot in wanted {
        let in_the_way: Vec<&Taken> = ledger.slots.in_the_way(slot).collect();
        if in_the_way.is_empty() {
            continue;
        }
        overdue.extend(in_the_way.iter().filter(|taken| taken.is_due(rules.now)).map(|taken| taken.order.clone()));
        let room = DENIED_ROWS - missing.denied.len();
        missing.denied.extend(in_the_way.into_iter().rev().take(room).map(|taken| denied(slot, taken)));
        missing.shortages.push(Shortage::Slot(slot.clone()));
    }
    ledger.found_overdue(overdue);
    missing
}

fn denied(asked: &AskedSlot, taken: &Taken) -> DeniedSlot {
    DeniedSlot { asked: asked.clone(), taken: taken.slot.clone(), order: taken.order.clone(), steps: taken.steps }
}

/// Takes the slots of a new order, which are free.
pub(super) fn hold(
    create: &CreateOrder,
    state: ReservationState,
    entry: &mut Entry,
    why: &Why<'_>,
    ledger: &mut Ledger,
) {
    let open = |slot| ledger.open_slot(slot, state, &entry.key, entry.row.expires_at, why);
    entry.slots = create.slots.iter().map(open).collect();
}

/// Those slots of an order that may be had again.
pub(super) fn to_have_again(entry: &Entry) -> impl Iterator<Item = &AskedSlot> {
    entry.slots.iter().filter(|hold| hold.can_be_had_again()).map(|hold| &hold.slot)
}

/// Takes the slots of an order once more, which are free.
pub(super) fn have_again(entry: &mut Entry, why: &Why<'_>, ledger: &mut Ledger) {
    for hold in entry.slots.iter_mut().filter(|hold| hold.can_be_had_again()) {
        ledger.step_slot(hold, ReservationState::Held, &entry.key, entry.row.expires_at, why);
    }
}

/// Takes every slot that is in one state to another.
pub(super) fn step_all(
    entry: &mut Entry,
    from: ReservationState,
    to: ReservationState,
    why: &Why<'_>,
    ledger: &mut Ledger,
) {
    for hold in entry.slots.iter_mut().filter(|hold| hold.state == from) {
        ledger.step_slot(hold, to, &entry.key, entry.row.expires_at, why);
    }
}

/// The places of the slots that a cancel gives back, or what it names that cannot be given back.
pub(super) fn named(cancel: &CancelOrder, entry: &Entry) -> Result<Vec<usize>, String> {
    let live = entry.slots.iter().enumerate().filter(|(_, hold)| hold.state.is_live());
    let Some(lines) = &cancel.lines else {
        return Ok(live.map(|(place, _)| place).collect());
    };
    let place_of = |slot: &AskedSlot| {
        let found = entry.slots.iter().position(|hold| hold.slot == *slot);
        let place = found.ok_or_else(|| {
            format!("lines name a slot of resource {} that is not in the order as it is named", slot.resource)
        })?;
        if entry.slots[place].state.is_live() {
            Ok(place)
        } else {
            Err(format!("lines name a slot of resource {} that was given back before", slot.resource))
        }
    };
    lines.iter().filter_map(slot_of).map(place_of).collect()
}

/// Gives back slots, for good.
pub(super) fn give_back(places: &[usize], entry: &mut Entry, why: &Why<'_>, ledger: &mut Ledger) {
    for place in places {
        let hold = &mut entry.slots[*place];
        hold.cancelled = true;
        ledger.step_slot(hold, ReservationState::Released, &entry.key, None, why);
    }
}

/// What a cancel names of an order that holds nothing any more is never had again.
pub(super) fn forgo(cancel: &CancelOrder, entry: &mut Entry) {
    for hold in &mut entry.slots {
        let names_it = |lines: &Vec<CancelLine>| lines.iter().filter_map(slot_of).any(|slot| *slot == hold.slot);
        hold.cancelled |= cancel.lines.as_ref().is_none_or(names_it);
    }
}

fn slot_of(line: &CancelLine) -> Option<&AskedSlot> {
    match line {
        CancelLine::Slot(slot) => Some(slot),
        CancelLine::Units(..) => None,
    }
}

impl Entry {
    /// Adds what must be written of this order's slots.
    pub(super) fn write_slots(&mut self, decision: &mut Decision) {
        let end_changed = self.row.expires_at != self.stored.expires_at;
        let mut stored = std::mem::take(&mut self.stored_slots).into_iter();
        for hold in std::mem::take(&mut self.slots) {
            let held_until = hold.state.is_live().then_some(self.row.expires_at).flatten();
            match hold.id {
                LineId::New(_) => {
                    decision.new_slots.push(NewSlot { order: self.key.clone(), hold, expires_at: self.row.expires_at });
                }
                LineId::Stored(id) => {
                    let Some(before) = stored.next() else {
                        continue;
                    };
                    if before != hold || (end_changed && held_until.is_some()) {
                        let before = before.state;
                        decision.slots.push(SlotChange { id, before, after: hold, expires_at: held_until });
                    }
                }
            }
        }
    }
}
