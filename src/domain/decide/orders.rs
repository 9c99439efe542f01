//! An order comes, is renewed, is cancelled, expires.

use std::sync::Arc;

use super::choose::{Short, Wanted, choose};
use super::ledger::{Entry, Ledger, Rules, Why, shortage};
use super::slots;
use crate::domain::Qty;
use crate::domain::command::{AskedLine, CancelLine, CancelOrder, CreateOrder, EventKey, RenewOrder};
use crate::domain::decision::{
    Answer, AnswerReason, Outcome, Rejection, Review, ReviewKind, ReviewSubject, Shortage, What,
};
use crate::domain::denial::{Denial, Denied};
use crate::domain::names::Warehouse;
use crate::domain::order::{OrderRow, OrderState, PaymentMode, Reservation, ReservationState};
use crate::domain::refusal::{Reason, Refusal};

/// Who asks, and by which rules.
pub(super) struct Ask<'a> {
    pub index: usize,
    pub event: &'a EventKey,
    pub rules: &'a Rules<'a>,
}

impl Ask<'_> {
    pub(super) fn why(&self, reason: Option<Arc<str>>) -> Why<'_> {
        Why { cause: Some(self.index), event_id: Some(&self.event.id), reason }
    }

    /// An answer to this command with the order as it stands.
    pub(super) fn answer(&self, entry: &Entry) -> Answer {
        entry.answer(Some(self.index), Some(self.event.id.clone()))
    }

    /// Notes what the order could not have, and what stands in its way.
    pub fn deny(&self, entry: &mut Entry, reason: Rejection, by: Denied) {
        let (event_id, at) = (self.event.id.clone(), self.rules.now);
        entry.denial = Some(Denial { event_id, at, reason, by });
    }

    pub(super) fn tell_present(&self, entry: &Entry, ledger: &mut Ledger) -> Outcome {
        Outcome::Answered(ledger.tell(entry.present(self.index, self.event)))
    }
}

/// A new order is held or rejected; a repeat is told how it stands; a rejected one is tried again.
pub(super) fn create(ask: &Ask<'_>, create: &CreateOrder, entry: &mut Entry, ledger: &mut Ledger) -> Outcome {
    if entry.born {
        if entry.row.event_id.as_ref() == Some(&ask.event.id) {
            return Outcome::Redelivered(Some(Box::new(entry.present(ask.index, ask.event))));
        }
        if entry.row.state != OrderState::Rejected {
            return repeat(ask, create, entry, ledger);
        }
    }
    let retried = entry.born;
    entry.born = true;
    let from = if retried { ask.rules.now } else { ask.rules.hold_from };
    let fresh = OrderRow::success(create, ask.event.id.clone(), ask.rules.policy.hold, from);
    entry.row = if retried {
        OrderRow { event_id: entry.row.event_id.clone(), created_at: entry.row.created_at, ..fresh }
    } else {
        fresh
    };
    match serve(create, ask.rules, ledger) {
        Ok(warehouses) => hold(ask, create, warehouses, entry, ledger),
        Err((rejection, shortages, denied)) => {
            ask.deny(entry, rejection, denied);
            reject(ask, rejection, shortages, entry, ledger)
        }
    }
}

/// The same content is answered, other content is a conflict.
fn repeat(ask: &Ask<'_>, create: &CreateOrder, entry: &Entry, ledger: &mut Ledger) -> Outcome {
    if entry.row.digest == Some(create.digest) {
        return ask.tell_present(entry, ledger);
    }
    Outcome::Refused(Refusal::new(
        Reason::ConflictingDuplicate,
        format!("order_ref {} of this channel was taken before with other content", entry.key.order_ref),
    ))
}

