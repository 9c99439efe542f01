//! A naive model, written from the contract: one command at a time, over plain vectors. It shares the commands with the domain, and nothing
//! of how they are decided.

mod orders;
mod parcels;
mod payments;
mod slots;
mod stock;

use std::collections::BTreeMap;

use super::world::START;
use crate::domain::{Command, Kind, Qty, Timestamp};
use slots::Booking;

pub(super) struct Model {
    pub now: Timestamp,
    pub accept: bool,
    /// What became of every command so far.
    pub fates: Vec<String>,
    /// What redelivered events are told if they ask directly.
    pub presents: Vec<(usize, String)>,
    /// What was told of each order.
    pub told: BTreeMap<String, Vec<String>>,
    /// About which orders a person was asked, and why.
    pub reviews: Vec<String>,
    /// Refunds that were required.
    pub refunds: Vec<String>,
    payments: Vec<Payment>,
    routes: Vec<(String, Vec<String>)>,
    shelves: Vec<Shelf>,
    rooms: Vec<String>,
    orders: Vec<Order>,
    /// Subject and id of what was decided or waits.
    processed: Vec<(String, String)>,
    documents: Vec<(String, String, String)>,
    /// Warehouse, order and name of each shipment that was taken, and what was in it.
    shipments: Vec<(String, String)>,
    waiting: Vec<(usize, Command)>,
}

struct Shelf {
    sku: String,
    warehouse: String,
    on_hand: Qty,
    reserved: Qty,
}

/// Amounts that nobody stated are −1.
struct Payment {
    id: String,
    order: String,
    state: &'static str,
    amount: i64,
    refunded: i64,
    pays: bool,
    /// Verb, event, amount.
    said: Vec<(&'static str, String, i64)>,
    asked: Vec<&'static str>,
}

struct Order {
    key: String,
    channel: String,
    made_by: String,
    content: String,
    prepaid: bool,
    total: i64,
    created_at: Timestamp,
    rejection: &'static str,
    held_since: Timestamp,
    expires_at: Timestamp,
    lines: Vec<Line>,
    bookings: Vec<Booking>,
}

struct Line {
    sku: String,
    warehouse: String,
    named: bool,
    qty: Qty,
    shipped: Qty,
    back: Qty,
    state: &'static str,
    cancelled: bool,
}

impl Line {
    fn outstanding(&self) -> Qty {
        if self.state == "held" || self.state == "confirmed" { self.qty - self.shipped } else { 0 }
    }

    fn can_be_had_again(&self) -> bool {
        (self.state == "expired" || self.state == "released") && !self.cancelled
    }
}

impl Order {
    fn can_be_had_again(&self) -> bool {
        self.lines.iter().any(Line::can_be_had_again) || self.bookings.iter().any(Booking::can_be_had_again)
    }

    fn state(&self) -> &'static str {
        for state in ["held", "confirmed", "shipped", "expired", "released"] {
            let booked = self.bookings.iter().any(|booking| booking.state == state);
            if booked || self.lines.iter().any(|line| line.state == state) {
                return state;
            }
        }
        "rejected"
    }

    fn reason(&self) -> &'static str {
        match self.state() {
            "rejected" => self.rejection,
            "expired" => "hold_ended",
            "released" if self.can_be_had_again() => "payment_failed",
            "released" => "cancelled",
            _ => "",
        }
    }

    fn present(&self) -> String {
        format!("{} duplicate {}", self.state(), self.reason()).trim_end().into()
    }

    fn picture(&self) -> String {
        let mut lines = Vec::new();
        for Line { sku, warehouse, qty, shipped, back, state, .. } in &self.lines {
            let back = if *back > 0 { format!(", {back} back") } else { String::new() };
            let shipped = if *shipped > 0 { format!(" ({shipped} shipped{back})") } else { String::new() };
            lines.push(format!("{qty} {sku} {warehouse} {state}{shipped}"));
        }
        lines.extend(self.bookings.iter().map(|booking| format!("{} {}", booking.period(), booking.state)));
        lines.join(", ")
    }

    fn end(&self) -> String {
        if self.state() == "held" {
            format!("until {}", (self.expires_at - START).whole_seconds())
        } else {
            "without end".into()
        }
    }
}

