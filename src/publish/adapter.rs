//! A channel's settings become what it is spoken to through.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use super::Marketplace;
use super::ozon::Ozon;
use super::webhook::Receiver;
use super::wildberries::Wildberries;
use crate::config::{Absent, ChannelKind, ChannelSettings};

/// Why a channel cannot be spoken to with the settings it has. The text holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// A setting is missing.
    #[error("{0} is not set")]
    Lacks(&'static str),
    /// A setting cannot be what it claims to be.
    #[error("{0} {1}")]
    Setting(&'static str, &'static str),
    /// This machine cannot speak HTTPS.
    #[error("cannot speak HTTPS: {0}")]
    Client(String),
}

/// What the channel of that name is spoken to through. Makes no call. Rates are kept within one value: a channel has one a process.
///
/// # Errors
/// A setting is missing or unfit, or this machine has no certificates to trust.
pub fn adapter(channel: &str, settings: &ChannelSettings) -> Result<Box<dyn Marketplace>, AdapterError> {
    if let Some(key) = settings.lacks() {
        return Err(AdapterError::Lacks(key));
    }
    Ok(match settings.kind {
        ChannelKind::Ozon => Box::new(Ozon::new(settings)?),
        ChannelKind::Wildberries => Box::new(Wildberries::new(settings)?),
        ChannelKind::Webhook => Box::new(Receiver::new(channel, settings)?),
    })
}

/// The longest that one request of the channel may take.
pub(super) fn timeout(settings: &ChannelSettings) -> Duration {
    Duration::from_secs(settings.timeout_s)
}

/// Whether an item that the channel does not list may be one that it shows 0 of.
pub(super) fn absent_is_zero(settings: &ChannelSettings) -> bool {
    settings.absent == Absent::Zero
}

/// `base_url`, or the host that takes its place, without a slash at its end.
pub(super) fn base(settings: &ChannelSettings, host: &str) -> Result<Url, AdapterError> {
    let text = settings.base_url.as_deref().unwrap_or(host).trim_end_matches('/');
    url("base_url", text)
}

/// A setting that is a URL.
pub(super) fn url(key: &'static str, text: &str) -> Result<Url, AdapterError> {
    let unfit = AdapterError::Setting(key, "is not http(s)://host…");
    let url: Url = text.parse().map_err(|_| unfit.clone())?;
    if url.has_host() && matches!(url.scheme(), "http" | "https") { Ok(url) } else { Err(unfit) }
}

/// A URL below another, which may have a path of its own.
pub(super) fn below(base: &Url, path: &str) -> String {
    format!("{}{path}", base.as_str().trim_end_matches('/'))
}

/// A secret setting as the value of a header, never shown.
pub(super) fn secret_header(key: &'static str, secret: &SecretString) -> Result<HeaderValue, AdapterError> {
    let value = HeaderValue::from_str(secret.expose_secret());
    let mut value = value.map_err(|_| AdapterError::Setting(key, "holds what no HTTP header may"))?;
    value.set_sensitive(true);
    Ok(value)
}
