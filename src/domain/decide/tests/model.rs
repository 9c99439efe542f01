//! A naive model, written from the contract: one command at a time, over plain vectors. It shares the commands with the domain, and nothing
//! of how they are decided.

mod orders;
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
    routes: Vec<(String, Vec<String>)>,
    shelves: Vec<Shelf>,
    rooms: Vec<String>,
    orders: Vec<Order>,
    /// Subject and id of what was decided or waits.
    processed: Vec<(String, String)>,
    documents: Vec<(String, String, String)>,
    waiting: Vec<(usize, Command)>,
}

struct Shelf {
    sku: String,
    warehouse: String,
    on_hand: Qty,
    reserved: Qty,
}

struct Order {
    key: String,
    channel: String,
    made_by: String,
    content: String,
    prepaid: bool,
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
    state: &'static str,
    cancelled: bool,
}

impl Line {
    fn outstanding(&self) -> Qty {
        if self.state == "held" || self.state == "confirmed" { self.qty - self.shipped } else { 0 }
    }

    fn can_be_had_again(&self) -> bool {
        self.state == "expired" && !self.cancelled
    }
}

impl Order {
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
            "released" => "cancelled",
            _ => "",
        }
    }

    fn present(&self) -> String {
        format!("{} duplicate {}", self.state(), self.reason()).trim_end().into()
    }

    fn picture(&self) -> String {
        let mut lines = Vec::new();
        for Line { sku, warehouse, qty, shipped, state, .. } in &self.lines {
            let shipped = if *shipped > 0 { format!(" ({shipped} shipped)") } else { String::new() };
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
            routes: routes.iter().map(route).collect(),
            shelves: shelves.iter().map(shelf).collect(),
            rooms: Vec::new(),
            orders: Vec::new(),
            processed: Vec::new(),
            documents: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Decides one command.
    pub fn take(&mut self, command: &Command) {
        self.expire_what_is_due();
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
        if let (Some(key), true) = (order, is_new) {
            self.wake(&key);
        }
    }

    /// What waited for an order is applied, oldest first.
    fn wake(&mut self, key: &str) {
        let place = self.orders.iter().position(|order| order.key == key);
        for (number, command) in std::mem::take(&mut self.waiting) {
            let waits_for = command.kind.order().map(|key| format!("{}/{}", key.channel, key.order_ref));
            if waits_for.as_deref() == Some(key) {
                self.settle(number, &command, place);
            } else {
                self.waiting.push((number, command));
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
            _ => self.stock(&event.subject, &command.kind),
        };
        let event = (event.subject.to_string(), id.to_string());
        let makes = matches!(command.kind, Kind::Create(_)) && place.is_none();
        if fate.starts_with("dead") {
            self.processed.retain(|processed| *processed != event);
        } else if !makes && !self.processed.contains(&event) {
            self.processed.push(event);
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
        orders.into_iter().chain(shelves).collect()
    }
}
