//! Message headers: found without case, and kept as JSON.

use async_nats::HeaderMap;
use async_nats::header::{HeaderName, HeaderValue};
use serde_json::Value;

/// The first value of a header, its name compared without case. An empty one says nothing.
///
/// Where several spellings of the name stand, the first by its bytes counts: a redelivery must find the same value again.
pub(super) fn find<'h>(headers: Option<&'h HeaderMap>, name: &str) -> Option<&'h str> {
    headers?
        .iter()
        .map(|(spelled, values)| (spelled.as_ref(), values))
        .filter(|(spelled, _): &(&str, _)| spelled.eq_ignore_ascii_case(name))
        .min_by_key(|(spelled, _)| *spelled)
        .and_then(|(_, values)| values.first())
        .map(HeaderValue::as_str)
        .filter(|value| !value.is_empty())
}

/// The W3C trace context that a message carries; one that is not well-formed is ignored.
pub fn traceparent(headers: Option<&HeaderMap>) -> Option<&str> {
    find(headers, "traceparent").filter(|value| is_traceparent(value))
}

/// `version-trace-parent-flags` in lower-case hex; neither id all zeros. Versions after 00 may append fields.
fn is_traceparent(value: &str) -> bool {
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |text: &str, length| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
    let mut fields = value.splitn(5, '-');
    let mut next = || fields.next().unwrap_or_default();
    let (version, trace, parent, flags) = (next(), next(), next(), next());
    let appended = fields.next().is_some();
    is_hex(version, 2)
        && version != "ff"
        && is_id(trace, 32)
        && is_id(parent, 16)
        && is_hex(flags, 2)
        && !(version == "00" && appended)
        && value.len() <= 200
        && value.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Where the sender wants the answer besides: the header's value as it is, to be judged by [`judge_reply_to`].
pub fn reply_to(headers: Option<&HeaderMap>) -> Option<&str> {
    find(headers, "Lastunit-Reply-To")
}

/// Whether an answer may be sent there: a literal subject of at most 200 bytes under one of the prefixes.
pub fn judge_reply_to(subject: &str, prefixes: &[String]) -> bool {
    subject.len() <= 200
        && !subject.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '*' | '>'))
        && subject.split('.').all(|token| !token.is_empty())
        && prefixes.iter().any(|prefix| subject.starts_with(prefix.as_str()))
}

/// Headers as JSON, sorted: each name, spelled as it is, with its values. PostgreSQL's JSON holds no NUL, so none is in it.
pub fn headers_to_json(headers: &HeaderMap) -> Value {
    let mut named: Vec<(&str, Value)> =
        headers.iter().map(|(name, values)| (name.as_ref(), values.iter().map(storable).collect())).collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    Value::Object(named.into_iter().map(|(name, values)| (name.to_owned(), values)).collect())
}

/// PostgreSQL's text, and so its JSON, holds no NUL.
fn storable(value: &HeaderValue) -> String {
    value.as_str().replace('\0', "\u{fffd}")
}

/// Headers from the JSON that [`headers_to_json`] made. What could not stand in a header is left out.
pub fn headers_from_json(json: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, values) in json.as_object().into_iter().flatten() {
        let Ok(name) = name.parse::<HeaderName>() else {
            continue;
        };
        for value in values.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if let Ok(value) = value.parse::<HeaderValue>() {
                headers.append(name.clone(), value);
            }
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, *value);
        }
        headers
    }

    #[test]
    fn a_header_is_found_in_any_case_and_always_the_same() {
        let headers = map(&[("ce-ID", "b"), ("CE-Id", "a"), ("CE-Id", "c"), ("Empty", "")]);
        assert_eq!(find(Some(&headers), "ce-id"), Some("a"));
        assert_eq!(find(Some(&headers), "empty"), None);
        assert_eq!(find(Some(&headers), "other"), None);
        assert_eq!(find(None, "ce-id"), None);
    }

    #[test]
    fn a_traceparent_is_carried_only_if_well_formed() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let cases = [
            (good.to_owned(), true),
            (format!("{good}-more"), false),
            (good.replacen("00", "01", 1), true),
            (format!("{}-more", good.replacen("00", "01", 1)), true),
            (good.replacen("00", "ff", 1), false),
            (good.to_uppercase(), false),
            (good.replace("b7ad6b7169203331", "0000000000000000"), false),
            (good.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)), false),
            (good[..54].to_owned(), false),
            (format!("{} x", good.replacen("00", "01", 1)), false),
            ("junk".to_owned(), false),
        ];
        for (value, carried) in cases {
            let headers = map(&[("TraceParent", &value)]);
            assert_eq!(traceparent(Some(&headers)).is_some(), carried, "{value}");
        }
    }

    #[test]
    fn an_answer_goes_only_to_a_literal_subject_under_a_prefix() {
        let prefixes = ["_INBOX.".to_owned(), "shop.replies.".to_owned()];
        let longest = format!("_INBOX.{}", "x".repeat(193));
        let cases = [
            ("_INBOX.abc.1", true),
            ("shop.replies.7", true),
            (&longest, true),
            (&format!("{longest}x"), false),
            ("_INBOX.", false),
            ("_INBOX..a", false),
            ("_INBOX.a.", false),
            ("_INBOX.*", false),
            ("_INBOX.a.>", false),
            ("_INBOX.a b", false),
            ("_INBOX.a\tb", false),
            ("_INBOX", false),
            ("order.created.web", false),
            ("$JS.API.STREAM.DELETE.ORDERS", false),
            ("", false),
        ];
        for (subject, allowed) in cases {
            assert_eq!(judge_reply_to(subject, &prefixes), allowed, "{subject}");
        }
        assert!(!judge_reply_to("_INBOX.a", &[]));
        let headers = map(&[("lastunit-reply-to", "_INBOX.a")]);
        assert_eq!(reply_to(Some(&headers)), Some("_INBOX.a"));
    }

    #[test]
    fn headers_survive_being_kept() {
        let headers = map(&[("X-b", "1"), ("x-B", "2"), ("X-b", "é"), ("Nats-Msg-Id", "7")]);
        let json = headers_to_json(&headers);
        assert_eq!(json.to_string(), r#"{"Nats-Msg-Id":["7"],"X-b":["1","é"],"x-B":["2"]}"#);
        assert_eq!(headers_from_json(&json), headers);
        assert_eq!(headers_to_json(&map(&[("X", "a\0b")])), serde_json::json!({ "X": ["a\u{fffd}b"] }));
        let damaged = serde_json::json!({"a b": ["x"], "ok": ["a\nb", 1, "y"], "no": "list"});
        assert_eq!(headers_from_json(&damaged), map(&[("ok", "y")]));
        assert!(headers_from_json(&Value::Null).is_empty());
    }
}
