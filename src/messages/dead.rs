//! What a dead letter looks like: the body untouched, the reason in headers.

use async_nats::HeaderMap;
use async_nats::header::{HeaderValue, NATS_MESSAGE_ID};
use serde_json::json;
use uuid::Uuid;

use super::headers::headers_to_json;
use crate::domain::Refusal;

const REASON: &str = "Lastunit-Reason";
const DETAIL: &str = "Lastunit-Detail";
const STREAM: &str = "Lastunit-Stream";
const SEQUENCE: &str = "Lastunit-Sequence";
const CONSUMER: &str = "Lastunit-Consumer";
/// The most that the original headers may take, in bytes: the broker takes no more than 64 KiB of headers, and ours stand there too. They are
/// kept whole in the table.
const MOST_ORIGINAL: usize = 48 * 1024;
const ORIGINAL: &str = "Lastunit-Original-Headers";

/// Where a message that could not be processed came from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Its stream.
    pub stream: &'a str,
    /// Its place there.
    pub sequence: u64,
    /// The durable consumer that delivered it.
    pub consumer: &'a str,
    /// Its headers, if it had any.
    pub headers: Option<&'a HeaderMap>,
}

/// The headers of a dead letter whose own id is `event_id`.
///
/// The original headers stay as they were, except those that the broker would act upon (`Nats-*`), which stand together as JSON, and
/// those of an earlier dead letter that was published again.
pub fn dead_headers(event_id: Uuid, refusal: &Refusal, origin: &Origin<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut brokers = HeaderMap::new();
    for (name, values) in origin.headers.into_iter().flat_map(HeaderMap::iter) {
        let spelled = name.as_ref();
        if is_dead_letters(spelled) {
            continue;
        }
        let kept = if is_brokers(spelled) { &mut brokers } else { &mut headers };
        for value in values {
            kept.append(name.clone(), value.clone());
        }
    }
    if !brokers.is_empty() {
        headers.insert(ORIGINAL, safe(&headers_to_json(&brokers).to_string()));
    }
    let bytes = size(&headers);
    if bytes > MOST_ORIGINAL {
        headers = HeaderMap::new();
        headers.insert(ORIGINAL, json!({ "left_out": format!("{bytes} bytes of headers") }).to_string());
    }
    headers.insert(REASON, refusal.reason.word());
    headers.insert(DETAIL, safe(&refusal.detail));
    headers.insert(STREAM, safe(origin.stream));
    headers.insert(SEQUENCE, HeaderValue::from(origin.sequence));
    headers.insert(CONSUMER, safe(origin.consumer));
    headers.insert(NATS_MESSAGE_ID, event_id.to_string());
    headers
}

/// About how many bytes headers take on the wire.
fn size(headers: &HeaderMap) -> usize {
    let line = |name: &str, value: &HeaderValue| name.len() + value.as_str().len() + 4;
    headers.iter().flat_map(|(name, values)| values.iter().map(move |value| line(name.as_ref(), value))).sum()
}

fn is_brokers(name: &str) -> bool {
    name.get(..5).is_some_and(|prefix| prefix.eq_ignore_ascii_case("Nats-"))
}

fn is_dead_letters(name: &str) -> bool {
    [REASON, DETAIL, STREAM, SEQUENCE, CONSUMER, ORIGINAL].iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// A text that may stand in a header: control characters, line ends above all, become spaces.
fn safe(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Reason;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, *value);
        }
        headers
    }

    fn dead(original: Option<&HeaderMap>) -> HeaderMap {
        let origin = Origin { stream: "ORDERS", sequence: 17, consumer: "orders", headers: original };
        let refusal = Refusal::new(Reason::InvalidField, "qty must be ≥ 1\r\nX: y");
        dead_headers(Uuid::from_u128(1), &refusal, &origin)
    }

    const OWN: [(&str, &str); 6] = [
        ("Lastunit-Reason", "invalid_field"),
        ("Lastunit-Detail", "qty must be ≥ 1  X: y"),
        ("Lastunit-Stream", "ORDERS"),
        ("Lastunit-Sequence", "17"),
        ("Lastunit-Consumer", "orders"),
        ("Nats-Msg-Id", "00000000-0000-0000-0000-000000000001"),
    ];

    #[test]
    fn a_dead_letter_says_why_and_from_where() {
        assert_eq!(dead(None), map(&OWN));
        assert_eq!(dead(Some(&HeaderMap::new())), map(&OWN));
    }

    #[test]
    fn headers_that_the_broker_would_not_take_again_are_left_out() {
        let long = "x".repeat(60_000);
        let told = dead(Some(&map(&[("X-Long", &long)])));
        assert_eq!(told.get("X-Long"), None);
        assert!(told.get("Lastunit-Original-Headers").is_some_and(|value| value.as_str().contains("left_out")));
        assert!(size(&told) < 2_000);
        let quotes = "\"".repeat(30_000);
        assert!(size(&dead(Some(&map(&[("Nats-Foo", &quotes)])))) < 2_000);
    }

    #[test]
    fn the_original_headers_stay_but_the_brokers_stand_together() {
        let original = map(&[
            ("X-Shop", "1"),
            ("X-Shop", "2"),
            ("Lastunit-Reply-To", "_INBOX.a"),
            ("Nats-Msg-Id", "c7d3"),
            ("nats-expected-stream", "ORDERS"),
        ]);
        let mut expected = map(&OWN);
        expected.append("X-Shop", "1");
        expected.append("X-Shop", "2");
        expected.insert("Lastunit-Reply-To", "_INBOX.a");
        expected.insert("Lastunit-Original-Headers", r#"{"Nats-Msg-Id":["c7d3"],"nats-expected-stream":["ORDERS"]}"#);
        assert_eq!(dead(Some(&original)), expected);
    }

    #[test]
    fn a_dead_letter_of_a_dead_letter_has_one_reason() {
        let first = dead(Some(&map(&[("X-Shop", "1")])));
        let mut replayed = first.clone();
        replayed.append("lastunit-reason", "too_large");
        let mut expected = first;
        expected.insert("Lastunit-Original-Headers", r#"{"Nats-Msg-Id":["00000000-0000-0000-0000-000000000001"]}"#);
        assert_eq!(dead(Some(&replayed)), expected);
    }
}
