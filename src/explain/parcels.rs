//! What left shelves for the order, and what came back.

use serde_json::json;
use sqlx::PgConnection;

use super::story::{Event, Source, Story};
use crate::store::StoreError;
use crate::store::explain::{self, ParcelFacts};

pub(super) async fn read(snapshot: &mut PgConnection, story: &mut Story) -> Result<(), StoreError> {
    let ids: Vec<i64> = story.lines.iter().map(|line| line.id).collect();
    story.events.extend(explain::parcels(snapshot, &ids).await?.iter().map(event));
    Ok(())
}

fn event(parcel: &ParcelFacts) -> Event {
    let ParcelFacts { id, reservation_id, sku, warehouse, kind, qty, event_id, at } = parcel;
    let says = match kind.as_str() {
        "shipped" => format!("{qty} of {sku} left the shelf in {warehouse} (event {event_id})"),
        "returned" => format!("{qty} of {sku} came back to {warehouse} (event {event_id})"),
        _ => format!("{qty} of {sku} came back to {warehouse}, {kind} (event {event_id})"),
    };
    let fields = json!({
        "parcel_line_id": id, "reservation_id": reservation_id, "sku": sku, "warehouse": warehouse, "kind": kind,
        "qty": qty, "event_id": event_id,
    });
    Event::new(*at, Source::Parcel, says, fields)
}
