//! Channels that are told stock, as a program's settings.

use lastunit::config::{ChannelKind, ChannelSettings};
use secrecy::{ExposeSecret as _, SecretString};

use super::Launch;

/// What tests may have otherwise, in seconds.
#[derive(Clone, Copy)]
pub struct Terms {
    /// Between two reads of everything.
    pub reconcile_every: u64,
    /// That what was accepted may take to show.
    pub grace: u64,
    /// That a request may take.
    pub timeout: u64,
    /// Between two changes of one item: so the channels are told, and so Ozon insists.
    pub min_interval: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self { reconcile_every: 1, grace: 1, timeout: 1, min_interval: 0 }
    }
}

/// The settings as a user has them: a file, and secrets in variables.
pub fn with_channel(launch: Launch, name: &str, settings: &ChannelSettings, terms: Terms) -> Launch {
    let Terms { reconcile_every, grace, timeout, min_interval } = terms;
    let kind = match settings.kind {
        ChannelKind::Ozon => "ozon",
        ChannelKind::Wildberries => "wildberries",
        ChannelKind::Webhook => "webhook",
    };
    let mut toml = format!(
        "[channels.{name}]\nkind = \"{kind}\"\nreconcile_every_s = {reconcile_every}\ngrace_s = {grace}\ntimeout_s = {timeout}\nmin_interval_s = {min_interval}\n"
    );
    let urls =
        [("base_url", &settings.base_url), ("client_id", &settings.client_id), ("observe_url", &settings.observe_url)];
    for (key, value) in urls {
        toml += &value.as_ref().map_or_else(String::new, |value| format!("{key} = \"{value}\"\n"));
    }
    let secret = |secret: &Option<SecretString>| secret.as_ref().map(|secret| secret.expose_secret().to_owned());
    let secrets = [
        ("API_KEY", secret(&settings.api_key)),
        ("TOKEN", secret(&settings.token)),
        ("SECRET", secret(&settings.secret)),
    ];
    let launch = launch.config(&toml);
    let name = name.to_uppercase();
    secrets.into_iter().fold(launch, |launch, (key, value)| match value {
        Some(value) => launch.env(&format!("LASTUNIT_CHANNELS__{name}__{key}"), value),
        None => launch,
    })
}
