//! JSON, read strictly: UTF-8, one value and nothing after it, at most 128 deep, no key twice in any object, known or not.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::domain::{Reason, Refusal};

/// How many lists and objects may stand inside each other, the outermost included.
const MAX_DEPTH: usize = 128;

/// A value as it was written; texts without escapes are borrowed from the body.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// An integer from 0 to 2⁶⁴ − 1.
    Natural(u64),
    /// An integer from −2⁶³ to −1.
    Negative(i64),
    /// A number with a fraction or an exponent, −0, or an integer beyond the other two.
    Inexact(f64),
    Text(Cow<'a, str>),
    List(Vec<Value<'a>>),
    Object(Vec<Entry<'a>>),
}

/// A key of an object and its value.
pub(super) type Entry<'a> = (Cow<'a, str>, Value<'a>);

impl Value<'_> {
    /// The same value, borrowing nothing.
    pub(super) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(bool),
            Self::Natural(number) => Value::Natural(number),
            Self::Negative(number) => Value::Negative(number),
            Self::Inexact(number) => Value::Inexact(number),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::List(items) => Value::List(items.into_iter().map(Value::into_owned).collect()),
            Self::Object(entries) => Value::Object(
                entries.into_iter().map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned())).collect(),
            ),
        }
    }
}

/// Reads the one value that `body` consists of.
pub(super) fn read(body: &[u8]) -> Result<Value<'_>, Refusal> {
    let text = std::str::from_utf8(body)
        .map_err(|fault| Refusal::new(Reason::MalformedJson, format!("it is not UTF-8: {fault}")))?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // Its own limit is one level short of the contract's; `Nested` counts instead.
    deserializer.disable_recursion_limit();
    Nested { depth: 0 }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|fault| refuse(&fault))
}

fn refuse(fault: &serde_json::Error) -> Refusal {
    let sentence = fault.to_string();
    // Such as 1e999: well-formed, only beyond what can be represented. serde_json has no code for it.
    if sentence.starts_with("number out of range") {
        return Refusal::new(Reason::InvalidField, sentence);
    }
    Refusal::new(Reason::MalformedJson, format!("it is not well-formed JSON: {sentence}"))
}

/// Reads a value that stands inside `depth` lists and objects.
#[derive(Clone, Copy)]
struct Nested {
    depth: usize,
}

