//! The order's row, its lines, and every step of them.

use std::fmt::Write as _;

use serde_json::json;
use sqlx::PgConnection;

use super::story::{Event, Source, Story};
use crate::store::StoreError;
use crate::store::explain::{self, StepFacts};

pub(super) async fn read(snapshot: &mut PgConnection, story: &mut Story) -> Result<(), StoreError> {
    let Some(facts) = explain::order(snapshot, &story.order).await? else { return Ok(()) };
    story.denial = facts.denial()?;
    if let Some(event_id) = &facts.event_id {
        story.known_events.push((format!("order.created.{}", story.order.channel), event_id.clone()));
    }
    story.facts = Some(facts);
    story.lines = explain::lines(snapshot, &story.order).await?;
    let ids: Vec<i64> = story.lines.iter().map(|line| line.id).collect();
    let steps = explain::steps(snapshot, &ids).await?;
    story.events.extend(steps.iter().map(event));
    Ok(())
}

fn event(step: &StepFacts) -> Event {
    let from = step.from_state.as_deref();
    let units = step.qty.abs();
    let mut says = match (from, step.qty) {
        (None, _) => format!("{} {units} of {} in {}", step.to_state, step.sku, step.warehouse),
        (Some(from), 0) => format!("{}: {from} became {}", step.sku, step.to_state),
        (Some(from), _) if from == step.to_state => {
            format!("{}: {units} fewer {from} in {}", step.sku, step.warehouse)
        }
        (Some(from), qty) if qty > 0 => {
            format!("{}: {from} became {}, {units} had again in {}", step.sku, step.to_state, step.warehouse)
        }
        (Some(from), _) => {
            format!("{}: {from} became {}, {units} less are promised in {}", step.sku, step.to_state, step.warehouse)
        }
    };
    let reason = step.reason.as_ref().map(|reason| format!("\"{reason}\""));
    let why: Vec<String> = reason.into_iter().chain(step.event_id.as_ref().map(|id| format!("event {id}"))).collect();
    if !why.is_empty() {
        write!(says, " ({})", why.join(", ")).expect("a string takes all");
    }
    let fields = json!({
        "step_id": step.id, "reservation_id": step.reservation_id, "sku": step.sku, "warehouse": step.warehouse,
        "from_state": step.from_state, "to_state": step.to_state, "qty": step.qty, "reason": step.reason, "event_id": step.event_id,
    });
    Event::new(step.at, Source::Decision, says, fields)
}
