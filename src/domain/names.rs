//! The names that the outside gives to things, each bounded where it enters.

use std::fmt;
use std::sync::Arc;

/// Why a text is not the name it claims to be. Reads as the end of a sentence that begins with the field's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// Empty, or longer than the bound.
    #[error("must be 1 to {0} bytes long")]
    Length(usize),
    /// A control character stands in it.
    #[error("must not contain control characters")]
    Control,
    /// White space stands at one of its ends.
    #[error("must not begin or end with white space")]
    Edge,
    /// It is no subject token.
    #[error("must be 1 to 64 of A-Z a-z 0-9 _ -")]
    Token,
}

fn judge_length_and_control(text: &str, bound: usize) -> Result<(), NameFault> {
    if text.is_empty() || text.len() > bound {
        return Err(NameFault::Length(bound));
    }
    if text.chars().any(char::is_control) {
        return Err(NameFault::Control);
    }
    Ok(())
}

/// 1 to 200 bytes of UTF-8, no control characters, no white space at either end.
fn judge_text(text: &str) -> Result<(), NameFault> {
    judge_length_and_control(text, 200)?;
    if text.trim() != text {
        return Err(NameFault::Edge);
    }
    Ok(())
}

/// A single subject token: `[A-Za-z0-9_-]{1,64}`.
fn judge_token(text: &str) -> Result<(), NameFault> {
    let of_token = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if text.is_empty() || text.len() > 64 || !text.bytes().all(of_token) {
        return Err(NameFault::Token);
    }
    Ok(())
}

/// 1 to 200 bytes of UTF-8, no control characters.
fn judge_event_id(text: &str) -> Result<(), NameFault> {
    judge_length_and_control(text, 200)
}

macro_rules! name {
    ($(#[$meta:meta])* $name:ident, $judge:ident) => {
        $(#[$meta])*
        ///
        /// Ordered byte by byte, as the database's `COLLATE "C"` orders it. Cloning shares the text.
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text if it is within the bounds.
            ///
            /// # Errors
            /// The bound that was broken.
            pub fn new(text: &str) -> Result<Self, NameFault> {
                $judge(text)?;
                Ok(Self(text.into()))
            }

            /// Takes a text that was judged when it was stored.
            pub fn stored(text: &str) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

name!(
    /// A stock keeping unit: what is counted.
    Sku, judge_text
);
name!(
    /// An order's name within its channel.
    OrderRef, judge_text
);
name!(
    /// A thing with time slots, such as a fitting room.
    Resource, judge_text
);
name!(
    /// A reference that another system gives: a document, a shipment, a payment.
    Text, judge_text
);
name!(
    /// Where an order comes from: one subject token.
    Channel, judge_token
);
name!(
    /// Where units lie: one subject token.
    Warehouse, judge_token
);
name!(
    /// A payment gateway: one subject token.
    Provider, judge_token
);
name!(
    /// The id of an event, unique per full subject.
    EventId, judge_event_id
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sku_may_hold_anything_printable_but_edges_of_white_space() {
        for odd in ["a.b", "007", "back\\slash", "*", ">", "100% wool", "кофемолка", "☕", "TROPA."] {
            assert_eq!(Sku::new(odd).expect(odd).as_str(), odd);
        }
        assert_eq!(Sku::new(""), Err(NameFault::Length(200)));
        assert_eq!(Sku::new(&"x".repeat(201)), Err(NameFault::Length(200)));
        assert!(Sku::new(&"x".repeat(200)).is_ok());
        assert_eq!(Sku::new("a\nb"), Err(NameFault::Control));
        assert_eq!(Sku::new("a\u{85}b"), Err(NameFault::Control));
        assert_eq!(Sku::new(" a"), Err(NameFault::Edge));
        assert_eq!(Sku::new("a\u{a0}"), Err(NameFault::Edge));
    }

    #[test]
    fn a_channel_is_one_subject_token() {
        assert!(Channel::new("web-2_A").is_ok());
        for bad in ["", "a.b", "*", ">", "a b", "й", &"x".repeat(65)] {
            assert_eq!(Channel::new(bad), Err(NameFault::Token), "{bad}");
        }
    }
}