impl Nested {
    /// For what stands inside: judged before anything of it is read, so that no nesting can exhaust the stack.
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH}")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(bool))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Natural(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(u64::try_from(number).map_or(Value::Negative(number), Value::Natural))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Inexact(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value<'de>, A::Error> {
        let inside = self.deeper()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value<'de>, A::Error> {
        let inside = self.deeper()?;
        let mut entries = Vec::new();
        while let Some(Key(key)) = object.next_key()? {
            entries.push((key, object.next_value_seed(inside)?));
        }
        match twice(&entries) {
            Some(key) => Err(A::Error::custom(format_args!("the key {} stands twice", quote_text(key)))),
            None => Ok(Value::Object(entries)),
        }
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// A key that stands twice among the entries. Linear for many; for the few that a body has, comparing beats hashing.
fn twice<'e>(entries: &'e [Entry<'_>]) -> Option<&'e str> {
    const FEW: usize = 16;
    let keys = entries.iter().map(|(key, _)| &**key);
    if entries.len() > FEW {
        let mut seen = HashSet::with_capacity(entries.len());
        return keys.into_iter().find(|key| !seen.insert(*key));
    }
    keys.enumerate()
        .find(|(place, key)| entries[..*place].iter().any(|(earlier, _)| earlier == key))
        .map(|(_, key)| key)
}

/// A value for a sentence: short, and without control characters.
pub(super) fn quote(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Natural(number) => number.to_string(),
        Value::Negative(number) => number.to_string(),
        Value::Inexact(number) => format!("{number:?}"),
        Value::Text(text) => quote_text(text),
        Value::List(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A text for a sentence: in quotes, short, and without control characters.
pub(super) fn quote_text(text: &str) -> String {
    const SHORT: usize = 40;
    let end = text.char_indices().nth(SHORT).map(|(end, _)| end);
    let (shown, more) = match end {
        Some(end) => (&text[..end], "…"),
        None => (text, ""),
    };
    format!("\"{}{more}\"", shown.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: impl AsRef<[u8]>) -> Refusal {
        read(body.as_ref()).expect_err("must be refused")
    }

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn values_are_kept_as_they_were_written() {
        let cases = [
            ("null", Value::Null),
            (" true\n", Value::Bool(true)),
            ("0", Value::Natural(0)),
            ("18446744073709551615", Value::Natural(u64::MAX)),
            ("-1", Value::Negative(-1)),
            ("-9223372036854775808", Value::Negative(i64::MIN)),
            ("1.0", Value::Inexact(1.0)),
            ("1e3", Value::Inexact(1000.0)),
            ("18446744073709551616", Value::Inexact(18_446_744_073_709_551_616.0)),
            (r#""a\n☕""#, Value::Text("a\n☕".into())),
            (r#""\ud83d\ude00""#, Value::Text("😀".into())),
            ("[]", Value::List(vec![])),
        ];
        for (body, value) in cases {
            assert_eq!(read(body.as_bytes()), Ok(value), "{body}");
        }
        let object = read(br#"{"a":1,"b":"x"}"#).expect("object");
        assert_eq!(
            object,
            Value::Object(vec![("a".into(), Value::Natural(1)), ("b".into(), Value::Text("x".into())),])
        );
        assert_eq!(object.clone().into_owned(), object);
    }

    #[test]
    fn what_is_not_json_is_malformed() {
        let cases: &[&[u8]] = &[
            b"",
            b" ",
            b"{",
            b"{}x",
            b"{} {}",
            b"[1,]",
            b"{\"a\":1,}",
            b"{'a':1}",
            b"// no\n{}",
            b"NaN",
            b"-",
            b"01",
            b"+1",
            b"\"a",
            b"\"\n\"",
            b"\"\\ud800\"",
            b"\xef\xbb\xbf{}",
            b"\"\xff\"",
            b"{\"a\":\"\xc3\x28\"}",
        ];
        for body in cases {
            let refusal = refused(body);
            assert_eq!(refusal.reason, Reason::MalformedJson, "{body:?}");
            assert!(!refusal.detail.contains(char::is_control), "{refusal:?}");
        }
    }

    #[test]
    fn nesting_is_bounded_before_it_is_entered() {
        assert!(read(nested(MAX_DEPTH).as_bytes()).is_ok());
        for depth in [129, 200, 100_000] {
            let refusal = refused(nested(depth));
            assert_eq!(refusal.reason, Reason::MalformedJson);
            assert!(refusal.detail.contains("nested deeper than 128"), "{refusal:?}");
        }
        let objects = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert!(read(objects(128).as_bytes()).is_ok());
        assert_eq!(refused(objects(129)).reason, Reason::MalformedJson);
        assert_eq!(refused("[".repeat(250_000)).reason, Reason::MalformedJson);
    }

    #[test]
    fn a_key_twice_is_malformed_wherever_it_stands() {
        for body in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"{"unknown":[{"deep":{"k":1,"k":2}}]}"#] {
            let refusal = refused(body);
            assert_eq!(refusal.reason, Reason::MalformedJson);
            assert!(refusal.detail.contains("stands twice"), "{refusal:?}");
        }
        assert!(read(br#"{"a":{"a":1},"A":2}"#).is_ok());
    }

    #[test]
    fn fifty_thousand_keys_are_judged_in_no_time() {
        let keys: Vec<_> = (0..50_000).map(|key| format!("\"{key}\":1")).collect();
        assert!(read(format!("{{{}}}", keys.join(",")).as_bytes()).is_ok());
        let refusal = refused(format!("{{{},\"7\":1}}", keys.join(",")));
        assert!(refusal.detail.contains("\"7\" stands twice"), "{refusal:?}");
    }

    #[test]
    fn a_number_beyond_all_bounds_is_a_wrong_range_and_not_a_wrong_form() {
        assert_eq!(refused(r#"{"a":1e999}"#).reason, Reason::InvalidField);
        let refusal = refused("9".repeat(400));
        assert!(refusal.detail.starts_with("number out of range"), "{refusal:?}");
    }

    #[test]
    fn a_quoted_text_is_short_and_printable() {
        assert_eq!(quote_text("a\r\n\u{85}\"☕"), r#""a\r\n\u{85}\"☕""#);
        assert_eq!(quote_text(&"й".repeat(41)), format!("\"{}…\"", "й".repeat(40)));
    }
}
