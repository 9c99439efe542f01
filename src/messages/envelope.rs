//! The envelope of a message: which of the three forms it has, whose event it is, and where its body stands.

use std::borrow::Cow;

use async_nats::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::fields::{Field, Object};
use super::headers::find;
use super::json::{self, Value};
use super::percent;
use crate::domain::{EventId, Reason, Refusal};

/// A message as it came.
#[derive(Debug, Clone, Copy)]
pub struct Inbound<'a> {
    /// Its subject, without the streams' prefix.
    pub subject: &'a str,
    /// Its headers, if it has any.
    pub headers: Option<&'a HeaderMap>,
    /// Its data.
    pub payload: &'a [u8],
}

/// An opened envelope.
pub(super) struct Envelope<'v> {
    /// Whose event it is.
    pub(super) event_id: EventId,
    content: Cow<'v, Value<'v>>,
    /// The envelope's member that carries the body; empty where the message is the body.
    member: &'static str,
}

impl Envelope<'_> {
    /// The body of the message.
    pub(super) fn body(&self) -> Result<Object<'_, 'static>, Refusal> {
        Field::root(self.member, &self.content).into_object()
    }
}

/// Finds the form and opens it: a structured `CloudEvent`, a binary one, or plain.
pub(super) fn open<'v>(headers: Option<&HeaderMap>, document: &'v Value<'v>) -> Result<Envelope<'v>, Refusal> {
    let object = Field::root("", document).into_object()?;
    if is_cloudevents_type(headers) || object.get("specversion").is_some() {
        return structured(&object);
    }
    let is_binary = ["ce-id", "ce-specversion"].iter().any(|name| find(headers, name).is_some());
    let event_id = if is_binary { binary_id(headers)? } else { plain_id(headers, &object)? };
    Ok(Envelope { event_id, content: Cow::Borrowed(document), member: "" })
}

/// Whether the content type says structured `CloudEvents`, with or without the format's suffix and parameters.
fn is_cloudevents_type(headers: Option<&HeaderMap>) -> bool {
    find(headers, "content-type").is_some_and(|content_type| {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        ["application/cloudevents+json", "application/cloudevents"]
            .iter()
            .any(|known| media_type.eq_ignore_ascii_case(known))
    })
}

fn structured<'v>(event: &Object<'v, '_>) -> Result<Envelope<'v>, Refusal> {
    let id = event.get("id").ok_or_else(|| missing("it is a CloudEvent without id"))?;
    let event_id = id.name(EventId::new)?;
    let version = event.require("specversion")?;
    if version.text()? != "1.0" {
        return Err(version.invalid("must be \"1.0\""));
    }
    if let Some(encoded) = event.get("data_base64") {
        return Ok(Envelope { event_id, content: Cow::Owned(decoded(&encoded)?), member: "data_base64" });
    }
    Ok(Envelope { event_id, content: Cow::Borrowed(event.require("data")?.value()), member: "data" })
}

fn decoded(field: &Field<'_, '_>) -> Result<Value<'static>, Refusal> {
    let bytes = STANDARD.decode(field.text()?).map_err(|_| field.invalid("must be base64"))?;
    Ok(json::read(&bytes)?.into_owned())
}

fn binary_id(headers: Option<&HeaderMap>) -> Result<EventId, Refusal> {
    let id = find(headers, "ce-id").ok_or_else(|| missing("it is a CloudEvent without ce-id"))?;
    // Encoded as the HTTP binding has it; an id of a sender that does not encode stands for itself.
    let id = percent::decode(id).map_or(Cow::Borrowed(id), Cow::Owned);
    let event_id = header_id("ce-id", &id)?;
    match find(headers, "ce-specversion") {
        None | Some("1.0") => Ok(event_id),
        Some(other) => Err(Refusal::new(
            Reason::InvalidField,
            format!("the header ce-specversion must be 1.0, but is {}", json::quote_text(other)),
        )),
    }
}

fn plain_id(headers: Option<&HeaderMap>, body: &Object<'_, '_>) -> Result<EventId, Refusal> {
    if let Some(id) = body.get("event_id") {
        return id.name(EventId::new);
    }
    let id = find(headers, "Nats-Msg-Id")
        .ok_or_else(|| missing("it has neither an event_id nor a ce-id or Nats-Msg-Id header"))?;
    header_id("Nats-Msg-Id", id)
}

fn header_id(name: &str, id: &str) -> Result<EventId, Refusal> {
    EventId::new(id).map_err(|fault| {
        Refusal::new(Reason::InvalidField, format!("the header {name} {fault}, but is {}", json::quote_text(id)))
    })
}

fn missing(sentence: &str) -> Refusal {
    Refusal::new(Reason::MissingEventId, sentence)
}