impl Model {
    pub fn with(shelves: &[(&str, &str, Qty)], routes: &[(&str, &[&str])]) -> Self {
        let shelf = |(sku, warehouse, on_hand): &(&str, &str, Qty)| Shelf {
            sku: (*sku).into(),
            warehouse: (*warehouse).into(),
            on_hand: *on_hand,
            reserved: 0,
        };
        let route = |(channel, warehouses): &(&str, &[&str])| {
            ((*channel).into(), warehouses.iter().map(|name| (*name).into()).collect())
        };
        Self {
            now: START,
            accept: true,
            fates: Vec::new(),
            presents: Vec::new(),
            told: BTreeMap::new(),
            reviews: Vec::new(),
            refunds: Vec::new(),
            payments: Vec::new(),
            routes: routes.iter().map(route).collect(),
            shelves: shelves.iter().map(shelf).collect(),
            rooms: Vec::new(),
            orders: Vec::new(),
            processed: Vec::new(),
            documents: Vec::new(),
            shipments: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Decides one command, then whatever waits for its order and needs to wait no more.
    pub fn take(&mut self, command: &Command) {
        self.expire_what_is_due();
        self.take_one(command);
        if let Some(key) = command.kind.order() {
            self.wake(&format!("{}/{}", key.channel, key.order_ref));
        }
    }

    fn take_one(&mut self, command: &Command) {
        let number = self.fates.len();
        self.fates.push(String::new());
        let Some(event) = &command.event else {
            self.fates[number] = "attended".into();
            return;
        };
        let order = command.kind.order().map(|key| format!("{}/{}", key.channel, key.order_ref));
        let place = order.as_ref().and_then(|key| self.orders.iter().position(|order| order.key == *key));
        let creates = matches!(command.kind, Kind::Create(_));
        let id = event.id.to_string();
        let made_it = creates && place.is_some_and(|place| self.orders[place].made_by == id);
        let is_new = creates && place.is_none();
        let event = (event.subject.to_string(), id);
        if made_it || (self.processed.contains(&event) && !is_new) {
            self.fates[number] = "silence".into();
            self.presents.extend(place.map(|place| (number, self.orders[place].present())));
            return;
        }
        if let (Some(_), None, false) = (&order, place, creates) {
            self.processed.push(event);
            self.waiting.push((number, command.clone()));
            self.fates[number] = "waiting".into();
            return;
        }
        self.settle(number, command, place);
    }

    /// What waited for an order is applied, oldest first, what came back last; or goes on waiting. Then again, as long as any of it was decided.
    fn wake(&mut self, key: &str) {
        let Some(place) = self.orders.iter().position(|order| order.key == key) else {
            return;
        };
        let of_order = |command: &Command| {
            command.kind.order().is_some_and(|order| format!("{}/{}", order.channel, order.order_ref) == key)
        };
        let mut before = usize::MAX;
        loop {
            let (own, others): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.waiting).into_iter().partition(|(_, command)| of_order(command));
            self.waiting = others;
            if own.is_empty() || own.len() == before {
                self.waiting.extend(own);
                return;
            }
            before = own.len();
            let is_back = |command: &Command| matches!(command.kind, Kind::Return(_));
            for back in [false, true] {
                for (number, command) in own.iter().filter(|(_, command)| is_back(command) == back) {
                    self.settle(*number, command, Some(place));
                }
            }
        }
    }

    /// Decides a command for good. A refused one does not count as processed.
    fn settle(&mut self, number: usize, command: &Command, place: Option<usize>) {
        let event = command.event.as_ref().expect("an event");
        let id = event.id.as_str();
        let fate = match &command.kind {
            Kind::Create(create) => self.create(id, create, place),
            Kind::Renew(renew) => self.renew(id, renew.hold_for_s, place.expect("an order")),
            Kind::Cancel(cancel) => self.cancel(id, cancel, place.expect("an order")),
            Kind::Ship(shipment) => self.ship(id, shipment, place.expect("an order")),
            Kind::Return(returned) => self.take_back(id, returned, place.expect("an order")),
            Kind::Payment(report) => self.payment(id, report, place.expect("an order")),
            _ => self.stock(&event.subject, &command.kind),
        };
        let event = (event.subject.to_string(), id.to_string());
        let makes = matches!(command.kind, Kind::Create(_)) && place.is_none();
        if fate.starts_with("dead") {
            self.processed.retain(|processed| *processed != event);
        } else if !makes && !self.processed.contains(&event) {
            self.processed.push(event);
        }
        if fate == "waiting" {
            self.waiting.push((number, command.clone()));
        }
        self.fates[number] = fate;
    }

    /// Every order that came, and every shelf, as the world pictures them.
    pub fn picture(&self) -> Vec<String> {
        let mut orders: Vec<String> = Vec::new();
        for order in &self.orders {
            let colon = if order.picture().is_empty() { "" } else { ": " };
            orders.push(format!("{} {}{colon}{} {}", order.key, order.state(), order.picture(), order.end()));
        }
        orders.sort();
        let mut shelves: Vec<String> = self
            .shelves
            .iter()
            .map(|shelf| format!("{} {} {}-{}", shelf.sku, shelf.warehouse, shelf.on_hand, shelf.reserved))
            .collect();
        shelves.sort();
        let mut payments: Vec<String> = self.payments.iter().map(Payment::picture).collect();
        payments.sort();
        orders.into_iter().chain(shelves).chain(payments).collect()
    }
}
