//! Which order a message is about, as far as it can be read: also of one that is refused.

use super::envelope::{self, Inbound};
use super::fields::{Field, Object};
use super::json;
use crate::domain::{Channel, EventId, OrderKey, OrderRef};

/// What a look at a message tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Its event; none where it has no id.
    pub event_id: Option<EventId>,
    /// The order that it names.
    pub order: OrderKey,
}

/// Looks at a message. None where it names no order, or is not JSON.
pub fn glance(inbound: &Inbound<'_>) -> Option<Glance> {
    let document = json::read(inbound.payload).ok()?;
    if let Ok(envelope) = envelope::open(inbound.headers, &document) {
        let order = order(inbound.subject, &envelope.body().ok()?)?;
        return Some(Glance { event_id: Some(envelope.event_id), order });
    }
    let body = Field::root("", &document).into_object().ok()?;
    Some(Glance { event_id: None, order: order(inbound.subject, &body)? })
}

/// The channel stands in the subject of an order's message, in the body of any other.
fn order(subject: &str, body: &Object<'_, '_>) -> Option<OrderKey> {
    let order_ref = OrderRef::new(body.get("order_ref")?.text().ok()?).ok()?;
    let channel = match subject.strip_prefix("order.") {
        Some(rest) => rest.rsplit('.').next()?,
        None => body.get("channel")?.text().ok()?,
    };
    Some(OrderKey { channel: Channel::new(channel).ok()?, order_ref })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(subject: &str, body: &str) -> Option<(Option<String>, String, String)> {
        let seen = glance(&Inbound { subject, headers: None, payload: body.as_bytes() })?;
        Some((seen.event_id.map(|id| id.to_string()), seen.order.channel.to_string(), seen.order.order_ref.to_string()))
    }

    #[test]
    fn an_order_is_recognised_whatever_else_is_wrong_with_a_message() {
        let found = |id: Option<&str>| Some((id.map(str::to_owned), "web".to_owned(), "1".to_owned()));
        let cases = [
            ("order.created.web", r#"{"event_id":"e","order_ref":"1","lines":"none"}"#, found(Some("e"))),
            ("order.created.web", r#"{"order_ref":"1"}"#, found(None)),
            ("order.created.web", r#"{"specversion":"1.0","id":"c","data":{"order_ref":"1"}}"#, found(Some("c"))),
            ("payment.succeeded.stripe", r#"{"event_id":"e","channel":"web","order_ref":"1"}"#, found(Some("e"))),
            ("payment.succeeded.stripe", r#"{"event_id":"e","order_ref":"1"}"#, None),
            ("inventory.counted.main", r#"{"event_id":"e","lines":[]}"#, None),
            ("order.created.web", "{", None),
        ];
        for (subject, body, expected) in cases {
            assert_eq!(look(subject, body), expected, "{subject} {body}");
        }
    }
}
