//! What is refused before its fields are looked at, poison above all, and which fault is told first.

use super::{assert_invalid, assert_refused, kind};
use crate::domain::Reason;
use crate::messages::{Inbound, MAX_BODY_BYTES, decode};

#[test]
fn a_wrong_subject_is_unknown() {
    let longest = format!("order.created.{}", "x".repeat(64));
    assert!(kind(&longest, r#""order_ref":"1","lines":[{"sku":"a","qty":1}]"#).is_ok());
    for subject in [
        "order.shipped.web",
        "order.created",
        "order.created.",
        "order.created.web.eu",
        "order.created.we b",
        "order.created.вэб",
        &format!("{longest}x"),
        "Order.created.web",
        "inventory.created.main",
        "order",
        "",
        "a\r\nb",
    ] {
        assert_refused(kind(subject, "not even JSON"), Reason::UnknownSubject, "no messages");
    }
}

#[test]
fn the_body_may_repeat_the_subjects_token_but_not_contradict_it() {
    let order = |channel: &str| kind("order.renewed.web", &format!("\"channel\":{channel},\"order_ref\":\"\""));
    assert_invalid(order("\"web\""), "order_ref");
    assert_refused(order("\"shop\""), Reason::SubjectMismatch, r#"channel is "shop", but the subject says "web""#);
    assert_invalid(order("7"), "channel must be a string");
    assert_refused(
        kind("inventory.counted.main", r#""warehouse":"far","lines":[]"#),
        Reason::SubjectMismatch,
        "warehouse is \"far\"",
    );
}

#[test]
fn poison_gets_the_right_word() {
    let raw = |payload: &[u8]| decode(&Inbound { subject: "order.created.web", headers: None, payload });
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        kind(
            "order.created.web",
            &format!("\"order_ref\":\"1\",\"deep\":{open}{close},\"lines\":[{{\"sku\":\"a\",\"qty\":1}}]"),
        )
    };
    let malformed = Reason::MalformedJson;
    assert!(nested(127).is_ok());
    for depth in [128, 200, 100_000] {
        assert_refused(nested(depth), malformed, "nested deeper than 128");
    }
    assert_refused(raw(b""), malformed, "EOF");
    assert_refused(raw(b"{\"event_id\":\"\xff\"}"), malformed, "not UTF-8");
    assert_refused(raw(br#"{"event_id":"e","event_id":"e"}"#), malformed, "stands twice");
    assert_invalid(raw(b"[]"), "the body must be an object, but is a list");
    assert_invalid(raw(b"7"), "the body must be an object, but is 7");

    let sized = |size: usize| {
        let mut payload = br#"{"event_id":"e","order_ref":"1","lines":[{"sku":"a","qty":1}]}"#.to_vec();
        payload.resize(size, b' ');
        raw(&payload)
    };
    assert!(sized(MAX_BODY_BYTES).is_ok());
    assert_refused(sized(MAX_BODY_BYTES + 1), Reason::TooLarge, "262145 bytes");
    assert_refused(sized(300 * 1024), Reason::TooLarge, "at most 262144");
}

#[test]
fn the_first_fault_is_told() {
    let decode = |subject, payload: &str| decode(&Inbound { subject, headers: None, payload: payload.as_bytes() });
    let wrong = "order.nonsense.web";
    let right = "order.created.web";
    let large = "x".repeat(MAX_BODY_BYTES + 1);
    assert_refused(decode(wrong, &large), Reason::TooLarge, "");
    assert_refused(decode(wrong, "x"), Reason::UnknownSubject, "");
    assert_refused(decode(right, r#"{"channel":"shop","channel":1}"#), Reason::MalformedJson, "");
    assert_refused(decode(right, r#"{"channel":"shop"}"#), Reason::MissingEventId, "");
    let mismatch = r#"{"event_id":"e","channel":"shop","order_ref":7}"#;
    assert_refused(decode(right, mismatch), Reason::SubjectMismatch, "");
    assert_refused(decode(right, r#"{"event_id":"e","order_ref":7}"#), Reason::InvalidField, "");
}
