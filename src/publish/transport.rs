//! One request to a channel and its whole answer, or what happened instead, in words that hold no secret.

use std::net::IpAddr;
use std::sync::Once;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;

use super::{AdapterError, Outcome, ReadFault};

/// The longest answer that is read. A catalogue page of a marketplace is some hundred KiB.
const LONGEST_ANSWER: usize = 4 << 20;
/// The most characters of an answer that an error shows.
const EXCERPT: usize = 300;
/// The longest that a connection may take to come about. What ends before it is known not to have been sent.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// What stands where a secret was.
const MASK: &str = "***";

/// The way to one channel.
pub(super) struct Transport {
    client: Client,
    timeout: Duration,
    /// What no text may show.
    secrets: Vec<SecretString>,
}

/// A whole answer. What it says may be anything; the secrets of the channel are masked in it.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// Why there is no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nothing was sent.
    NotSent(String),
    /// It was sent, or part of it, and what came of it is not known.
    Unknown(String),
}

impl Silence {
    pub(super) fn reason(self) -> String {
        match self {
            Self::NotSent(reason) | Self::Unknown(reason) => reason,
        }
    }
}

impl Transport {
    /// The way to a host. Loopback hosts are reached without the environment's proxy.
    ///
    /// # Errors
    /// The machine has no certificates to trust, or none that can be read.
    pub(super) fn new(base: &Url, timeout: Duration, secrets: Vec<SecretString>) -> Result<Self, AdapterError> {
        install_cryptography();
        let builder = Client::builder()
            .user_agent(concat!("lastunit/", env!("CARGO_PKG_VERSION")))
            .timeout(timeout)
            .connect_timeout(CONNECT_WITHIN.min(timeout))
            .redirect(Policy::none());
        let builder = if is_loopback(base) { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| AdapterError::Client(deepest(&error)))?;
        Ok(Self { client, timeout, secrets })
    }

    /// What requests are made with.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// The longest that one request may take.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends it and reads the whole answer.
    ///
    /// # Errors
    /// There is none, or no whole one.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Answer, Silence> {
        let mut response = request.send().await.map_err(|error| self.silence(&error))?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.silence(&error))? {
            if bytes.len() + chunk.len() > LONGEST_ANSWER {
                return Err(Silence::Unknown(format!(
                    "{}: an answer of more than {LONGEST_ANSWER} bytes",
                    response.status()
                )));
            }
            bytes.extend_from_slice(&chunk);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Answer { status, headers, body: self.mask(&String::from_utf8_lossy(&bytes)) })
    }

    /// The text with the secrets of the channel masked.
    pub(super) fn mask(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), MASK))
    }

    /// The outcomes, no secret in any reason: an answer may have held one in an escaped form.
    pub(super) fn masked(&self, mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        for outcome in &mut outcomes {
            match outcome {
                Outcome::Accepted => {}
                Outcome::Again { reason, .. }
                | Outcome::Deferred(reason)
                | Outcome::Rejected(reason)
                | Outcome::Unknown(reason)
                | Outcome::Split(reason)
                | Outcome::Halted(reason) => *reason = excerpt(&self.mask(reason)),
            }
        }
        outcomes
    }

    /// The fault, no secret in its text.
    pub(super) fn masked_fault(&self, fault: ReadFault) -> ReadFault {
        match fault {
            ReadFault::Failed(reason) => ReadFault::Failed(excerpt(&self.mask(&reason))),
            ReadFault::Halted(reason) => ReadFault::Halted(excerpt(&self.mask(&reason))),
            ReadFault::Unsupported => ReadFault::Unsupported,
        }
    }

    /// The library's own texts name the URL, which may hold what is nobody's business: only the cause is shown.
    fn silence(&self, error: &reqwest::Error) -> Silence {
        let cause = self.mask(&deepest(error));
        if error.is_connect() {
            Silence::NotSent(format!("could not connect: {cause}"))
        } else if error.is_builder() {
            Silence::NotSent(format!("could not be asked: {cause}"))
        } else if error.is_timeout() {
            Silence::Unknown(format!("timed out: no whole answer within {} s", self.timeout.as_secs_f64()))
        } else if error.is_body() || error.is_decode() {
            Silence::Unknown(format!("the answer broke off: {cause}"))
        } else {
            Silence::Unknown(format!("no answer: {cause}"))
        }
    }
}

impl Answer {
    /// An answer as a test wants it.
    #[cfg(test)]
    pub(super) fn of(status: u16, body: &str) -> Self {
        let status = StatusCode::from_u16(status).expect("a status");
        Self { status, headers: HeaderMap::new(), body: body.to_owned() }
    }

    /// The status and the first part of the body, on one line.
    pub(super) fn describe(&self) -> String {
        match excerpt(&self.body).as_str() {
            "" => self.status.to_string(),
            text => format!("{}: {text}", self.status),
        }
    }

    /// The body as JSON of that shape.
    ///
    /// # Errors
    /// What it is instead.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, String> {
        serde_json::from_str(&self.body).map_err(|error| format!("cannot be understood ({error}): {}", self.describe()))
    }
}

/// The first characters of a text, on one line.
pub(super) fn excerpt(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(EXCERPT + 1).collect();
    if let Some((end, _)) = line.char_indices().nth(EXCERPT) {
        line.truncate(end);
        line.push('…');
    }
    line.trim().to_owned()
}

/// The library takes whatever cryptography the process has. It is the same that broker and database use.
pub(crate) fn install_cryptography() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error says that somebody has installed one before, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The innermost cause: what happened, without the URL that the outer texts name.
fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if cause.is::<reqwest::Error>() { "the request was cut off".to_owned() } else { cause.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_goes_around_the_proxy() {
        for (url, loopback) in [
            ("http://127.0.0.1:80", true),
            ("http://127.9.0.1/x", true),
            ("http://[::1]:1", true),
            ("http://localhost", true),
            ("https://api-seller.ozon.ru", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(&url.parse().expect("a URL")), loopback, "{url}");
        }
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt(" a\r\nb\t"), "a  b");
        assert_eq!(excerpt(&"я".repeat(EXCERPT)), "я".repeat(EXCERPT));
        assert_eq!(excerpt(&"я".repeat(EXCERPT + 5)), format!("{}…", "я".repeat(EXCERPT)));
    }

    #[test]
    fn secrets_are_masked_in_every_outcome() {
        let url = "http://127.0.0.1:1".parse().expect("a URL");
        let transport = Transport::new(&url, Duration::from_secs(1), vec!["k3y".into()]).expect("a transport");
        let reason = || "key k3y is bad".to_owned();
        let outcomes = vec![
            Outcome::Accepted,
            Outcome::Again { after: Duration::ZERO, reason: reason() },
            Outcome::Deferred(reason()),
            Outcome::Rejected(reason()),
            Outcome::Unknown(reason()),
            Outcome::Split(reason()),
            Outcome::Halted(reason()),
        ];
        for outcome in transport.masked(outcomes) {
            assert!(outcome.reason().is_none_or(|reason| reason == "key *** is bad"), "{outcome:?}");
        }
        assert_eq!(transport.masked_fault(ReadFault::Failed(reason())), ReadFault::Failed("key *** is bad".into()));
    }
}
