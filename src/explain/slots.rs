//! The order's slots, and every step of them.

use std::fmt::Write as _;

use serde_json::json;
use sqlx::PgConnection;

use super::story::{Event, Source, Story};
use crate::messages::WireTime;
use crate::store::StoreError;
use crate::store::explain::{self, SlotStepFacts};

pub(super) async fn read(snapshot: &mut PgConnection, story: &mut Story) -> Result<(), StoreError> {
    story.slots = explain::slots(snapshot, &story.order).await?;
    let ids: Vec<i64> = story.slots.iter().map(|slot| slot.id).collect();
    story.events.extend(explain::slot_steps(snapshot, &ids).await?.iter().map(event));
    Ok(())
}

fn event(step: &SlotStepFacts) -> Event {
    let (from, to) = (WireTime(step.begins), WireTime(step.ends));
    let period = format!("{} from {from} to {to}", step.resource);
    let mut says = match &step.from_state {
        None => format!("{} {period}", step.to_state),
        Some(before) => format!("{period}: {before} became {}", step.to_state),
    };
    let reason = step.reason.as_ref().map(|reason| format!("\"{reason}\""));
    let why: Vec<String> = reason.into_iter().chain(step.event_id.as_ref().map(|id| format!("event {id}"))).collect();
    if !why.is_empty() {
        write!(says, " ({})", why.join(", ")).expect("a string takes all");
    }
    let fields = json!({
        "step_id": step.id, "slot_hold_id": step.slot_hold_id, "resource": step.resource, "from": from, "to": to,
        "from_state": step.from_state, "to_state": step.to_state, "reason": step.reason, "event_id": step.event_id,
    });
    Event::new(step.at, Source::Decision, says, fields)
}
