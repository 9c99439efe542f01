//! What must hold after every batch, whatever was decided.

use std::collections::HashMap;

use super::{World, key_of};
use crate::domain::ReservationState::{Expired, Held};
use crate::domain::{
    Command, JournalEntry, LineId, Order, OrderState, Outcome, ParcelKind, PaymentMode, PaymentState, Qty,
    RefundReason, Reservation, ReservationState, SlotHold, Step, slot_steps,
};

impl World {
    pub(super) fn check(&self, commands: &[Command], waiting: &[Command]) {
        assert!(self.fates.iter().all(|fate| !fate.is_empty()), "each command has its fate");
        self.check_answers(&commands.iter().chain(waiting).collect::<Vec<_>>());
        self.check_stock();
        self.check_money();
        self.check_slots();
        let mut last: HashMap<LineId, ReservationState> = HashMap::new();
        for step in &self.journal {
            assert_eq!(last.insert(step.line, step.to), step.from, "a step begins where the last one ended");
            assert!(is_edge(step), "no edge: {step:?}");
        }
        for (key, order) in &self.orders {
            if !matches!(order.stored.state, OrderState::Awaited) {
                assert_eq!(
                    order.stored.state,
                    Order::state_of(&order.lines, &order.slots),
                    "{key:?} is what its lines make it"
                );
            }
            for line in &order.lines {
                assert_eq!(last.get(&line.id), Some(&line.state), "a line is where its last step left it");
                assert!(line.qty >= 1 && (0..=line.qty).contains(&line.shipped_qty));
                assert!((0..=line.shipped_qty).contains(&line.returned_qty));
                let carried = |returned: bool| -> Qty {
                    let own = self.parcels.iter().filter(|parcel| parcel.line == line.id);
                    own.filter(|parcel| (parcel.kind != ParcelKind::Shipped) == returned).map(|parcel| parcel.qty).sum()
                };
                assert_eq!(
                    (line.shipped_qty, line.returned_qty),
                    (carried(false), carried(true)),
                    "a line is its parcels"
                );
                if line.state == Held {
                    assert_eq!(self.ends[&line.id], order.stored.expires_at, "a line ends with its order");
                }
            }
        }
    }

    /// One outcome per command, and each answer is that of one command, or of a timer.
    fn check_answers(&self, commands: &[&Command]) {
        let decision = &self.decision;
        assert_eq!(decision.outcomes.len(), commands.len());
        let mut tellers: Vec<Option<usize>> = vec![None; decision.answers.len()];
        for (index, outcome) in decision.outcomes.iter().enumerate() {
            if let Outcome::Answered(place) = outcome {
                assert_eq!(tellers[*place].replace(index), None, "an answer is one command's");
            }
        }
        for (answer, teller) in decision.answers.iter().zip(tellers) {
            let event = teller.and_then(|index| commands[index].event.as_ref());
            assert_eq!(answer.cause, teller);
            assert_eq!(answer.in_reply_to, event.map(|event| event.id.clone()));
        }
    }

    /// Money that was taken pays an order that is the customer's, or is required back, or a person was asked. An order is paid once, and only
    /// what is paid, or was never to be paid first, is the customer's.
    fn check_money(&self) {
        for payment in self.payments.values() {
            let id = &payment.key.payment_id;
            let order = &self.orders[&payment.order].stored;
            let pays = payment.pays && matches!(order.state, OrderState::Confirmed | OrderState::Shipped);
            let reviewed = self.reviews.iter().any(|review| review.ends_with(&format!(" {id}")));
            let settled = payment.state != PaymentState::Succeeded;
            assert!(pays || payment.is_asked_back() || reviewed || settled, "{id} is silence");
            let whole = payment.required.iter().filter(|reason| **reason != RefundReason::PartiallyCancelled);
            assert!(whole.count() <= 1, "{id} is asked back once");
        }
        for (key, order) in &self.orders {
            let paid = self.payments.values().filter(|payment| payment.order == *key && payment.pays).count();
            assert!(paid <= 1, "{key:?} is paid once");
            let row = &order.stored;
            let customers = matches!(row.state, OrderState::Confirmed | OrderState::Shipped);
            assert!(!customers || row.payment != PaymentMode::Online || paid == 1, "{key:?} is paid");
        }
    }

    fn check_slots(&self) {
        let mut last: HashMap<LineId, ReservationState> = HashMap::new();
        for step in &self.slot_journal {
            assert_eq!(last.insert(step.hold, step.to), step.from, "a step begins where the last one ended");
            let allowed = slot_steps().any(|edge| (edge.from, edge.to) == (step.from, step.to));
            let by_timer = step.reason.as_deref() == Some("hold_ended");
            assert!(allowed && by_timer == (step.to == Expired), "no edge: {step:?}");
            assert_eq!(step.event_id.is_none(), by_timer, "only a timer has no event");
        }
        for order in self.orders.values() {
            for hold in &order.slots {
                assert_eq!(last.get(&hold.id), Some(&hold.state), "a slot is where its last step left it");
                if hold.state == Held {
                    assert_eq!(self.slot_ends[&hold.id], order.stored.expires_at, "a slot ends with its order");
                }
            }
        }
        let live: Vec<&SlotHold> =
            self.orders.values().flat_map(|order| &order.slots).filter(|hold| hold.state.is_live()).collect();
        for (place, one) in live.iter().enumerate() {
            for other in &live[..place] {
                let (a, b) = (&one.slot, &other.slot);
                assert!(a.resource != b.resource || a.to <= b.from || b.to <= a.from, "{a:?} and {b:?} overlap");
            }
        }
    }

    fn check_stock(&self) {
        for (key, stock) in &self.stock {
            assert!(0 <= stock.reserved && stock.reserved <= stock.on_hand, "{key:?}: {stock:?}");
            assert!(stock.version > 0, "{key:?} was never told of");
            let lines = self.orders.values().flat_map(|order| &order.lines).filter(|line| key_of(line) == *key);
            let outstanding: Qty = lines.map(Reservation::outstanding).sum();
            assert_eq!(stock.reserved, outstanding, "reserved of {key:?} is what is outstanding");
            let steps = self.journal.iter().filter(|step| step.sku == key.sku && step.warehouse == key.warehouse);
            assert_eq!(stock.reserved, steps.map(|step| step.qty).sum::<Qty>(), "reserved of {key:?} is its journal");
            assert_eq!(stock.on_hand, self.moved.get(key).copied().unwrap_or(0), "on_hand of {key:?} is its movements");
        }
        assert!(self.moved.keys().all(|key| self.stock.contains_key(key)), "a row that moved stays");
    }
}

/// An edge of the table, and taken for the right reason: only a timer has no event.
fn is_edge(step: &JournalEntry) -> bool {
    let by_timer = step.reason.as_deref() == Some("hold_ended");
    Step::allows(step.from, step.to, step.qty)
        && step.event_id.is_none() == by_timer
        && by_timer == (step.to == Expired)
}
