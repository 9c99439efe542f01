//! The world in words, brief enough for a table of expectations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{START, World};
use crate::domain::decide::tests::ask;
use crate::domain::{
    Answer, AskedSlot, Decision, EventId, LineView, Order, OrderState, Outcome, Qty, RefundRequired, ReservationState,
    Shortage, Sku, SlotHold, SlotView, StockChange, Timestamp, Warehouse,
};

impl World {
    /// A row's figures: units on hand, of which so many are reserved.
    pub fn figures(&self, sku: &str, warehouse: &str) -> (Qty, Qty) {
        let stock = &self.stock[&ask::row(sku, warehouse)];
        (stock.on_hand, stock.reserved)
    }

    pub fn has_row(&self, sku: &str, warehouse: &str) -> bool {
        self.stock.contains_key(&ask::row(sku, warehouse))
    }

    /// How an order of channel `web` stands, with its lines.
    pub fn order(&self, order_ref: &str) -> String {
        self.order_on("web", order_ref)
    }

    /// How an order stands, with its lines.
    pub fn order_on(&self, channel: &str, order_ref: &str) -> String {
        self.orders.get(&ask::order(channel, order_ref)).map_or_else(|| "unknown".into(), picture_order)
    }

    /// In how many seconds an order of channel `web` ends.
    pub fn ends_in(&self, order_ref: &str) -> Option<i64> {
        let row = &self.orders[&ask::order("web", order_ref)].stored;
        row.expires_at.map(|end| (end - self.now).whole_seconds())
    }

    /// What the last batch told of orders, briefly.
    pub fn told_last(&self) -> Vec<String> {
        self.decision.answers.iter().map(|answer| format!("{} {}", answer.order.order_ref, said(answer))).collect()
    }

    /// Rows that the last batch told of: SKU, warehouse, on hand, reserved.
    pub fn stock_told_last(&self) -> Vec<String> {
        let tell = |change: &StockChange| {
            let (key, after) = (&change.key, change.after);
            format!("{} {} {}-{}", key.sku, key.warehouse, after.on_hand, after.reserved)
        };
        self.decision.stock.iter().map(tell).collect()
    }

    /// Every order that came, and every row of stock, for comparison with the model.
    pub fn picture(&self) -> Vec<String> {
        let orders = self.orders.iter().filter(|(_, order)| order.born).map(|(key, order)| {
            let end = order.stored.expires_at.filter(|_| order.stored.state == OrderState::Held);
            format!("{}/{} {} {}", key.channel, key.order_ref, picture_order(order), picture_end(end))
        });
        let stock = self
            .stock
            .iter()
            .map(|(key, stock)| format!("{} {} {}-{}", key.sku, key.warehouse, stock.on_hand, stock.reserved));
        let payments = self.payments.values().map(|payment| {
            let pays = if payment.pays { " pays" } else { "" };
            let amount = payment.amount.map_or(-1, |amount| amount.amount);
            let id = &payment.key.payment_id;
            format!("{id} {} {amount}-{}{pays}", payment.state.word(), payment.refunded)
        });
        orders.chain(stock).chain(payments).collect()
    }

    /// What was told of each order, in order.
    pub fn told_by_order(&self) -> BTreeMap<String, Vec<String>> {
        let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for answer in &self.told {
            let reply = answer.in_reply_to.as_ref().map_or("timer", EventId::as_str);
            let slots = answer.slots.iter().map(|SlotView { slot, state }| picture_slot(slot, *state));
            let lines: Vec<String> = answer.lines.iter().map(picture_view).chain(slots).collect();
            let text = format!("{reply}: {} [{}] {}", said(answer), lines.join(", "), picture_end(answer.expires_at));
            told.entry(format!("{}/{}", answer.order.channel, answer.order.order_ref)).or_default().push(text);
        }
        told
    }
}

/// A refund that is required.
pub(super) fn refund(refund: &RefundRequired) -> String {
    let amount = refund.amount.map_or(-1, |amount| amount.amount);
    let slots = refund.slots.iter().map(|SlotView { slot, state }| picture_slot(slot, *state));
    let lines: Vec<String> = refund.lines.iter().map(picture_view).chain(slots).collect();
    format!("{} {} {amount} [{}]", refund.key.payment_id, refund.reason.word(), lines.join(", "))
}

/// What became of a command.
pub(super) fn brief(outcome: &Outcome, decision: &Decision) -> String {
    match outcome {
        Outcome::Answered(place) => said(&decision.answers[*place]),
        Outcome::Applied => "applied".into(),
        Outcome::Noted(_) => "noted".into(),
        Outcome::Redelivered(_) => "silence".into(),
        Outcome::Waiting => "waiting".into(),
        Outcome::UnderReview(place) => format!("review {}", decision.reviews[*place].kind.word()),
        Outcome::Refused(refusal) => format!("dead {}", refusal.reason.word()),
        Outcome::Attended => "attended".into(),
    }
}

/// What an answer says, without the lines.
pub fn said(answer: &Answer) -> String {
    let mut text = answer.what.word().to_string();
    if answer.duplicate {
        text += " duplicate";
    }
    if let Some(reason) = answer.reason {
        text = text + " " + reason.word();
    }
    for shortage in &answer.shortages {
        match shortage {
            Shortage::Units { sku, requested, available } => write!(text, " {sku} {requested}>{available}"),
            Shortage::Slot(slot) => write!(text, " {}", picture_period(slot)),
        }
        .expect("a string takes all");
    }
    text
}

fn picture_order(order: &Order) -> String {
    let slots = order.slots.iter().map(|SlotHold { slot, state, .. }| picture_slot(slot, *state));
    let lines: Vec<String> = order
        .lines
        .iter()
        .map(|line| {
            picture_line(line.qty, &line.sku, &line.warehouse, line.state, (line.shipped_qty, line.returned_qty))
        })
        .chain(slots)
        .collect();
    let state = order.stored.state.word();
    if lines.is_empty() { state.into() } else { format!("{state}: {}", lines.join(", ")) }
}

fn picture_view(line: &LineView) -> String {
    picture_line(line.qty, &line.sku, &line.warehouse, line.state, (line.shipped_qty, line.returned_qty))
}

fn picture_line(qty: Qty, sku: &Sku, warehouse: &Warehouse, state: ReservationState, parcels: (Qty, Qty)) -> String {
    let shipped = match parcels {
        (0, _) => String::new(),
        (shipped, 0) => format!(" ({shipped} shipped)"),
        (shipped, returned) => format!(" ({shipped} shipped, {returned} back)"),
    };
    format!("{qty} {sku} {warehouse} {}{shipped}", state.word())
}

fn picture_slot(slot: &AskedSlot, state: ReservationState) -> String {
    format!("{} {}", picture_period(slot), state.word())
}

/// A resource, and the hours of the first day.
fn picture_period(slot: &AskedSlot) -> String {
    let hour = |at: Timestamp| (at - Timestamp::UNIX_EPOCH).whole_hours();
    format!("{} {}-{}", slot.resource, hour(slot.from), hour(slot.to))
}

fn picture_end(end: Option<Timestamp>) -> String {
    end.map_or_else(|| "without end".into(), |end| format!("until {}", (end - START).whole_seconds()))
}
