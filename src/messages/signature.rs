//! Signatures of gateways: Standard Webhooks, over the data of the message as it is.

use std::collections::HashMap;

use async_nats::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use standardwebhooks::{HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook};
use subtle::ConstantTimeEq;

use super::headers::find;
use super::{Message, payment};
use crate::domain::{Reason, Refusal};

/// How far the time of signing may be from the time at which the stream received the message, in seconds: the standard's own bound. A message may
/// lie in the stream for as long as it keeps it.
const TOLERANCE_S: i64 = 5 * 60;

/// The secrets of the providers that sign. Every message of such a provider must bear a signature by one of its secrets: several, while one
/// takes the place of another.
#[derive(Default)]
pub struct Signatures(HashMap<String, Vec<Webhook>>);

impl std::fmt::Debug for Signatures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Signatures {
    /// The secrets of each provider, one a line, base64 with or without `whsec_` before it.
    ///
    /// # Errors
    /// The provider of which a line is no secret.
    pub fn new<'a>(providers: impl IntoIterator<Item = (&'a str, &'a SecretString)>) -> Result<Self, String> {
        let mut signatures = HashMap::new();
        for (provider, secrets) in providers {
            let secrets = secrets.expose_secret().lines().map(str::trim).filter(|line| !line.is_empty());
            let webhooks: Result<Vec<_>, _> = secrets.map(Webhook::new).collect();
            signatures.insert(provider.to_owned(), webhooks.map_err(|_| provider.to_owned())?);
        }
        Ok(Self(signatures))
    }

    /// Judges a message of a provider that signs; all others pass.
    ///
    /// # Errors
    /// Why its signature does not hold.
    pub fn judge(&self, message: &Message) -> Result<(), Refusal> {
        let Some(secrets) = payment::provider(&message.subject).and_then(|provider| self.0.get(provider)) else {
            return Ok(());
        };
        let received = message.received_at.unix_timestamp();
        judge(secrets, message.headers.as_ref(), &message.payload, received)
            .map_err(|fault| Refusal::new(Reason::BadSignature, fault))
    }
}

fn judge(secrets: &[Webhook], headers: Option<&HeaderMap>, payload: &[u8], received: i64) -> Result<(), String> {
    let header = |name: &str| find(headers, name).ok_or_else(|| format!("the header {name} is missing"));
    let (id, signatures) = (header(HEADER_WEBHOOK_ID)?, header(HEADER_WEBHOOK_SIGNATURE)?);
    let at: i64 = header(HEADER_WEBHOOK_TIMESTAMP)?
        .parse()
        .map_err(|_| format!("the header {HEADER_WEBHOOK_TIMESTAMP} must be seconds since 1970"))?;
    let age = received.saturating_sub(at);
    if age.saturating_abs() > TOLERANCE_S {
        return Err(format!(
            "it was signed {age} s before the stream received it; at most {TOLERANCE_S} s, before or after, are taken"
        ));
    }
    let signed = |secret: &Webhook| {
        let expected = secret.sign(id, at, payload).unwrap_or_default();
        let is_it = |signature: &str| bool::from(signature.as_bytes().ct_eq(expected.as_bytes()));
        !expected.is_empty() && signatures.split(' ').any(is_it)
    };
    if secrets.iter().any(signed) {
        return Ok(());
    }
    Err(format!("the header {HEADER_WEBHOOK_SIGNATURE} holds no signature of this message by a secret of its provider"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &[u8] = br#"{"event_id":"evt_1"}"#;
    const OLD: &str = "whsec_b2xkLW9sZC1vbGQ=";
    const NEW: &str = "bmV3LW5ldy1uZXc=";
    const NOW: i64 = 1_800_000_000;

    fn headers(secret: &str, at: i64) -> HeaderMap {
        let signature = Webhook::new(secret).expect("a secret").sign("msg_1", at, PAYLOAD).expect("UTF-8");
        let mut headers = HeaderMap::new();
        headers.insert("Webhook-Id", "msg_1");
        headers.insert("webhook-timestamp", at.to_string());
        headers.insert("webhook-signature", format!("v1a,other v1,AAAA {signature}"));
        headers
    }

    fn judged(headers: &HeaderMap, payload: &[u8]) -> bool {
        let secrets = [OLD, NEW].map(|secret| Webhook::new(secret).expect("a secret"));
        judge(&secrets, Some(headers), payload, NOW).is_ok()
    }

    #[test]
    fn a_message_must_be_signed_by_one_of_the_secrets_at_its_own_time() {
        for (secret, at, holds) in [
            (OLD, NOW, true),
            (NEW, NOW, true),
            ("b3RoZXI=", NOW, false),
            (OLD, NOW - TOLERANCE_S, true),
            (OLD, NOW - TOLERANCE_S - 1, false),
            (OLD, NOW + TOLERANCE_S, true),
            (OLD, NOW + TOLERANCE_S + 1, false),
            (OLD, i64::MIN, false),
        ] {
            assert_eq!(judged(&headers(secret, at), PAYLOAD), holds, "{secret} {at}");
        }
        assert!(!judged(&headers(OLD, NOW), br#"{"event_id":"evt_2"}"#));
        assert!(!judged(&headers(OLD, NOW), b"\xff"));
    }

    #[test]
    fn nothing_of_a_signature_may_be_missing() {
        for name in ["Webhook-Id", "webhook-timestamp", "webhook-signature"] {
            let all = headers(OLD, NOW);
            let mut without = HeaderMap::new();
            for (spelled, values) in all.iter().filter(|(spelled, _)| spelled.as_ref() as &str != name) {
                for value in values {
                    without.append(spelled.clone(), value.clone());
                }
            }
            assert!(!judged(&without, PAYLOAD), "{name}");
        }
        let mut no_time = headers(OLD, NOW);
        no_time.insert("webhook-timestamp", "soon");
        assert!(!judged(&no_time, PAYLOAD));
        assert!(judge(&[], Some(&headers(OLD, NOW)), PAYLOAD, NOW).is_err());
    }

    #[test]
    fn secrets_are_lines_and_are_not_shown() {
        let secrets = SecretString::from(format!("{OLD}\r\n\n  {NEW}\n"));
        let signatures = Signatures::new([("stripe", &secrets)]).expect("secrets");
        assert_eq!(signatures.0["stripe"].len(), 2);
        assert_eq!(format!("{signatures:?}"), r#"{"stripe"}"#);
        assert_eq!(Signatures::new([("bad", &SecretString::from("!"))]).err().as_deref(), Some("bad"));
    }
}