/// A warehouse for every line, or the first reason that applies.
fn serve(create: &CreateOrder, rules: &Rules<'_>, ledger: &mut Ledger) -> Result<Vec<Warehouse>, Missing> {
    let short_of = |is_short: &dyn Fn(&AskedLine) -> bool| -> Vec<Shortage> {
        create.lines.iter().filter(|line| is_short(line)).map(|line| shortage(&line.sku, line.qty, 0)).collect()
    };
    let unknown = short_of(&|line| !ledger.knows_sku(&line.sku));
    if !unknown.is_empty() {
        return Err((Rejection::UnknownSku, unknown, Denied::default()));
    }
    let nowhere = short_of(&|line| line.warehouse.as_ref().is_some_and(|named| !ledger.knows_warehouse(named)));
    if !nowhere.is_empty() {
        return Err((Rejection::UnknownWarehouse, nowhere, Denied::default()));
    }
    let undefined = slots::unknown(create, ledger);
    if !undefined.is_empty() {
        return Err((Rejection::UnknownResource, undefined, Denied::default()));
    }
    if !rules.policy.accept_orders {
        return Err((Rejection::NotAccepting, Vec::new(), Denied::default()));
    }
    let wanted: Vec<Wanted<'_>> = create
        .lines
        .iter()
        .map(|line| Wanted { sku: &line.sku, qty: line.qty, named: line.warehouse.as_ref(), before: None })
        .collect();
    let chosen = choose(&wanted, &create.order.channel, rules, ledger);
    let taken = slots::missing(create.slots.iter(), rules, ledger);
    together(chosen, taken, ledger)
}

/// Why an order has nothing: the reason, all that is missing, and what stands in its way.
pub(super) type Missing = (Rejection, Vec<Shortage>, Denied);

/// Units and slots, all or nothing. Everything that is missing is named; units give the reason where they are among it.
fn together(
    chosen: Result<Vec<Warehouse>, Short>,
    taken: slots::Missing,
    ledger: &mut Ledger,
) -> Result<Vec<Warehouse>, Missing> {
    match chosen {
        Ok(warehouses) if taken.shortages.is_empty() => Ok(warehouses),
        Ok(_) => Err((Rejection::SlotTaken, taken.shortages, Denied { rows: Vec::new(), slots: taken.denied })),
        Err(short) => {
            ledger.fell_short(short.rows);
            let shortages = short.shortages.into_iter().chain(taken.shortages).collect();
            Err((Rejection::InsufficientStock, shortages, Denied { rows: short.denied, slots: taken.denied }))
        }
    }
}

fn hold(
    ask: &Ask<'_>,
    create: &CreateOrder,
    warehouses: Vec<Warehouse>,
    entry: &mut Entry,
    ledger: &mut Ledger,
) -> Outcome {
    let state = match create.payment {
        PaymentMode::Online => ReservationState::Held,
        PaymentMode::Prepaid | PaymentMode::OnDelivery => ReservationState::Confirmed,
    };
    entry.lines = create
        .lines
        .iter()
        .zip(warehouses)
        .map(|(line, warehouse)| ledger.open(line, warehouse, state, &ask.why(None)))
        .collect();
    slots::hold(create, state, entry, &ask.why(None), ledger);
    Outcome::Answered(ledger.tell(ask.answer(entry)))
}

/// A rejected order holds nothing. One that was sold elsewhere already needs a person.
fn reject(
    ask: &Ask<'_>,
    rejection: Rejection,
    shortages: Vec<Shortage>,
    entry: &mut Entry,
    ledger: &mut Ledger,
) -> Outcome {
    entry.row.state = OrderState::Rejected;
    entry.row.rejection = Some(rejection);
    entry.row.held_since = None;
    entry.row.expires_at = None;
    let sold_elsewhere =
        entry.row.payment == PaymentMode::Prepaid || ask.rules.policy.sold_elsewhere.contains(&entry.key.channel);
    if sold_elsewhere {
        ledger.ask_person(Review {
            kind: ReviewKind::Oversold,
            subject: ReviewSubject::Order(entry.key.clone()),
            detail: format!(
                "order {} of channel {} was sold already and cannot be held: {}",
                entry.key.order_ref,
                entry.key.channel,
                rejection.word()
            ),
            cause: ask.index,
        });
    }
    let answer = Answer { reason: Some(AnswerReason::Rejected(rejection)), shortages, ..ask.answer(entry) };
    Outcome::Answered(ledger.tell(answer))
}

/// A hold is prolonged, one that ended is had again, anything else is told how it stands.
pub(super) fn renew(ask: &Ask<'_>, renew: &RenewOrder, entry: &mut Entry, ledger: &mut Ledger) -> Outcome {
    match entry.row.state {
        OrderState::Held => prolong(ask, renew, entry, ledger),
        OrderState::Expired | OrderState::Released if entry.can_be_had_again() => have_again(ask, renew, entry, ledger),
        _ => ask.tell_present(entry, ledger),
    }
}

