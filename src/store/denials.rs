//! What an order could not have, as it is stored in its row.

use serde_json::{Value, json};

use super::StoreError;
use super::orders::key as order_key;
use super::stock::key;
use crate::domain::{AskedSlot, Denial, Denied, DeniedRow, DeniedSlot, EventId, Rejection, Resource, Stock};
use crate::messages::{WireTime, parse_instant};

/// As it is written.
pub(super) fn to_json(denial: &Denial) -> Value {
    let row = |row: &DeniedRow| {
        json!({
            "sku": row.key.sku.as_str(), "warehouse": row.key.warehouse.as_str(), "requested": row.requested,
            "on_hand": row.stock.on_hand, "reserved": row.stock.reserved, "steps": row.steps,
        })
    };
    let slot = |denied: &DeniedSlot| {
        let DeniedSlot { asked, taken, order, steps } = denied;
        json!({
            "resource": asked.resource.as_str(), "from": WireTime(asked.from), "to": WireTime(asked.to),
            "channel": order.channel.as_str(), "order_ref": order.order_ref.as_str(), "has_from": WireTime(taken.from),
            "has_to": WireTime(taken.to), "steps": steps,
        })
    };
    json!({
        "event_id": denial.event_id.as_str(), "at": WireTime(denial.at), "reason": denial.reason.word(),
        "rows": denial.by.rows.iter().map(row).collect::<Vec<_>>(),
        "slots": denial.by.slots.iter().map(slot).collect::<Vec<_>>(),
    })
}

/// As it is read.
pub(super) fn from_json(stored: &Value) -> Result<Denial, StoreError> {
    read(stored).ok_or_else(|| StoreError::Unreadable { what: "denial", detail: stored.to_string() })
}

fn read(stored: &Value) -> Option<Denial> {
    let rows = stored["rows"].as_array()?.iter().map(read_row).collect::<Option<_>>()?;
    // Who had a slot was not noted before there was a place for it.
    let slots = stored["slots"].as_array().into_iter().flatten().map(read_slot).collect::<Option<_>>()?;
    Some(Denial {
        event_id: EventId::stored(stored["event_id"].as_str()?),
        at: parse_instant(stored["at"].as_str()?)?,
        reason: Rejection::from_word(stored["reason"].as_str()?)?,
        by: Denied { rows, slots },
    })
}

fn read_row(row: &Value) -> Option<DeniedRow> {
    Some(DeniedRow {
        key: key(row["sku"].as_str()?, row["warehouse"].as_str()?),
        requested: row["requested"].as_i64()?,
        stock: Stock { on_hand: row["on_hand"].as_i64()?, reserved: row["reserved"].as_i64()?, version: 0 },
        steps: u32::try_from(row["steps"].as_u64()?).ok()?,
    })
}

fn read_slot(slot: &Value) -> Option<DeniedSlot> {
    let resource = Resource::stored(slot["resource"].as_str()?);
    let period = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|field| slot[field].as_str().and_then(parse_instant));
        Some(AskedSlot { resource: resource.clone(), from: from?, to: to? })
    };
    Some(DeniedSlot {
        asked: period("from", "to")?,
        taken: period("has_from", "has_to")?,
        order: order_key(slot["channel"].as_str()?, slot["order_ref"].as_str()?),
        steps: u32::try_from(slot["steps"].as_u64()?).ok()?,
    })
}
