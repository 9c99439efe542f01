//! What waits for an order, what of it could not be processed, and what a person was asked.

use serde_json::json;
use sqlx::PgConnection;

use super::story::{Event, Source, Story, clock};
use crate::messages::{Inbound, WireTime, glance, headers_from_json};
use crate::store::StoreError;
use crate::store::explain::{self, DeadFacts, ReviewFacts, WaitingFacts};

pub(super) async fn read(snapshot: &mut PgConnection, story: &mut Story) -> Result<(), StoreError> {
    for waiting in explain::waiting(snapshot, &story.order).await? {
        story.known_events.push((waiting.subject.clone(), waiting.event_id.clone()));
        story.events.push(waits(&waiting));
    }
    // As JSON spells it; who spells it in another way is not found.
    let spelled = serde_json::to_string(story.order.order_ref.as_str()).unwrap_or_default();
    for letter in explain::dead_letters(snapshot, spelled.as_bytes()).await? {
        let headers = headers_from_json(&letter.headers);
        let inbound = Inbound { subject: &letter.subject, headers: Some(&headers), payload: &letter.body };
        let Some(seen) = glance(&inbound).filter(|seen| seen.order == story.order) else { continue };
        if let Some(id) = &seen.event_id {
            story.known_events.push((letter.subject.clone(), id.to_string()));
        }
        story.events.push(died(&letter));
    }
    for review in explain::reviews(snapshot, &story.order, &story.known_events).await? {
        story.events.push(asked(&review));
        story.events.extend(answered(&review));
    }
    Ok(())
}

fn waits(waiting: &WaitingFacts) -> Event {
    let overdue = if waiting.overdue { "; a person was asked about it" } else { "" };
    let says = format!("{}, event {}, waits for the order{overdue}", waiting.subject, waiting.event_id);
    let fields = json!({
        "waiting_id": waiting.id, "subject": waiting.subject, "event_id": waiting.event_id, "stream": waiting.stream,
        "sequence": waiting.sequence, "received_at": WireTime(waiting.received_at), "overdue": waiting.overdue,
    });
    Event::new(waiting.since, Source::Waiting, says, fields)
}

fn died(letter: &DeadFacts) -> Event {
    let DeadFacts { id, subject, reason, detail, .. } = letter;
    let resolved = letter.resolved_at.map_or_else(|| "open".to_owned(), |at| format!("resolved {}", clock(at)));
    let says = format!("{subject}: dead letter {id} ({resolved}): {reason}: {detail}");
    let fields = json!({
        "dead_letter_id": id, "subject": subject, "reason": reason, "detail": detail, "stream": letter.stream,
        "sequence": letter.sequence, "received_at": WireTime(letter.received_at), "resolved_at": letter.resolved_at.map(WireTime),
    });
    Event::new(letter.opened_at, Source::DeadLetter, says, fields)
}

fn asked(review: &ReviewFacts) -> Event {
    let open = if review.resolved_at.is_none() { "open" } else { "resolved" };
    let says = format!("review {} ({open}): {}: {}", review.id, review.kind, review.detail);
    let fields = json!({ "review_id": review.id, "kind": review.kind, "detail": review.detail, "step": "opened" });
    Event::new(review.opened_at, Source::Review, says, fields)
}

fn answered(review: &ReviewFacts) -> Option<Event> {
    let by = review.resolved_by.as_deref().unwrap_or("somebody");
    let note = review.note.as_deref().unwrap_or_default();
    let says = format!("review {} was resolved by {by}: {note}", review.id);
    let fields = json!({
        "review_id": review.id, "kind": review.kind, "step": "resolved", "by": review.resolved_by, "note": review.note,
    });
    Some(Event::new(review.resolved_at?, Source::Review, says, fields))
}