fn prolong(ask: &Ask<'_>, renew: &RenewOrder, entry: &mut Entry, ledger: &mut Ledger) -> Outcome {
    let hold = ask.rules.policy.hold;
    let since = entry.row.held_since.unwrap_or(entry.row.created_at);
    let end = (ask.rules.now + hold.clamp(renew.hold_for_s)).min(since + hold.longest());
    let prolonged = entry.row.expires_at.is_none_or(|before| before < end);
    if prolonged {
        entry.row.expires_at = Some(end);
    }
    let answer = Answer { duplicate: !prolonged, ..ask.answer(entry) };
    Outcome::Answered(ledger.tell(answer))
}

/// Every line and slot that was not cancelled, or none.
fn have_again(ask: &Ask<'_>, renew: &RenewOrder, entry: &mut Entry, ledger: &mut Ledger) -> Outcome {
    if !ask.rules.policy.accept_orders {
        ask.deny(entry, Rejection::NotAccepting, Denied::default());
        let reason = Some(AnswerReason::Rejected(Rejection::NotAccepting));
        let answer = Answer { what: What::Expired, reason, ..entry.present(ask.index, ask.event) };
        return Outcome::Answered(ledger.tell(answer));
    }
    let warehouses = match choose_again(ask, entry, ledger) {
        Ok(warehouses) => warehouses,
        Err((rejection, shortages, denied)) => {
            ask.deny(entry, rejection, denied);
            let reason = Some(AnswerReason::HoldEnded);
            let present = entry.present(ask.index, ask.event);
            let answer = Answer { what: What::Expired, reason, shortages, ..present };
            return Outcome::Answered(ledger.tell(answer));
        }
    };
    entry.row.held_since = Some(ask.rules.now);
    entry.row.expires_at = Some(ask.rules.now + ask.rules.policy.hold.clamp(renew.hold_for_s));
    hold_again(warehouses, entry, ledger, &ask.why(None));
    entry.settle();
    Outcome::Answered(ledger.tell(ask.answer(entry)))
}

/// A warehouse for each line that can be had again, if its slots can be too; or what is missing. Nothing is held yet.
pub(super) fn choose_again(ask: &Ask<'_>, entry: &Entry, ledger: &mut Ledger) -> Result<Vec<Warehouse>, Missing> {
    let wanted: Vec<Wanted<'_>> = entry
        .lines
        .iter()
        .filter(|line| line.can_be_had_again())
        .map(|line| Wanted {
            sku: &line.sku,
            qty: line.qty,
            named: line.named.then_some(&line.warehouse),
            before: Some(&line.warehouse),
        })
        .collect();
    let chosen = choose(&wanted, &entry.key.channel, ask.rules, ledger);
    let taken = slots::missing(slots::to_have_again(entry), ask.rules, ledger);
    together(chosen, taken, ledger)
}

/// Holds every line and slot that can be had again, each line in its warehouse.
pub(super) fn hold_again(warehouses: Vec<Warehouse>, entry: &mut Entry, ledger: &mut Ledger, why: &Why<'_>) {
    for (line, warehouse) in entry.lines.iter_mut().filter(|line| line.can_be_had_again()).zip(warehouses) {
        line.warehouse = warehouse;
        ledger.step(line, ReservationState::Held, line.qty, why);
    }
    slots::have_again(entry, why, ledger);
}

/// What is outstanding is given back, whole or as named. `paid_here` is whether a payment that is known here pays the order.
pub(super) fn cancel(
    ask: &Ask<'_>,
    cancel: &CancelOrder,
    entry: &mut Entry,
    ledger: &mut Ledger,
    paid_here: bool,
) -> Outcome {
    match entry.row.state {
        OrderState::Rejected | OrderState::Awaited => return ask.tell_present(entry, ledger),
        OrderState::Released | OrderState::Expired => {
            forgo(cancel, entry);
            return ask.tell_present(entry, ledger);
        }
        OrderState::Held | OrderState::Confirmed | OrderState::Shipped => {}
    }
    let named = match &cancel.lines {
        None => whole(entry),
        Some(lines) => partial(lines, entry),
    };
    let (named, slots) = match named.and_then(|named| Ok((named, slots::named(cancel, entry)?))) {
        Ok(named) => named,
        Err(detail) => return Outcome::Refused(Refusal::new(Reason::OverCancel, detail)),
    };
    let reason = cancel.reason.clone().unwrap_or_else(|| AnswerReason::Cancelled.word().into());
    let was_confirmed = entry.row.state == OrderState::Confirmed;
    for (place, qty) in named {
        give_back(&mut entry.lines[place], qty, &ask.why(Some(reason.clone())), ledger);
    }
    slots::give_back(&slots, entry, &ask.why(Some(reason)), ledger);
    entry.settle();
    if was_confirmed && entry.row.payment == PaymentMode::Prepaid && !paid_here {
        ask_for_refund_elsewhere(ask, entry, ledger);
    }
    let answer = Answer { what: What::Released, reason: Some(AnswerReason::Cancelled), ..ask.answer(entry) };
    Outcome::Answered(ledger.tell(answer))
}

