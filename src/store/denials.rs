//! What an order could not have, as it is stored in its row.

use serde::Serialize;
use serde_json::Value;

use super::StoreError;
use super::orders::key as order_key;
use super::stock::key;
use crate::domain::{AskedSlot, Denial, Denied, DeniedRow, DeniedSlot, EventId, Qty, Rejection, Resource, Stock};
use crate::messages::{WireTime, parse_instant};

/// As it is written. A sold-out rush writes one for every order, so it is written at once and no tree of values is built first.
#[derive(Serialize)]
struct Written<'a> {
    event_id: &'a str,
    at: WireTime,
    reason: &'static str,
    rows: Vec<WrittenRow<'a>>,
    slots: Vec<WrittenSlot<'a>>,
}

#[derive(Serialize)]
struct WrittenRow<'a> {
    sku: &'a str,
    warehouse: &'a str,
    requested: Qty,
    on_hand: Qty,
    reserved: Qty,
    steps: u32,
}

#[derive(Serialize)]
struct WrittenSlot<'a> {
    resource: &'a str,
    from: WireTime,
    to: WireTime,
    channel: &'a str,
    order_ref: &'a str,
    has_from: WireTime,
    has_to: WireTime,
    steps: u32,
}

impl<'a> Written<'a> {
    fn of(denial: &'a Denial) -> Self {
        Self {
            event_id: denial.event_id.as_str(),
            at: WireTime(denial.at),
            reason: denial.reason.word(),
            rows: denial.by.rows.iter().map(WrittenRow::of).collect(),
            slots: denial.by.slots.iter().map(WrittenSlot::of).collect(),
        }
    }
}

impl<'a> WrittenRow<'a> {
    fn of(DeniedRow { key, requested, stock, steps }: &'a DeniedRow) -> Self {
        Self {
            sku: key.sku.as_str(),
            warehouse: key.warehouse.as_str(),
            requested: *requested,
            on_hand: stock.on_hand,
            reserved: stock.reserved,
            steps: *steps,
        }
    }
}

impl<'a> WrittenSlot<'a> {
    fn of(DeniedSlot { asked, taken, order, steps }: &'a DeniedSlot) -> Self {
        Self {
            resource: asked.resource.as_str(),
            from: WireTime(asked.from),
            to: WireTime(asked.to),
            channel: order.channel.as_str(),
            order_ref: order.order_ref.as_str(),
            has_from: WireTime(taken.from),
            has_to: WireTime(taken.to),
            steps: *steps,
        }
    }
}

/// The text of the document.
pub(super) fn to_json(denial: &Denial) -> String {
    serde_json::to_string(&Written::of(denial)).expect("names and numbers can always be written")
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
