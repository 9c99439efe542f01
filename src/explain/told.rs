//! What the world was told of an order, out of the outbox, as long as it is kept there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use futures::TryStreamExt;
use futures::stream::BoxStream;
use serde_json::{Value, json};
use sqlx::PgConnection;
use time::OffsetDateTime;
use tokio::time::Instant;
use uuid::Uuid;

use super::story::{Event, Source, Story, clock};
use crate::domain::{OrderKey, Timestamp};
use crate::store::StoreError;
use crate::store::explain::{self, ToldRow};
use crate::store::outbox::Entry;

/// How long the outbox is looked through for what no step of the order tells of.
const LOOK_FOR: Duration = Duration::from_secs(5);
/// A new order's own instant may be that of its claim, a little before its batch's.
const BEFORE: time::Duration = time::Duration::SECOND;

pub(super) async fn read(snapshot: &mut PgConnection, story: &mut Story) -> Result<(), StoreError> {
    let Some(facts) = &story.facts else { return Ok(()) };
    let mut found = Found { order: story.order.clone(), seen: BTreeSet::new(), events: Vec::new() };
    let instants: BTreeSet<Timestamp> = story.events.iter().map(|event| event.at).collect();
    let instants: Vec<Timestamp> = instants.into_iter().collect();
    found.look_through(explain::told_at(snapshot, &instants), None).await?;
    // What changed nothing, such as a repeat, is in no journal.
    let since = facts.created_at - BEFORE;
    let until = Instant::now() + LOOK_FOR;
    let cut_off = found.look_through(explain::told_since(snapshot, since), Some(until)).await?;
    if let Some(to) = cut_off {
        let to = clock(to);
        story
            .unchecked
            .push(format!("what was told later than {to} of decisions that changed nothing: the outbox is long"));
    }
    story.events.extend(found.events);
    Ok(())
}

struct Found {
    order: OrderKey,
    seen: BTreeSet<Uuid>,
    events: Vec<Event>,
}

impl Found {
    /// Takes what is of the order. Returns how far it came if the time was over before the end.
    async fn look_through(
        &mut self,
        mut rows: BoxStream<'_, Result<ToldRow, StoreError>>,
        until: Option<Instant>,
    ) -> Result<Option<Timestamp>, StoreError> {
        while let Some((row, sent_at)) = rows.try_next().await? {
            let parcel = row.parcel()?;
            let at = instant(parcel.at_us)?;
            for entry in &parcel.entries {
                if let Entry::Event { event_id, subject, body, .. } = entry {
                    self.look_at(*event_id, subject, body, at, sent_at);
                }
            }
            if until.is_some_and(|until| Instant::now() > until) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn look_at(&mut self, event_id: Uuid, subject: &str, body: &[u8], at: Timestamp, sent_at: Option<Timestamp>) {
        let is_about_orders = subject.starts_with("reservation.") || subject.starts_with("refund.");
        if !is_about_orders || self.seen.contains(&event_id) {
            return;
        }
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return };
        if body["order_ref"] != self.order.order_ref.as_str() || body["channel"] != self.order.channel.as_str() {
            return;
        }
        self.seen.insert(event_id);
        let mut says = subject.to_owned();
        if let Some(reason) = body["reason"].as_str() {
            write!(says, ", {reason}").expect("a string takes all");
        }
        if body["duplicate"] == true {
            says += ", a duplicate";
        }
        if let Some(end) = body["expires_at"].as_str() {
            write!(says, ", until {end}").expect("a string takes all");
        }
        if let Some(event) = body["in_reply_to"].as_str() {
            write!(says, " (in reply to {event})").expect("a string takes all");
        }
        if sent_at.is_none() {
            says += ": not told yet";
        }
        let sent_at = sent_at.map(crate::messages::WireTime);
        let fields = json!({ "event_id": event_id, "subject": subject, "sent_at": sent_at, "body": body });
        self.events.push(Event::new(at, Source::Told, says, fields));
    }
}

fn instant(at_us: i64) -> Result<Timestamp, StoreError> {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at_us) * 1_000)
        .map_err(|error| StoreError::Unreadable { what: "outbox row", detail: error.to_string() })
}
