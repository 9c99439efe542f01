//! Whole messages: what each becomes, or why it is refused.

mod envelopes;
mod inventory;
mod orders;
mod panics;
mod refusals;
mod shipments;

use super::{Inbound, decode};
use crate::domain::{AskedLine, AskedSlot, Kind, MovedLine, Reason, Refusal, Resource, Sku, Timestamp, Warehouse};

/// The kind of a plain message; its `event_id` is added.
fn kind(subject: &str, fields: &str) -> Result<Kind, Refusal> {
    let payload = format!("{{\"event_id\":\"e1\",{fields}}}");
    let inbound = Inbound { subject, headers: None, payload: payload.as_bytes() };
    decode(&inbound).map(|command| command.kind)
}

/// An order's lines and slots.
fn asked(lines: &str) -> Result<(Vec<AskedLine>, Vec<AskedSlot>), Refusal> {
    match kind("order.created.web", &format!("\"order_ref\":\"1001\",\"lines\":[{lines}]"))? {
        Kind::Create(create) => Ok((create.lines, create.slots)),
        other => panic!("{other:?}"),
    }
}

fn line(sku: &str, qty: i64, warehouse: Option<&str>) -> AskedLine {
    AskedLine {
        sku: Sku::new(sku).expect("sku"),
        qty,
        warehouse: warehouse.map(|name| Warehouse::new(name).expect("warehouse")),
    }
}

fn moved(sku: &str, qty: i64) -> MovedLine {
    MovedLine { sku: Sku::new(sku).expect("sku"), qty }
}

fn slot(resource: &str, from: Timestamp, to: Timestamp) -> AskedSlot {
    AskedSlot { resource: Resource::new(resource).expect("resource"), from, to }
}

/// Asserts the word and a part of the sentence.
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Refusal>, reason: Reason, part: &str) {
    let refusal = result.expect_err(part);
    assert_eq!(refusal.reason, reason, "{refusal:?}");
    assert!(refusal.detail.contains(part), "{part} is not in: {}", refusal.detail);
    assert!(!refusal.detail.contains(char::is_control), "{refusal:?}");
}

fn assert_invalid<T: std::fmt::Debug>(result: Result<T, Refusal>, part: &str) {
    assert_refused(result, Reason::InvalidField, part);
}