/// An order that holds nothing any more: what the cancel names is never had again.
fn forgo(cancel: &CancelOrder, entry: &mut Entry) {
    slots::forgo(cancel, entry);
    for line in &mut entry.lines {
        match &cancel.lines {
            None => line.cancelled = true,
            Some(named) => {
                for unit in named {
                    if let CancelLine::Units(sku, qty) = unit
                        && *sku == line.sku
                    {
                        line.cancelled |= *qty >= line.qty;
                        line.qty = if line.cancelled { line.qty } else { line.qty - qty };
                    }
                }
            }
        }
    }
}

/// Every line with something outstanding, whole.
fn whole(entry: &Entry) -> Result<Vec<(usize, Qty)>, String> {
    let outstanding: Vec<(usize, Qty)> = entry
        .lines
        .iter()
        .enumerate()
        .map(|(place, line)| (place, line.outstanding()))
        .filter(|(_, qty)| *qty > 0)
        .collect();
    if outstanding.is_empty() && entry.slots.iter().all(|hold| !hold.state.is_live()) {
        return Err("nothing of this order is outstanding any more: it has shipped".into());
    }
    Ok(outstanding)
}

/// The named lines, each with no more than is outstanding.
fn partial(named: &[CancelLine], entry: &Entry) -> Result<Vec<(usize, Qty)>, String> {
    named
        .iter()
        .filter_map(|named| match named {
            CancelLine::Units(sku, qty) => Some((sku, qty)),
            CancelLine::Slot(_) => None,
        })
        .map(|(sku, qty)| {
            let found = entry.lines.iter().enumerate().find(|(_, line)| line.sku == *sku);
            let (place, line) = found.ok_or_else(|| format!("lines name sku {sku}, which is not in the order"))?;
            if *qty > line.outstanding() {
                return Err(format!("lines name {qty} of sku {sku}, of which {} are outstanding", line.outstanding()));
            }
            Ok((place, *qty))
        })
        .collect()
}

/// Gives back units of one line. With nothing left outstanding it is shipped if anything shipped, else released.
fn give_back(line: &mut Reservation, qty: Qty, why: &Why<'_>, ledger: &mut Ledger) {
    let all = qty == line.outstanding();
    let to = match (all, line.shipped_qty > 0) {
        (false, _) => line.state,
        (true, true) => ReservationState::Shipped,
        (true, false) => ReservationState::Released,
    };
    if to == ReservationState::Released {
        line.cancelled = true;
    } else {
        line.qty -= qty;
    }
    ledger.step(line, to, -qty, why);
}

fn ask_for_refund_elsewhere(ask: &Ask<'_>, entry: &Entry, ledger: &mut Ledger) {
    ledger.ask_person(Review {
        kind: ReviewKind::RefundElsewhere,
        subject: ReviewSubject::Order(entry.key.clone()),
        detail: format!(
            "order {} of channel {} was paid elsewhere and is cancelled here",
            entry.key.order_ref, entry.key.channel
        ),
        cause: ask.index,
    });
}

/// The hold has ended: all its lines and slots go back, and the world is told once.
pub(super) fn expire(entry: &mut Entry, ledger: &mut Ledger) {
    let why = Why { cause: None, event_id: None, reason: Some(AnswerReason::HoldEnded.word().into()) };
    for line in entry.lines.iter_mut().filter(|line| line.state == ReservationState::Held) {
        let outstanding = line.outstanding();
        ledger.step(line, ReservationState::Expired, -outstanding, &why);
    }
    slots::step_all(entry, ReservationState::Held, ReservationState::Expired, &why, ledger);
    entry.settle();
    let answer = Answer { what: What::Expired, reason: Some(AnswerReason::HoldEnded), ..entry.answer(None, None) };
    ledger.tell(answer);
}
