//! A stock row at a moment: its figures, and the rows that they are the sum of.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::domain::{Stock, StockKey, Timestamp};
use crate::messages::WireTime;
use crate::store::explain::{self, MovementFacts, RowStepFacts};
use crate::store::{StoreError, audit};

/// A row as it stood.
#[derive(Debug)]
pub struct Shelf {
    /// Which.
    pub key: StockKey,
    /// When.
    pub at: Timestamp,
    /// What lay there.
    pub on_hand: i64,
    /// What of it was promised.
    pub reserved: i64,
    /// The row as it stands in the table; none where there is none.
    pub now: Option<Stock>,
    /// The last movements up to then, newest first, and the sum and the number of those before.
    pub movements: Vec<MovementFacts>,
    /// The last steps up to then, newest first.
    pub steps: Vec<RowStepFacts>,
}

/// What stood there at an instant: everything that was decided at it or before. `last` is how many movements and steps are named one by one.
///
/// # Errors
/// The database's own.
pub async fn shelf(
    connection: &mut PgConnection,
    key: &StockKey,
    at: Timestamp,
    last: i64,
) -> Result<Shelf, StoreError> {
    let mut snapshot = audit::begin(connection).await?;
    let now = explain::figures(&mut snapshot, &[key]).await?.pop().map(|(_, stock)| stock);
    let movements = explain::movements(&mut snapshot, key, at, last).await?;
    let steps = explain::row_steps(&mut snapshot, key, at, last).await?;
    snapshot.rollback().await?;
    Ok(Shelf {
        key: key.clone(),
        at,
        on_hand: movements.first().map_or(0, |movement| movement.after),
        reserved: steps.first().map_or(0, |step| step.after),
        now,
        movements,
        steps,
    })
}

/// Rows that are not named one by one.
struct Older {
    rows: i64,
    sum: i64,
}

impl Older {
    /// `named` rows of `rows` are, and before the first of them the sum was `sum`.
    fn of(rows: i64, named: usize, sum: i64) -> Self {
        Self { rows: rows - i64::try_from(named).unwrap_or(rows), sum }
    }
}

impl Shelf {
    /// Whether anything is known of it.
    pub fn is_known(&self) -> bool {
        self.now.is_some() || !self.movements.is_empty() || !self.steps.is_empty()
    }

    fn older_movements(&self) -> Older {
        let last = self.movements.last();
        Older::of(last.map_or(0, |one| one.rows), self.movements.len(), last.map_or(0, |one| one.after - one.delta))
    }

    fn older_steps(&self) -> Older {
        let last = self.steps.last();
        Older::of(last.map_or(0, |one| one.rows), self.steps.len(), last.map_or(0, |one| one.after - one.qty))
    }

    /// As one JSON document.
    pub fn document(&self) -> Value {
        let older = |older: Older| json!({ "rows": older.rows, "sum": older.sum });
        let movement = |one: &MovementFacts| {
            json!({
                "id": one.id, "at": WireTime(one.at), "delta": one.delta, "kind": one.kind, "event_id": one.event_id,
                "on_hand": one.after,
            })
        };
        let step = |one: &RowStepFacts| {
            json!({
                "id": one.id, "at": WireTime(one.at), "qty": one.qty, "channel": one.channel, "order_ref": one.order_ref,
                "from_state": one.from_state, "to_state": one.to_state, "reason": one.reason, "event_id": one.event_id,
                "reserved": one.after,
            })
        };
        json!({
            "sku": self.key.sku.as_str(), "warehouse": self.key.warehouse.as_str(), "at": WireTime(self.at),
            "on_hand": self.on_hand, "reserved": self.reserved, "available": self.on_hand - self.reserved,
            "now": self.now.map(|now| json!({
                "on_hand": now.on_hand, "reserved": now.reserved, "available": now.available(), "version": now.version,
            })),
            "movements": { "older": older(self.older_movements()), "rows": self.movements.iter().rev().map(movement).collect::<Vec<_>>() },
            "steps": { "older": older(self.older_steps()), "rows": self.steps.iter().rev().map(step).collect::<Vec<_>>() },
        })
    }

    /// For a person.
    pub fn text(&self) -> String {
        let StockKey { sku, warehouse } = &self.key;
        let (on_hand, reserved) = (self.on_hand, self.reserved);
        let mut text = format!(
            "{sku} in {warehouse} at {}: {on_hand} on the shelf, {reserved} of them promised, {} free\n\non the shelf, by the movements:\n",
            WireTime(self.at),
            on_hand - reserved
        );
        let older = self.older_movements();
        writeln!(text, "  {:+} by {} movements before these", older.sum, older.rows).expect("a string takes all");
        for one in self.movements.iter().rev() {
            let event = one.event_id.as_ref().map(|id| format!(" (event {id})")).unwrap_or_default();
            writeln!(text, "  {:+}  {}  {}{event}, then {}", one.delta, WireTime(one.at), one.kind, one.after)
                .expect("a string takes all");
        }
        text += "\npromised, by the steps of orders:\n";
        let older = self.older_steps();
        writeln!(text, "  {:+} by {} steps before these", older.sum, older.rows).expect("a string takes all");
        for one in self.steps.iter().rev() {
            let reason = one.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
            writeln!(
                text,
                "  {:+}  {}  order {} of channel {} {}{reason}, then {}",
                one.qty,
                WireTime(one.at),
                one.order_ref,
                one.channel,
                one.to_state,
                one.after
            )
            .expect("a string takes all");
        }
        text
    }
}
