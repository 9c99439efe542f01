//! A payment starts, fails, succeeds, is refunded; a cancel asks paid money back.
//!
//! What a gateway says is recorded, whatever the order is; then the order's state says what follows. Money that finds nothing to confirm is
//! required back or becomes a question for a person, never silence.

use super::ledger::{Entry, Ledger, view, view_slot};
use super::orders::{Ask, choose_again, hold_again};
use super::slots;
use super::till::Till;
use crate::domain::Qty;
use crate::domain::decision::{
    Answer, AnswerReason, LineView, Outcome, Review, ReviewKind, ReviewSubject, SlotView, What,
};
use crate::domain::money::Money;
use crate::domain::order::{OrderKey, OrderState, Reservation, ReservationState};
use crate::domain::payment::{
    Payment, PaymentKey, PaymentReport, PaymentState, RefundReason, RefundRequired, Reported,
};

/// Decides what a gateway says.
pub(super) fn take(
    ask: &Ask<'_>,
    report: &PaymentReport,
    entry: &mut Entry,
    ledger: &mut Ledger,
    till: &mut Till,
) -> Outcome {
    let mut desk = Desk { ask, report, entry, ledger, till };
    if let Some(outcome) = desk.said_before() {
        return outcome;
    }
    match report.says {
        PaymentState::Started => desk.start(),
        PaymentState::Failed => desk.fail(),
        PaymentState::Succeeded => desk.succeed(),
        PaymentState::Refunded => desk.refund(),
    }
}

/// Where one report is worked on.
struct Desk<'a> {
    ask: &'a Ask<'a>,
    report: &'a PaymentReport,
    entry: &'a mut Entry,
    ledger: &'a mut Ledger,
    till: &'a mut Till,
}

