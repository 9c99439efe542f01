//! The story of an order: what is known of it, and what happened, in order.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::denial::Refused;
use crate::domain::{Denial, OrderKey, Timestamp};
use crate::messages::WireTime;
use crate::store::explain::{LineFacts, OrderFacts, SlotFacts};

/// Where a part of the story is from. Of what happened in one instant, that which stands here first is told first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A message, as its stream received it.
    Message,
    /// A message that began to wait.
    Waiting,
    /// What was decided: a rejection, a step of a line.
    Decision,
    /// What a gateway said, and what was required back.
    Payment,
    /// What left a shelf, and what came back.
    Parcel,
    /// A message that could not be processed.
    DeadLetter,
    /// A question for a person, or its end.
    Review,
    /// What the world was told.
    Told,
}

impl Source {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Waiting => "waiting",
            Self::Decision => "decision",
            Self::Payment => "payment",
            Self::Parcel => "parcel",
            Self::DeadLetter => "dead_letter",
            Self::Review => "review",
            Self::Told => "told",
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// When: by the broker's clock for a message, else by the database's.
    pub at: Timestamp,
    /// From where this is known.
    pub source: Source,
    /// In words.
    pub says: String,
    /// In fields.
    pub fields: Map<String, Value>,
}

impl Event {
    /// `fields` is an object.
    pub(super) fn new(at: Timestamp, source: Source, says: String, fields: Value) -> Self {
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Self { at, source, says, fields }
    }

    fn document(&self) -> Value {
        let mut document = Map::new();
        document.insert("at".into(), json!(WireTime(self.at)));
        document.insert("source".into(), json!(self.source.word()));
        document.insert("says".into(), json!(self.says));
        document.extend(self.fields.clone());
        document.into()
    }
}

/// All that is known of an order.
#[derive(Debug)]
pub struct Story {
    /// Which.
    pub order: OrderKey,
    /// Its row; none where only messages about it are known.
    pub facts: Option<OrderFacts>,
    /// Its lines.
    pub lines: Vec<LineFacts>,
    /// Its slots.
    pub slots: Vec<SlotFacts>,
    /// What it could not have, and who had it.
    pub refused: Option<Refused>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What could not be looked at, and why: a sentence each.
    pub unchecked: Vec<String>,
    pub(super) denial: Option<Denial>,
    /// Events of the order: full subject and id.
    pub(super) known_events: Vec<(String, String)>,
}

impl Story {
    pub(super) fn of(order: OrderKey) -> Self {
        Self {
            order,
            facts: None,
            lines: Vec::new(),
            slots: Vec::new(),
            refused: None,
            events: Vec::new(),
            unchecked: Vec::new(),
            denial: None,
            known_events: Vec::new(),
        }
    }

    /// Whether anything is known at all.
    pub fn is_known(&self) -> bool {
        self.facts.is_some() || !self.events.is_empty()
    }

    /// When its first line or slot took its first step, as far as it has been told.
    pub(super) fn first_decision(&self) -> Option<Timestamp> {
        self.events.iter().filter(|event| event.source == Source::Decision).map(|event| event.at).min()
    }

    pub(super) fn put_in_order(&mut self) {
        self.events.sort_by_key(|event| (event.at, event.source));
    }

    /// As one JSON document.
    pub fn document(&self) -> Value {
        let order = self.facts.as_ref().map(|facts| {
            json!({
                "state": facts.state, "event_id": facts.event_id, "payment": facts.payment_mode,
                "total": facts.total_amount.map(|amount| json!({ "amount": amount, "currency": facts.currency })),
                "rejection": facts.rejection, "created_at": WireTime(facts.created_at),
                "held_since": facts.held_since.map(WireTime), "expires_at": facts.expires_at.map(WireTime),
            })
        });
        let line = |line: &LineFacts| {
            json!({
                "sku": line.sku, "warehouse": line.warehouse, "qty": line.qty, "shipped_qty": line.shipped_qty,
                "returned_qty": line.returned_qty, "state": line.state, "cancelled": line.cancelled,
            })
        };
        let slot = |slot: &SlotFacts| {
            json!({
                "resource": slot.resource, "from": WireTime(slot.begins), "to": WireTime(slot.ends),
                "state": slot.state, "cancelled": slot.cancelled,
            })
        };
        let lines: Vec<Value> = self.lines.iter().map(line).chain(self.slots.iter().map(slot)).collect();
        json!({
            "channel": self.order.channel.as_str(), "order_ref": self.order.order_ref.as_str(), "order": order,
            "lines": lines,
            "refused": self.refused.as_ref().map(Refused::document),
            "story": self.events.iter().map(Event::document).collect::<Vec<_>>(),
            "unchecked": self.unchecked,
        })
    }

    /// For a person: how it stands, why it was refused if it was, and what happened.
    pub fn text(&self) -> String {
        let mut text = format!("order {} of channel {}: {}\n", self.order.order_ref, self.order.channel, self.state());
        for line in &self.lines {
            let cancelled = if line.cancelled { ", cancelled" } else { "" };
            writeln!(text, "  {} of {} in {}: {}{cancelled}", line.qty, line.sku, line.warehouse, line.state)
                .expect("a string takes all");
        }
        for slot in &self.slots {
            let cancelled = if slot.cancelled { ", cancelled" } else { "" };
            let (from, to) = (clock(slot.begins), clock(slot.ends));
            writeln!(text, "  {} from {from} to {to}: {}{cancelled}", slot.resource, slot.state)
                .expect("a string takes all");
        }
        if let Some(refused) = &self.refused {
            writeln!(text, "\n{}", refused.says).expect("a string takes all");
        }
        text += "\n";
        for event in &self.events {
            writeln!(text, "{}  {:<11}  {}", WireTime(event.at), event.source.word(), event.says)
                .expect("a string takes all");
        }
        for unchecked in &self.unchecked {
            writeln!(text, "\nNot looked at: {unchecked}").expect("a string takes all");
        }
        text
    }

    fn state(&self) -> String {
        let Some(facts) = &self.facts else {
            return "it has not come".to_owned();
        };
        match (facts.state.as_str(), &facts.rejection, facts.expires_at) {
            ("awaited", _, _) => "it has not come, and something waits for it".to_owned(),
            ("rejected", Some(reason), _) => format!("rejected, {reason}"),
            ("held", _, Some(end)) => format!("held until {}", WireTime(end)),
            (state, _, _) => state.to_owned(),
        }
    }
}

/// An instant for a person's eyes: to the second.
pub(super) fn clock(at: Timestamp) -> String {
    let text = WireTime(at).to_string();
    format!("{} {} UTC", &text[..10], &text[11..19])
}
