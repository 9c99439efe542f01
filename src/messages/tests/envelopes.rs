//! The three forms of envelope.

use async_nats::HeaderMap;
use base64::Engine as _;

use super::{assert_invalid, assert_refused};
use crate::domain::{Kind, Reason, Refusal};
use crate::messages::{Inbound, decode};

fn map(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, *value);
    }
    headers
}

const RENEWAL: &str = r#""order_ref":"1001","hold_for_s":60"#;

fn decoded_id(headers: &[(&str, &str)], payload: &str) -> Result<String, Refusal> {
    let headers = map(headers);
    let command =
        decode(&Inbound { subject: "order.renewed.web", headers: Some(&headers), payload: payload.as_bytes() })?;
    let Kind::Renew(renew) = &command.kind else { panic!("{command:?}") };
    assert_eq!(renew.order.order_ref.as_str(), "1001");
    assert_eq!(renew.hold_for_s, Some(60));
    let event = command.event.expect("an event");
    assert_eq!(&*event.subject, "order.renewed.web");
    Ok(event.id.as_str().to_owned())
}

#[test]
fn every_form_of_envelope_gives_the_same_command() {
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{{{RENEWAL}}}"));
    let structured = format!(r#"{{"specversion":"1.0","id":"e1","data":{{{RENEWAL},"event_id":"x"}}}}"#);
    let in_base64 = format!(r#"{{"specversion":"1.0","id":"e1","data_base64":"{encoded}"}}"#);
    let own_id = format!("{{{RENEWAL},\"event_id\":\"e1\"}}");
    let bare = format!("{{{RENEWAL}}}");
    let other_id = format!("{{{RENEWAL},\"event_id\":\"x\"}}");
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[], &own_id),
        (&[("Nats-Msg-Id", "x")], &own_id),
        (&[("nats-msg-ID", "e1")], &bare),
        (&[("Content-Type", "application/json"), ("Nats-Msg-Id", "e1")], &bare),
        (&[("CE-Id", "e1"), ("Ce-SpecVersion", "1.0"), ("Nats-Msg-Id", "x")], &other_id),
        (&[("ce-id", "e1")], &bare),
        (&[("ce-id", "%651")], &bare),
        (&[], &structured),
        (&[("ce-id", "x"), ("Nats-Msg-Id", "y")], &structured),
        (&[("CONTENT-TYPE", "Application/CloudEvents+JSON; charset=utf-8")], &structured),
        (&[("content-type", "application/cloudevents+json")], &in_base64),
    ];
    for (headers, payload) in cases {
        let id = decoded_id(headers, payload);
        assert_eq!(id.as_deref(), Ok("e1"), "{headers:?} {payload}");
    }
    assert_eq!(decoded_id(&[("ce-id", "100%")], &bare).as_deref(), Ok("100%"));
}

#[test]
fn an_envelope_without_a_good_id_is_refused() {
    let bare = format!("{{{RENEWAL}}}");
    let structured = format!(r#"{{"specversion":"1.0","event_id":"x","data":{{{RENEWAL}}}}}"#);
    let missing = Reason::MissingEventId;
    assert_refused(decoded_id(&[], &bare), missing, "neither an event_id");
    assert_refused(decoded_id(&[("Nats-Msg-Id", "")], &bare), missing, "neither an event_id");
    assert_refused(decoded_id(&[("Nats-Msg-Id", "x")], &structured), missing, "without id");
    let versioned = [("ce-specversion", "1.0"), ("Nats-Msg-Id", "x")];
    assert_refused(decoded_id(&versioned, &bare), missing, "without ce-id");

    let id = |id: &str| decoded_id(&[], &format!("{{{RENEWAL},\"event_id\":{id}}}"));
    assert!(id(&format!("\"{}\"", "x".repeat(200))).is_ok());
    assert_invalid(id(&format!("\"{}\"", "x".repeat(201))), "event_id must be 1 to 200 bytes");
    assert_invalid(id("\"\""), "event_id must be 1 to 200 bytes long, but is \"\"");
    assert_invalid(id(r#""a\u0001""#), "event_id must not contain control characters");
    assert_invalid(id("7"), "event_id must be a string, but is 7");
    assert_invalid(
        decoded_id(&[("Nats-Msg-Id", &"x".repeat(201))], &bare),
        "the header Nats-Msg-Id must be 1 to 200 bytes long",
    );
    assert_invalid(decoded_id(&[("ce-id", "a%00")], &bare), "the header ce-id must not contain");
    assert_refused(id("null"), missing, "neither an event_id");
}

#[test]
fn a_cloud_event_of_another_make_is_refused() {
    let event = |fields: &str| decoded_id(&[], &format!("{{\"id\":\"e1\",{fields}}}"));
    assert_invalid(event(r#""specversion":"0.3","data":{}"#), r#"specversion must be "1.0""#);
    assert_invalid(event(r#""specversion":1.0,"data":{}"#), "specversion must be a string");
    assert_invalid(event(r#""specversion":"1.0""#), "data is missing");
    assert_invalid(event(r#""specversion":"1.0","data":"x""#), "data must be an object, but is \"x\"");
    assert_invalid(event(r#""specversion":"1.0","data":{}"#), "data.order_ref is missing");
    assert_invalid(event(r#""specversion":"1.0","data_base64":"?""#), "data_base64 must be base64");
    assert_invalid(event(r#""specversion":"1.0","data_base64":"e30=""#), "data_base64.order_ref");
    assert_refused(event(r#""specversion":"1.0","data_base64":"eyI=""#), Reason::MalformedJson, "EOF");
    let typed = [("content-type", "application/cloudevents+json")];
    assert_invalid(decoded_id(&typed, r#"{"id":"e1"}"#), "specversion is missing");
    let versioned = [("ce-id", "e1"), ("ce-specversion", "0.3")];
    assert_invalid(decoded_id(&versioned, "{}"), "the header ce-specversion must be 1.0");
}