impl Desk<'_> {
    /// What becomes of a report that is no news: a payment of another order, the same once more, or the same otherwise.
    fn said_before(&mut self) -> Option<Outcome> {
        let known = self.till.get(&self.report.key)?;
        if known.order != self.report.order {
            let of = format!("belongs to order {} of channel {}", known.order.order_ref, known.order.channel);
            return Some(self.mismatch(&of));
        }
        let is_it = |reported: &&Reported| {
            let by_event = reported.says != PaymentState::Refunded || reported.event_id == self.ask.event.id;
            reported.says == self.report.says && by_event
        };
        let before = known.reports.iter().find(is_it)?;
        if before.amount == self.report.amount {
            return Some(self.noted());
        }
        let otherwise = format!("was reported {} before, of {}", self.report.says.word(), words(before.amount));
        Some(self.mismatch(&otherwise))
    }

    /// The hold is prolonged, if the payment is news and the order still held.
    fn start(&mut self) -> Outcome {
        let state = self.till.record(self.ask, self.report).state;
        if state != PaymentState::Started || self.entry.row.state != OrderState::Held {
            return self.noted();
        }
        let policy = self.ask.rules.policy;
        let longest = self.entry.row.created_at + policy.hold.longest();
        let end = (self.ask.rules.now + policy.payments.window()).min(longest);
        if self.entry.row.expires_at.is_some_and(|before| before >= end) {
            return self.noted();
        }
        self.entry.row.expires_at = Some(end);
        Outcome::Answered(self.ledger.tell(self.ask.answer(self.entry)))
    }

    /// The hold is given back, unless another payment lives, or the settings leave it to its end.
    fn fail(&mut self) -> Outcome {
        let state = self.till.record(self.ask, self.report).state;
        let another_lives = self.till.of_order(&self.report.order).any(Payment::lives);
        let releases = state == PaymentState::Failed
            && self.entry.row.state == OrderState::Held
            && !self.ask.rules.policy.payments.failure_keeps
            && !another_lives;
        if !releases {
            return self.noted();
        }
        let why = self.ask.why(Some(AnswerReason::PaymentFailed.word().into()));
        for line in self.entry.lines.iter_mut().filter(|line| line.state == ReservationState::Held) {
            let outstanding = line.outstanding();
            self.ledger.step(line, ReservationState::Released, -outstanding, &why);
        }
        slots::step_all(self.entry, ReservationState::Held, ReservationState::Released, &why, self.ledger);
        self.entry.settle();
        let reason = Some(AnswerReason::PaymentFailed);
        let answer = Answer { what: What::Released, reason, ..self.ask.answer(self.entry) };
        Outcome::Answered(self.ledger.tell(answer))
    }

    fn succeed(&mut self) -> Outcome {
        if self.till.record(self.ask, self.report).state != PaymentState::Succeeded {
            // It was refunded before it was reported: a person was asked then.
            return self.noted();
        }
        match self.entry.row.state {
            OrderState::Rejected => self.require_back(RefundReason::OrderRejected),
            OrderState::Held => self.confirm(None),
            OrderState::Confirmed | OrderState::Shipped => self.pay_what_is_confirmed(),
            OrderState::Expired | OrderState::Released => self.confirm_late(),
            OrderState::Awaited => self.noted(),
        }
    }

    /// The order is the customer's, if the money is what it costs.
    fn confirm(&mut self, reason: Option<AnswerReason>) -> Outcome {
        if !self.agrees() {
            return self.mismatch_of_order();
        }
        let why = self.ask.why(None);
        for line in self.entry.lines.iter_mut().filter(|line| line.state == ReservationState::Held) {
            self.ledger.step(line, ReservationState::Confirmed, 0, &why);
        }
        slots::step_all(self.entry, ReservationState::Held, ReservationState::Confirmed, &why, self.ledger);
        self.entry.settle();
        self.pays();
        let answer = Answer { reason, ..self.ask.answer(self.entry) };
        Outcome::Answered(self.ledger.tell(answer))
    }

    /// An order that is confirmed was paid already, or pays at the door or elsewhere: then its first payment is recorded.
    fn pay_what_is_confirmed(&mut self) -> Outcome {
        if self.till.is_paid(&self.report.order) {
            return self.require_back(RefundReason::AlreadyPaid);
        }
        if !self.agrees() {
            return self.mismatch_of_order();
        }
        self.pays();
        self.noted()
    }

    /// The hold has ended: every line and slot that was not cancelled is had again, or the money goes back.
    fn confirm_late(&mut self) -> Outcome {
        if !self.entry.can_be_had_again() {
            return self.require_back(RefundReason::Cancelled);
        }
        // The order's state comes before the amount: what could not be had anyway goes back, whatever it is.
        let warehouses = match choose_again(self.ask, self.entry, self.ledger) {
            Ok(warehouses) => warehouses,
            Err((rejection, _, denied)) => {
                self.ask.deny(self.entry, rejection, denied);
                return self.require_back(RefundReason::ExpiredAndSoldOut);
            }
        };
        if !self.agrees() {
            return self.mismatch_of_order();
        }
        let why = self.ask.why(Some(AnswerReason::HadAgain.word().into()));
        hold_again(warehouses, self.entry, self.ledger, &why);
        self.confirm(Some(AnswerReason::HadAgain))
    }

    /// A refund is added to those before it, and settles what was required.
    fn refund(&mut self) -> Outcome {
        let payment = self.till.record(self.ask, self.report);
        let (known, refunded) = (payment.amount, self.report.amount);
        if let (Some(known), Some(refunded)) = (known, refunded)
            && known.currency != refunded.currency
        {
            return self.mismatch(&format!(
                "is {}, and cannot be refunded by {}",
                words(Some(known)),
                words(Some(refunded))
            ));
        }
        payment.refunded = payment.refunded.saturating_add(refunded.map_or(0, |refunded| refunded.amount));
        // A refund without an amount is whole, and so is one of a payment whose amount nobody knows: nothing else could ever settle it.
        let whole = refunded.is_none() || known.is_none_or(|known| payment.refunded >= known.amount);
        let open = payment.state != PaymentState::Refunded;
        let asked = open && (payment.is_asked_back() || (!whole && !payment.required.is_empty()));
        if whole {
            payment.state = PaymentState::Refunded;
        }
        self.settle(whole);
        if !asked {
            let detail = format!("{} was refunded, which nothing here required", self.name());
            self.ask_person(ReviewKind::RefundUnasked, detail);
        }
        self.noted()
    }

    fn settle(&mut self, whole: bool) {
        let settles = |reason: RefundReason| whole || reason == RefundReason::PartiallyCancelled;
        self.ledger.settle_refunds(&self.report.key, settles);
        self.till.settle(&self.report.key, whole, settles);
    }

    /// Whether the money is what the order costs; one of which nobody said what it costs takes any.
    fn agrees(&self) -> bool {
        self.entry.row.total.is_none_or(|total| self.report.amount == Some(total))
    }

    fn pays(&mut self) {
        if let Some(payment) = self.till.get_mut(&self.report.key) {
            payment.pays = true;
        }
    }

    fn require_back(&mut self, reason: RefundReason) -> Outcome {
        let concerned = Concerned::all_of(self.entry);
        require(self.ask, &self.report.key, reason, concerned, self.ledger, self.till);
        self.noted()
    }

    /// How the order stands, for whoever asked directly: nothing is told of it.
    fn noted(&self) -> Outcome {
        Outcome::Noted(Box::new(self.entry.present(self.ask.index, self.ask.event)))
    }

    fn mismatch_of_order(&mut self) -> Outcome {
        let total = words(self.entry.row.total);
        let paid = words(self.report.amount);
        self.mismatch(&format!(
            "is {paid}, but order {} costs {total}: nothing was confirmed",
            self.report.order.order_ref
        ))
    }

    fn mismatch(&mut self, what: &str) -> Outcome {
        let detail = format!("{} {what}", self.name());
        self.ask_person(ReviewKind::PaymentMismatch, detail);
        self.noted()
    }

    fn ask_person(&mut self, kind: ReviewKind, detail: String) {
        let subject = ReviewSubject::Payment(self.report.key.clone(), self.report.order.clone());
        self.ledger.ask_person(Review { kind, subject, detail, cause: self.ask.index });
    }

    fn name(&self) -> String {
        let PaymentKey { provider, payment_id } = &self.report.key;
        let OrderKey { channel, order_ref } = &self.report.order;
        format!("payment {payment_id} of {provider} for order {order_ref} of channel {channel}")
    }
}

