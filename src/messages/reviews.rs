//! The end of a review, as the world is told of it.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::bodies::to_json;
use super::instant::WireTime;
use super::outbound::Told;
use crate::domain::Timestamp;

/// A review and what somebody said to it.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    /// Its row.
    pub review_id: i64,
    /// Of which kind.
    pub kind: &'a str,
    /// What it was about, as it was told when it was opened.
    pub subject: &'a Value,
    /// The sentence it was opened with.
    pub detail: &'a str,
    /// Who resolved it.
    pub resolved_by: &'a str,
    /// What they said.
    pub note: &'a str,
}

#[derive(Serialize)]
struct ReviewResolved<'a> {
    event_id: Uuid,
    review_id: i64,
    kind: &'a str,
    subject: &'a Value,
    detail: &'a str,
    resolved_by: &'a str,
    note: &'a str,
    occurred_at: WireTime,
}

/// A question that a person has answered.
pub fn review_resolved(answered: &Answered<'_>, event_id: Uuid, at: Timestamp) -> Told {
    let Answered { review_id, kind, subject, detail, resolved_by, note } = *answered;
    let occurred_at = WireTime(at);
    Told {
        event_id,
        subject: format!("review.resolved.{kind}"),
        body: to_json(&ReviewResolved { event_id, review_id, kind, subject, detail, resolved_by, note, occurred_at }),
    }
}
