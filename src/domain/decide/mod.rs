//! Locked state and commands in, the whole write-set out.
//!
//! Orders that are due expire first, whatever the commands say. Then the commands are taken one after the other, each seeing what those before
//! it did. A command about an order that has not come waits, and is taken right after the order came; a shipment of what is only held waits too, and
//! is taken right after whatever confirms it, or ends the hold.

mod choose;
mod inventory;
mod ledger;
mod orders;
mod payments;
mod shipments;
mod slots;
mod till;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::command::{Command, Digest, EventKey, Kind};
use super::decision::{Decision, LineId, NewReservation, OrderChange, Outcome, ReservationChange};
use super::names::Text;
use super::order::OrderKey;
use super::snapshot::{Policy, Snapshot};
use ledger::{Entry, Ledger, Rules};
use till::Till;

/// What is to be decided together.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Commands in the order of their stream.
    pub commands: &'a [Command],
    /// Commands that were kept waiting before, oldest first: for orders that `commands` name, and messages whose review a person resolves.
    pub waiting: &'a [Command],
}

impl<'a> Batch<'a> {
    fn get(&self, index: usize) -> &'a Command {
        match self.commands.get(index) {
            Some(command) => command,
            None => &self.waiting[index - self.commands.len()],
        }
    }

    fn len(&self) -> usize {
        self.commands.len() + self.waiting.len()
    }
}

/// Decides a batch. The outcomes are those of `batch.commands`, then those of `batch.waiting`.
pub fn decide(batch: Batch<'_>, snapshot: Snapshot, policy: &Policy) -> Decision {
    let mut work = Work::begin(batch, snapshot, policy);
    work.expire_what_is_due();
    for index in 0..batch.commands.len() {
        work.take(index);
    }
    work.wake_the_rest();
    work.take_kept();
    work.finish()
}

/// A batch half decided.
struct Work<'a> {
    batch: Batch<'a>,
    rules: Rules<'a>,
    ledger: Ledger,
    orders: HashMap<OrderKey, Entry>,
    till: Till,
    seen: HashSet<EventKey>,
    documents: HashMap<(Arc<str>, Text), Digest>,
    shipments: shipments::Taken,
    /// What waits for an order, oldest first: places in the batch.
    parked: HashMap<OrderKey, Vec<usize>>,
    outcomes: Vec<Outcome>,
}

impl<'a> Work<'a> {
    fn begin(batch: Batch<'a>, snapshot: Snapshot, policy: &'a Policy) -> Self {
        let mut parked: HashMap<OrderKey, Vec<usize>> = HashMap::new();
        for (offset, command) in batch.waiting.iter().enumerate() {
            if let Some(order) = command.kind.order() {
                parked.entry(order.clone()).or_default().push(batch.commands.len() + offset);
            }
        }
        Self {
            batch,
            rules: Rules { policy, now: snapshot.now, hold_from: snapshot.hold_from, routes: snapshot.routes },
            ledger: Ledger::new(snapshot.stock, snapshot.known, snapshot.new_stock).with_slots(snapshot.slots),
            orders: snapshot.orders.into_iter().map(|(key, order)| (key.clone(), Entry::new(key, order))).collect(),
            till: Till::new(snapshot.payments),
            seen: snapshot.seen,
            documents: snapshot.documents,
            shipments: snapshot.shipments,
            parked,
            outcomes: vec![Outcome::Waiting; batch.len()],
        }
    }

    fn expire_what_is_due(&mut self) {
        let now = self.rules.now;
        let mut due: Vec<&mut Entry> = self.orders.values_mut().filter(|entry| entry.row.is_due(now)).collect();
        due.sort_by(|a, b| (a.row.expires_at, &a.key).cmp(&(b.row.expires_at, &b.key)));
        for entry in due {
            orders::expire(entry, &mut self.ledger);
        }
    }

    /// Decides one command unless its event was decided before, then whatever waits for its order: the command may have brought or confirmed it.
    fn take(&mut self, index: usize) {
        let command = self.batch.get(index);
        if command.event.as_ref().is_some_and(|event| self.seen.contains(event)) && !self.is_new_order(command) {
            self.outcomes[index] = Outcome::Redelivered(self.present(index, command));
        } else {
            self.apply(index, command);
        }
        if let Some(order) = command.kind.order() {
            self.wake(order);
        }
    }

