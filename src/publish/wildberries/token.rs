//! What a token says of itself. Its signature is theirs to judge.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use time::OffsetDateTime;

use crate::domain::Timestamp;
use crate::publish::Credentials;

/// The bit of the claim `s` for the category Marketplace.
const MARKETPLACE: u64 = 1 << 4;
/// The bit of a token that may only read.
const READ_ONLY: u64 = 1 << 30;

/// The claims that matter here.
#[derive(Deserialize)]
struct Claims {
    #[serde(default)]
    exp: Option<i64>,
    #[serde(default)]
    s: Option<u64>,
}

pub(super) fn judge(token: &SecretString, now: Timestamp) -> Credentials {
    let Some(claims) = claims(token.expose_secret()) else {
        return Credentials { expires_at: None, trouble: Some("the token is no JWT".to_owned()) };
    };
    let expires_at = claims.exp.and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
    let trouble = if expires_at.is_some_and(|at| at <= now) {
        Some("the token has expired")
    } else if claims.s.is_some_and(|allowed| allowed & MARKETPLACE == 0) {
        Some("the token is not of the category Marketplace")
    } else if claims.s.is_some_and(|allowed| allowed & READ_ONLY != 0) {
        Some("the token may only read")
    } else {
        None
    };
    Credentials { expires_at, trouble: trouble.map(str::to_owned) }
}

fn claims(token: &str) -> Option<Claims> {
    let mut parts = token.split('.');
    let (_, payload, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else { return None };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: Timestamp = datetime!(2026-12-01 10:00 UTC);

    fn judged(claims: &str) -> Credentials {
        judge(&format!("e30.{}.c2ln", BASE64_URL_SAFE_NO_PAD.encode(claims)).into(), NOW)
    }

    #[test]
    fn a_token_says_when_it_ends_and_what_it_may() {
        let end = datetime!(2027-03-01 00:00 UTC);
        let exp = end.unix_timestamp();
        for (claims, expires_at, trouble) in [
            (format!(r#"{{"exp":{exp},"s":16}}"#), Some(end), None),
            (format!(r#"{{"exp":{exp},"acc":1}}"#), Some(end), None),
            (r#"{"s":16}"#.to_owned(), None, None),
            (format!(r#"{{"exp":{exp},"s":2}}"#), Some(end), Some("the token is not of the category Marketplace")),
            (format!(r#"{{"exp":{exp},"s":1073741840}}"#), Some(end), Some("the token may only read")),
            (format!(r#"{{"exp":{},"s":16}}"#, NOW.unix_timestamp()), Some(NOW), Some("the token has expired")),
        ] {
            assert_eq!(judged(&claims), Credentials { expires_at, trouble: trouble.map(str::to_owned) }, "{claims}");
        }
    }

    #[test]
    fn what_is_no_token_is_said_to_be_none_without_showing_it() {
        for text in ["", "abc", "a.b", "a.b.c.d", "e30.!!.c", "e30.eyJleHAiOiJzb29uIn0.c"] {
            let judged = judge(&text.into(), NOW);
            assert_eq!(judged, Credentials { expires_at: None, trouble: Some("the token is no JWT".into()) }, "{text}");
        }
    }
}