fn words(amount: Option<Money>) -> String {
    amount.map_or_else(|| "no stated amount".to_owned(), |money| format!("{} {}", money.amount, money.currency))
}

/// The lines and slots that a refund is about.
#[derive(Clone)]
struct Concerned {
    lines: Vec<LineView>,
    slots: Vec<SlotView>,
}

impl Concerned {
    fn all_of(entry: &Entry) -> Self {
        Self { lines: entry.lines.iter().map(view).collect(), slots: entry.slots.iter().map(view_slot).collect() }
    }
}

/// Requires what is left of a payment, or after a partial cancel a part that nobody here knows.
fn require(
    ask: &Ask<'_>,
    key: &PaymentKey,
    reason: RefundReason,
    concerned: Concerned,
    ledger: &mut Ledger,
    till: &mut Till,
) {
    let Some(payment) = till.get_mut(key) else { return };
    payment.required.push(reason);
    ledger.require_refund(RefundRequired {
        key: key.clone(),
        order: payment.order.clone(),
        reason,
        amount: payment.left().filter(|_| reason != RefundReason::PartiallyCancelled),
        lines: concerned.lines,
        slots: concerned.slots,
        event_id: ask.event.id.clone(),
        cause: ask.index,
        settled: false,
    });
}

/// What an order had before a cancel: units outstanding of each line, and whether each slot was its own.
pub(super) struct Before {
    outstanding: Vec<Qty>,
    live: Vec<bool>,
}

impl Before {
    pub fn of(entry: &Entry) -> Self {
        Self {
            outstanding: entry.lines.iter().map(Reservation::outstanding).collect(),
            live: entry.slots.iter().map(|hold| hold.state.is_live()).collect(),
        }
    }

    /// What was given back since.
    fn given_back(&self, entry: &Entry) -> Concerned {
        let units = entry.lines.iter().zip(&self.outstanding).map(|(line, before)| (line, before - line.outstanding()));
        let lines = units.filter(|(_, given)| *given > 0).map(|(line, given)| LineView {
            qty: given,
            shipped_qty: 0,
            returned_qty: 0,
            state: ReservationState::Released,
            ..view(line)
        });
        let slots = entry.slots.iter().zip(&self.live).filter(|(hold, live)| **live && !hold.state.is_live());
        Concerned { lines: lines.collect(), slots: slots.map(|(hold, _)| view_slot(hold)).collect() }
    }
}

/// A cancel has given units or slots back: money that was taken for them is required back, once a payment. Of an order of which nothing is left that
/// is whatever was taken for it; of a part, what pays the order.
pub(super) fn after_cancel(ask: &Ask<'_>, before: &Before, entry: &Entry, ledger: &mut Ledger, till: &mut Till) {
    let given_back = before.given_back(entry);
    if given_back.lines.is_empty() && given_back.slots.is_empty() {
        return;
    }
    // Lines that had expired and were not had again may be all that is left beside the cancelled ones.
    let whole = matches!(entry.row.state, OrderState::Released | OrderState::Expired);
    let concerned = |payment: &&Payment| {
        payment.state == PaymentState::Succeeded && !payment.is_asked_back() && (whole || payment.pays)
    };
    let keys: Vec<PaymentKey> =
        till.of_order(&entry.key).filter(concerned).map(|payment| payment.key.clone()).collect();
    for key in keys {
        let (reason, concerned) = if whole {
            (RefundReason::Cancelled, Concerned::all_of(entry))
        } else {
            (RefundReason::PartiallyCancelled, given_back.clone())
        };
        require(ask, &key, reason, concerned, ledger, till);
    }
}