    /// Takes the stock messages that were kept for a person: their documents were filed when they were kept.
    fn take_kept(&mut self) {
        for offset in 0..self.batch.waiting.len() {
            let index = self.batch.commands.len() + offset;
            let command = self.batch.get(index);
            if command.kind.order().is_some() {
                continue;
            }
            self.outcomes[index] = inventory::take_kept(command, index, &mut self.ledger);
            if let (Some(event), Outcome::Refused(_)) = (&command.event, &self.outcomes[index]) {
                self.seen.remove(event);
            }
        }
    }

    /// Takes what waits for this order, if the order has come. What still has to wait is parked again, and taken once more if any of the others was
    /// decided: it may have been what that waited for. What came back is taken last: it may wait for a shipment that was delivered after it.
    fn wake(&mut self, order: &OrderKey) {
        if self.parked.is_empty() || !self.orders.get(order).is_some_and(|entry| entry.born) {
            return;
        }
        let mut waiting = usize::MAX;
        while let Some(mut woken) = self.parked.remove(order) {
            if woken.len() == waiting {
                self.parked.insert(order.clone(), woken);
                return;
            }
            waiting = woken.len();
            woken.sort_by_key(|index| matches!(self.batch.get(*index).kind, Kind::Return(_)));
            for index in woken {
                self.apply(index, self.batch.get(index));
            }
        }
    }

    /// Takes what waits for orders that only expired in this batch, and that no command of it is about.
    fn wake_the_rest(&mut self) {
        let waited_for: BTreeSet<OrderKey> = self.parked.keys().cloned().collect();
        for order in &waited_for {
            self.wake(order);
        }
    }

    /// Decides one command. What was refused never counts as decided, also if it waited before.
    fn apply(&mut self, index: usize, command: &Command) {
        let outcome = self.decide_one(index, command);
        if let Some(event) = &command.event {
            if matches!(outcome, Outcome::Refused(_)) {
                self.seen.remove(event);
            } else if !self.made_its_order(command) {
                self.seen.insert(event.clone());
            }
        }
        self.outcomes[index] = outcome;
    }

    /// Whether it creates an order that has not come: the order is the key, whatever other order its event id was used for.
    fn is_new_order(&self, command: &Command) -> bool {
        match &command.kind {
            Kind::Create(create) => self.orders.get(&create.order).is_some_and(|entry| !entry.born),
            _ => false,
        }
    }

    /// Whether it created its order, whose row then bears its id: it takes no other place among the events.
    fn made_its_order(&self, command: &Command) -> bool {
        match (&command.kind, &command.event) {
            (Kind::Create(create), Some(event)) => {
                self.orders.get(&create.order).is_some_and(|entry| entry.row.event_id.as_ref() == Some(&event.id))
            }
            _ => false,
        }
    }

    fn decide_one(&mut self, index: usize, command: &Command) -> Outcome {
        match &command.kind {
            Kind::Expire(_) | Kind::Wake(_) => Outcome::Attended,
            Kind::Receive(_) | Kind::WriteOff(_) | Kind::Count(_) | Kind::Transfer(_) => {
                inventory::take(command, index, &mut self.ledger, &mut self.documents)
            }
            Kind::Create(_) | Kind::Renew(_) | Kind::Cancel(_) | Kind::Payment(_) | Kind::Ship(_) | Kind::Return(_) => {
                self.decide_order(index, command)
            }
        }
    }

