//! What an order could not have, as it is stored in its row.

use serde_json::{Value, json};

use super::StoreError;
use super::stock::key;
use crate::domain::{Denial, DeniedRow, EventId, Rejection, Stock};
use crate::messages::{WireTime, parse_instant};

/// As it is written.
pub(super) fn to_json(denial: &Denial) -> Value {
    let row = |row: &DeniedRow| {
        json!({
            "sku": row.key.sku.as_str(), "warehouse": row.key.warehouse.as_str(), "requested": row.requested,
            "on_hand": row.stock.on_hand, "reserved": row.stock.reserved, "steps": row.steps,
        })
    };
    json!({
        "event_id": denial.event_id.as_str(), "at": WireTime(denial.at), "reason": denial.reason.word(),
        "rows": denial.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

/// As it is read.
pub(super) fn from_json(stored: &Value) -> Result<Denial, StoreError> {
    read(stored).ok_or_else(|| StoreError::Unreadable { what: "denial", detail: stored.to_string() })
}

fn read(stored: &Value) -> Option<Denial> {
    let rows = stored["rows"].as_array()?.iter().map(|row| {
        Some(DeniedRow {
            key: key(row["sku"].as_str()?, row["warehouse"].as_str()?),
            requested: row["requested"].as_i64()?,
            stock: Stock { on_hand: row["on_hand"].as_i64()?, reserved: row["reserved"].as_i64()?, version: 0 },
            steps: u32::try_from(row["steps"].as_u64()?).ok()?,
        })
    });
    Some(Denial {
        event_id: EventId::stored(stored["event_id"].as_str()?),
        at: parse_instant(stored["at"].as_str()?)?,
        reason: Rejection::from_word(stored["reason"].as_str()?)?,
        rows: rows.collect::<Option<_>>()?,
    })
}
