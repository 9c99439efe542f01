//! Wire to domain and back: envelopes, bodies, subjects, reasons.
//!
//! [`decode`] turns a message into a [`Command`], or into the [`Refusal`] that its dead letter carries. The first fault in this sequence is
//! the one that is told: too large, unknown subject, malformed JSON, no event id, another token than the subject's, an invalid field.
//! [`answer`], [`stock_changed`], [`refund_required`] and [`review_opened`] turn what was decided into the events that the world is told.

mod bodies;
mod dead;
mod envelope;
mod fields;
mod glance;
mod headers;
mod instant;
mod inventory;
mod json;
mod lines;
mod message;
mod order;
mod outbound;
mod payment;
mod percent;
mod reviews;
mod shipment;
mod signature;
mod subject;
#[cfg(test)]
mod tests;

pub use dead::{Origin, dead_headers};
pub use envelope::Inbound;
pub use glance::{Glance, glance};
pub use headers::{headers_from_json, headers_to_json, judge_reply_to, reply_to, traceparent};
pub use instant::{WireTime, parse as parse_instant};
pub use message::Message;
pub use outbound::{
    Told, answer, finding, headers, read_stock_changed, refund_required, reply, reply_error, reply_stock,
    review_opened, review_subject, stock_changed,
};
pub use reviews::{Answered, review_resolved};
pub use signature::Signatures;
pub use subject::{ce_type, dead_subject, parse_sku_token, parse_stock_subject, sku_token, stock_subject};

use crate::domain::{Channel, Command, EventKey, Kind, Reason, Refusal};
use fields::Object;

/// The largest body that is read.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// Reads the body of one subject: its last token, then the body.
type Decode = fn(&str, &Object<'_, '_>) -> Result<Kind, Refusal>;

/// Reads a message.
///
/// # Errors
/// Why it cannot be processed, whatever the state of the stock: the word and the sentence of its dead letter.
pub fn decode(inbound: &Inbound<'_>) -> Result<Command, Refusal> {
    judge_size(inbound.payload)?;
    let (token, decode) = route(inbound.subject)?;
    let document = json::read(inbound.payload)?;
    let envelope = envelope::open(inbound.headers, &document)?;
    let kind = decode(token, &envelope.body()?)?;
    let event = EventKey { subject: inbound.subject.into(), id: envelope.event_id };
    Ok(Command { event: Some(event), kind })
}

fn judge_size(payload: &[u8]) -> Result<(), Refusal> {
    let size = payload.len();
    if size <= MAX_BODY_BYTES {
        return Ok(());
    }
    Err(Refusal::new(Reason::TooLarge, format!("its body has {size} bytes; at most {MAX_BODY_BYTES} are read")))
}

/// The last token of `<family>.<verb>.<token>`, and what reads the body of such a message.
fn route(subject: &str) -> Result<(&str, Decode), Refusal> {
    let unknown = || {
        let subject = json::quote_text(subject);
        Refusal::new(Reason::UnknownSubject, format!("no messages are expected on {subject}"))
    };
    let mut tokens = subject.split('.');
    let (Some(family), Some(verb), Some(token), None) = (tokens.next(), tokens.next(), tokens.next(), tokens.next())
    else {
        return Err(unknown());
    };
    // Channels, providers and warehouses are tokens of one form.
    if Channel::new(token).is_err() {
        return Err(unknown());
    }
    let decoder = match family {
        "order" => order::decoder(verb),
        "inventory" => inventory::decoder(verb),
        "shipment" => shipment::decoder(verb),
        "payment" => payment::decoder(verb),
        _ => None,
    };
    Ok((token, decoder.ok_or_else(unknown)?))
}