    fn decide_order(&mut self, index: usize, command: &Command) -> Outcome {
        let (Some(event), Some(key)) = (&command.event, command.kind.order()) else {
            return Outcome::Attended;
        };
        let shipment_waits = matches!(command.kind, Kind::Return(_)) && self.shipment_waits(key);
        let Some(entry) = self.orders.get_mut(key) else {
            return Outcome::Waiting;
        };
        let ask = orders::Ask { index, event, rules: &self.rules };
        let outcome = match &command.kind {
            Kind::Create(create) => Some(orders::create(&ask, create, entry, &mut self.ledger)),
            _ if !entry.born => None,
            Kind::Renew(renew) => Some(orders::renew(&ask, renew, entry, &mut self.ledger)),
            Kind::Cancel(cancel) => {
                let before = payments::Before::of(entry);
                let paid_here = self.till.is_paid(key);
                let outcome = orders::cancel(&ask, cancel, entry, &mut self.ledger, paid_here);
                payments::after_cancel(&ask, &before, entry, &mut self.ledger, &mut self.till);
                Some(outcome)
            }
            Kind::Payment(report) => Some(payments::take(&ask, report, entry, &mut self.ledger, &mut self.till)),
            Kind::Ship(shipment) => shipments::ship(&ask, shipment, entry, &mut self.ledger, &mut self.shipments),
            Kind::Return(_) if shipment_waits => None,
            Kind::Return(returned) => Some(shipments::take_back(&ask, returned, entry, &mut self.ledger)),
            _ => Some(Outcome::Attended),
        };
        outcome.unwrap_or_else(|| {
            self.parked.entry(key.clone()).or_default().push(index);
            Outcome::Waiting
        })
    }

    /// Whether a shipment of this order waits.
    fn shipment_waits(&self, order: &OrderKey) -> bool {
        let mut parked = self.parked.get(order).into_iter().flatten();
        parked.any(|index| matches!(self.batch.get(*index).kind, Kind::Ship(_)))
    }

    /// The present state of the order that a redelivered event is about.
    fn present(&self, index: usize, command: &Command) -> Option<Box<super::decision::Answer>> {
        let entry = self.orders.get(command.kind.order()?)?;
        let event = command.event.as_ref()?;
        entry.born.then(|| Box::new(entry.present(index, event)))
    }

    fn finish(self) -> Decision {
        let mut decision = self.ledger.finish();
        self.till.finish(&mut decision);
        decision.forgotten = forgotten(self.batch, &self.outcomes, &self.seen);
        decision.outcomes = self.outcomes;
        for mut entry in self.orders.into_values() {
            entry.write_slots(&mut decision);
            entry.write(&mut decision);
        }
        // The map has no order of its own. Most orders are new and change nothing that is stored: there is little to sort.
        decision.new_reservations.sort_unstable_by_key(|new| new.reservation.id.place());
        decision.reservations.sort_unstable_by_key(|change| change.id);
        decision.new_slots.sort_unstable_by_key(|new| new.hold.id.place());
        decision.slots.sort_unstable_by_key(|change| change.id);
        decision.orders.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        decision
    }
}

/// Events of refused commands, unless a later delivery in the same batch was taken after all.
fn forgotten(batch: Batch<'_>, outcomes: &[Outcome], seen: &HashSet<EventKey>) -> Vec<EventKey> {
    let refused = (0..batch.len()).filter(|index| matches!(outcomes[*index], Outcome::Refused(_)));
    let events: BTreeSet<&EventKey> = refused.filter_map(|index| batch.get(index).event.as_ref()).collect();
    events.into_iter().filter(|event| !seen.contains(event)).cloned().collect()
}

impl Entry {
    /// Adds what must be written of this order.
    fn write(self, decision: &mut Decision) {
        let row_changed = self.row != self.stored;
        let end_changed = self.row.expires_at != self.stored.expires_at;
        let mut stored = self.stored_lines.into_iter();
        for reservation in self.lines {
            let held_until = reservation.state.is_live().then_some(self.row.expires_at).flatten();
            match reservation.id {
                LineId::New(_) => decision.new_reservations.push(NewReservation {
                    order: self.key.clone(),
                    reservation,
                    expires_at: self.row.expires_at,
                }),
                LineId::Stored(id) => {
                    let Some(before) = stored.next() else {
                        continue;
                    };
                    if before != reservation || (end_changed && held_until.is_some()) {
                        decision.reservations.push(ReservationChange {
                            id,
                            before: before.state,
                            qty_before: before.qty,
                            shipped_before: before.shipped_qty,
                            returned_before: before.returned_qty,
                            after: reservation,
                            expires_at: held_until,
                        });
                    }
                }
            }
        }
        if row_changed || self.denial.is_some() {
            let Self { key, row, denial, .. } = self;
            decision.orders.push(OrderChange { key, before: self.stored.state, row, denial });
        }
    }
}

impl LineId {
    fn place(self) -> usize {
        match self {
            Self::New(place) => place,
            Self::Stored(_) => usize::MAX,
        }
    }
}
