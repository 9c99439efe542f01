//! Secrets: read from files or variables, held so that nothing prints them, masked where settings are shown.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize as _, Serializer};

use super::problems::Problems;

/// What stands where a secret is.
const MASK: &str = "***";

/// A secret without the line end that editors leave.
///
/// # Errors
/// A sentence: there is none.
pub(super) fn trimmed(secret: &SecretString) -> Result<SecretString, String> {
    match secret.expose_secret().trim() {
        "" => Err("the secret is empty".to_owned()),
        text => Ok(text.into()),
    }
}

/// # Errors
/// A sentence: the file cannot be read, or holds nothing.
pub(super) fn read(file: &Path) -> Result<SecretString, String> {
    let read = std::fs::read_to_string(file).map(SecretString::from);
    read.map_err(|error| error.to_string())
        .and_then(|secret| trimmed(&secret))
        .map_err(|what| format!("{}: {what}", file.display()))
}

/// Judges a Standard Webhooks secret: base64, with or without `whsec_` before it.
pub(super) fn judge_webhook(key: &str, secret: Option<&SecretString>, problems: &mut Problems) {
    if !secret.is_none_or(|secret| is_webhook(secret.expose_secret())) {
        problems.add(key, "is not base64, with or without whsec_ before it");
    }
}

/// Judges Standard Webhooks secrets, one a line.
pub(super) fn judge_webhooks(key: &str, secrets: Option<&SecretString>, problems: &mut Problems) {
    let lines = secrets.into_iter().flat_map(|secrets| secrets.expose_secret().lines());
    if !lines.map(str::trim).filter(|line| !line.is_empty()).all(is_webhook) {
        problems.add(key, "is not base64, with or without whsec_ before it, one secret a line");
    }
}

fn is_webhook(text: &str) -> bool {
    STANDARD.decode(text.strip_prefix("whsec_").unwrap_or(text)).is_ok_and(|bytes| !bytes.is_empty())
}

/// Shows that a secret is set, not what it is.
#[expect(clippy::ref_option, reason = "the signature is serde's")]
pub(super) fn masked<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(|_| MASK).serialize(serializer)
}

/// Shows a URL without its password.
pub(super) fn masked_url<S: Serializer>(url: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&mask_url(url.expose_secret()))
}

/// Shows a comma list of URLs, each without its password or token.
pub(super) fn masked_urls<S: Serializer>(urls: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&mask_urls(urls))
}

/// A comma list of NATS URLs; user information without a colon is a token there, and masked whole.
pub(super) fn mask_urls(urls: &str) -> String {
    let masked = urls.split(',').map(|url| match split_user(url) {
        (before, Some(user), after) if !user.contains(':') => format!("{before}{MASK}@{after}"),
        _ => mask_url(url),
    });
    masked.collect::<Vec<_>>().join(",")
}

fn mask_url(url: &str) -> String {
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let mut masked = match split_user(url) {
        (before, Some(user), after) => match user.split_once(':') {
            Some((name, _)) => format!("{before}{name}:{MASK}@{after}"),
            None => url.to_owned(),
        },
        (..) => url.to_owned(),
    };
    for (at, pair) in query.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        masked.push(if at == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((key, _)) if key.to_ascii_lowercase().contains("pass") => {
                masked.extend([key, "=", MASK]);
            }
            _ => masked.push_str(pair),
        }
    }
    masked
}

/// What stands before the user information, the user information, and what follows its `@`. The last `@` ends it, so that
/// a password with an unescaped one is not shown by half.
fn split_user(url: &str) -> (&str, Option<&str>, &str) {
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at(start);
    match rest.rsplit_once('@') {
        Some((user, after)) => (scheme, Some(user), after),
        None => (scheme, None, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_masked() {
        for (url, shown) in [
            ("postgres:///lastunit", "postgres:///lastunit"),
            ("postgres://shop@db/x", "postgres://shop@db/x"),
            ("postgres://shop:pw@db:5432/x", "postgres://shop:***@db:5432/x"),
            ("postgres://shop:p@w@db/x?a=b", "postgres://shop:***@db/x?a=b"),
            ("postgres://db/x?a=b&password=pw", "postgres://db/x?a=b&password=***"),
        ] {
            assert_eq!(mask_url(url), shown);
        }
    }

    #[test]
    fn tokens_in_nats_urls_are_masked() {
        assert_eq!(
            mask_urls("nats://tok3n@a:4222,nats://u:pw@b,c:4222,u:pw@d"),
            "nats://***@a:4222,nats://u:***@b,c:4222,u:***@d"
        );
    }
}
