//! What gateways said of the order's payments, and what was required back.

use serde_json::json;
use sqlx::PgConnection;

use super::story::{Event, Source, Story, clock};
use crate::messages::WireTime;
use crate::store::StoreError;
use crate::store::explain::{self, PaymentFacts, RefundFacts};

pub(super) async fn read(snapshot: &mut PgConnection, story: &mut Story) -> Result<(), StoreError> {
    for said in explain::payments(snapshot, &story.order).await? {
        story.known_events.push((format!("payment.{}.{}", said.verb, said.provider), said.event_id.clone()));
        story.events.push(report(&said));
    }
    story.events.extend(explain::refunds(snapshot, &story.order).await?.iter().map(refund));
    Ok(())
}

fn words(amount: Option<i64>, currency: Option<&str>) -> String {
    match (amount, currency) {
        (Some(amount), Some(currency)) => format!("{amount} {currency}"),
        _ => "no stated amount".to_owned(),
    }
}

fn report(said: &PaymentFacts) -> Event {
    let PaymentFacts { provider, payment_id, verb, event_id, amount, currency, reason, at } = said;
    let words = words(*amount, currency.as_deref());
    let why = reason.as_ref().map(|reason| format!(", \"{reason}\"")).unwrap_or_default();
    let says = format!("payment {payment_id} of {provider} {verb}, {words}{why} (event {event_id})");
    let fields = json!({
        "provider": provider, "payment_id": payment_id, "verb": verb, "amount": amount, "currency": currency,
        "reason": reason, "event_id": event_id,
    });
    Event::new(*at, Source::Payment, says, fields)
}

fn refund(required: &RefundFacts) -> Event {
    let RefundFacts { provider, payment_id, reason, event_id, amount, currency, at, settled_at } = required;
    let words = words(*amount, currency.as_deref());
    let settled = settled_at.map_or_else(|| "not settled yet".to_owned(), |at| format!("settled at {}", clock(at)));
    let says = format!(
        "a refund of payment {payment_id} of {provider} is required, {words}: {reason}, {settled} (event {event_id})"
    );
    let fields = json!({
        "provider": provider, "payment_id": payment_id, "outcome": "refund_required", "reason": reason,
        "amount": amount, "currency": currency, "settled_at": settled_at.map(WireTime), "event_id": event_id,
    });
    Event::new(*at, Source::Payment, says, fields)
}
