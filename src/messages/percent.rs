//! Percent-encoding: how a SKU becomes a subject token, and how the headers of a `CloudEvent` carry what a header cannot.

/// Writes every byte outside `[A-Za-z0-9_-]` as `%XX`, upper-case hex.
pub(super) fn encode(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    encoded
}

/// Reads `%XX` back, in either case; none if a `%` stands alone or the bytes are not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = if let (b'%', [high, low, tail @ ..]) = (first, tail) {
            bytes.push(hex(*high)? << 4 | hex(*low)?);
            tail
        } else if *first == b'%' {
            return None;
        } else {
            bytes.push(*first);
            tail
        };
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_outside_a_token_are_written_in_hex() {
        let cases =
            [("TROPA-41_b", "TROPA-41_b"), ("a.b c%", "a%2Eb%20c%25"), ("☕", "%E2%98%95"), ("\\*>", "%5C%2A%3E")];
        for (text, encoded) in cases {
            assert_eq!(encode(text), encoded);
            assert_eq!(decode(encoded).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_was_not_encoded_does_not_decode() {
        assert_eq!(decode("%e2%98%95").as_deref(), Some("☕"));
        for bad in ["%", "%4", "a%G0", "%+1", "%FF", "%C3%28"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
