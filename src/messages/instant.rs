//! Instants on the wire: RFC 3339, read in any offset, told in UTC with microseconds.

use std::fmt;

use serde::{Serialize, Serializer};
use time::UtcOffset;
use time::format_description::well_known::Rfc3339;

use crate::domain::Timestamp;

/// Reads an RFC 3339 date and time, in UTC and truncated to microseconds.
pub fn parse(text: &str) -> Option<Timestamp> {
    // The parser takes any separator.
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let at = Timestamp::parse(text, &Rfc3339).ok()?.checked_to_offset(UtcOffset::UTC)?;
    // An offset may carry the ends of the calendar over its edge, where there is no RFC 3339 any more.
    if !(0..=9999).contains(&at.year()) {
        return None;
    }
    at.replace_nanosecond(at.microsecond() * 1000).ok()
}

/// An instant as it is told: `2027-01-01T10:00:00.000000Z`, always of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireTime(pub Timestamp);

impl WireTime {
    fn write(self) -> [u8; 27] {
        let at = self.0.checked_to_offset(UtcOffset::UTC).unwrap_or(self.0);
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        digits(&mut text[0..4], at.year().unsigned_abs());
        digits(&mut text[5..7], u32::from(u8::from(at.month())));
        digits(&mut text[8..10], u32::from(at.day()));
        digits(&mut text[11..13], u32::from(at.hour()));
        digits(&mut text[14..16], u32::from(at.minute()));
        digits(&mut text[17..19], u32::from(at.second()));
        digits(&mut text[20..26], at.microsecond());
        text
    }
}

fn digits(places: &mut [u8], mut number: u32) {
    for place in places.iter_mut().rev() {
        *place = b"0123456789"[(number % 10) as usize];
        number /= 10;
    }
}

impl fmt::Display for WireTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.write()).unwrap_or_default())
    }
}

impl Serialize for WireTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.write()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use time::macros::datetime;

    #[test]
    fn an_instant_is_read_in_any_offset_and_truncated() {
        let cases = [
            ("2027-01-01T10:00:00Z", datetime!(2027-01-01 10:00:00 UTC)),
            ("2027-01-01t10:00:00z", datetime!(2027-01-01 10:00:00 UTC)),
            ("2027-01-01 13:00:00+03:00", datetime!(2027-01-01 10:00:00 UTC)),
            ("2027-01-01T10:00:00.1234569Z", datetime!(2027-01-01 10:00:00.123456 UTC)),
        ];
        for (text, at) in cases {
            assert_eq!(parse(text), Some(at), "{text}");
        }
    }

    #[test]
    fn what_is_no_instant_is_none() {
        for text in [
            "",
            "2027-01-01",
            "2027-01-01T10:00:00",
            "2027-01-01x10:00:00Z",
            "2027-13-01T10:00:00Z",
            "2027-02-29T10:00:00Z",
            "2027-01-01T10:00:00Zx",
            "0000-01-01T00:00:00+23:59",
            "9999-12-31T23:59:59-23:59",
            "1798797600",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_instant_is_told_in_utc_with_microseconds() {
        let at = datetime!(2027-01-01 13:04:05.000_070 +3);
        assert_eq!(WireTime(at).to_string(), "2027-01-01T10:04:05.000070Z");
        let json = serde_json::to_string(&WireTime(at)).expect("a string");
        assert_eq!(json, "\"2027-01-01T10:04:05.000070Z\"");
    }

    proptest! {
        #[test]
        fn what_is_told_reads_back(micros in -62_135_596_800_000_000_i64..253_402_300_800_000_000) {
            let at = Timestamp::from_unix_timestamp_nanos(i128::from(micros) * 1000).expect("in range");
            prop_assert_eq!(parse(&WireTime(at).to_string()), Some(at));
        }
    }
}
