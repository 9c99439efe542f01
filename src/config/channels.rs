//! `[channels.<channel>]`

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::layers::Layers;
use super::problems::Problems;
use super::secret;

/// What a channel speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    /// The Ozon seller API.
    Ozon,
    /// The Wildberries seller API.
    Wildberries,
    /// Standard Webhooks to an address of one's own.
    Webhook,
}

impl ChannelKind {
    /// Whether orders of the channel are sold elsewhere before we hear of them.
    pub fn is_marketplace(self) -> bool {
        matches!(self, Self::Ozon | Self::Wildberries)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Ozon => "ozon",
            Self::Wildberries => "wildberries",
            Self::Webhook => "webhook",
        }
    }
}

/// What it means that a channel's list of what it shows lacks an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Absent {
    /// That it shows 0 of it, where 0 is what it was told.
    Zero,
    /// Nothing.
    Unknown,
}

/// One sales channel that is told the stock. A channel that only sends orders needs no settings.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct ChannelSettings {
    /// What the channel speaks. The only key without a default.
    pub kind: ChannelKind,
    /// Where to, `http(s)://…`, without user information: replaces the marketplace's real host (sandboxes, tests); a
    /// webhook has no other.
    pub base_url: Option<String>,
    /// Ozon: the seller's `Client-Id`.
    pub client_id: Option<String>,
    /// Ozon: a file with the `Api-Key`.
    pub api_key_file: Option<PathBuf>,
    /// What `api_key_file` holds, or the variable `LASTUNIT_CHANNELS__<CHANNEL>__API_KEY`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub api_key: Option<SecretString>,
    /// Wildberries: a file with the token.
    pub token_file: Option<PathBuf>,
    /// What `token_file` holds, or the variable `LASTUNIT_CHANNELS__<CHANNEL>__TOKEN`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub token: Option<SecretString>,
    /// Webhook: a file with the Standard Webhooks secret (`whsec_…`).
    pub secret_file: Option<PathBuf>,
    /// What `secret_file` holds, or the variable `LASTUNIT_CHANNELS__<CHANNEL>__SECRET`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub secret: Option<SecretString>,
    /// Webhook: where the shown stock is read, `http(s)://…`; without it what is accepted counts as applied.
    pub observe_url: Option<String>,
    /// Seconds between two comparisons of what the channel shows with what it should, 1 to a day.
    pub reconcile_every_s: u64,
    /// Units the channel is never told of, up to 1,000,000,000; a warehouse's own value wins.
    pub safety_stock: u32,
    /// Seconds between two pushes of one point (SKU and warehouse), up to a day. Ozon 31, others 0.
    pub min_interval_s: u64,
    /// Seconds an accepted push may take to show before it counts as drift, up to a day. Ozon 1200, others 10.
    pub grace_s: u64,
    /// Seconds one request may take, 1 to 600.
    pub timeout_s: u64,
    /// What it means that a list of what is shown lacks an item that was told as 0. Marketplaces `zero`, webhooks `unknown`.
    pub absent: Absent,
}

impl ChannelSettings {
    /// The defaults of a channel of that kind.
    pub fn of(kind: ChannelKind) -> Self {
        let is_ozon = kind == ChannelKind::Ozon;
        Self {
            kind,
            base_url: None,
            client_id: None,
            api_key_file: None,
            api_key: None,
            token_file: None,
            token: None,
            secret_file: None,
            secret: None,
            observe_url: None,
            reconcile_every_s: 300,
            safety_stock: 0,
            // Ozon takes one change of a point in 30 seconds, and shows it within 20 minutes.
            min_interval_s: if is_ozon { 31 } else { 0 },
            grace_s: if is_ozon { 1_200 } else { 10 },
            timeout_s: 20,
            // It is not documented whether marketplaces list what they show 0 of; some do not.
            absent: if kind.is_marketplace() { Absent::Zero } else { Absent::Unknown },
        }
    }

    /// What is missing before the channel can be told anything. Not an error: its orders are taken all the same.
    pub fn lacks(&self) -> Option<&'static str> {
        match self.kind {
            ChannelKind::Ozon if self.client_id.is_none() => Some("client_id"),
            ChannelKind::Ozon if self.api_key.is_none() => Some("api_key_file"),
            ChannelKind::Wildberries if self.token.is_none() => Some("token_file"),
            ChannelKind::Webhook if self.base_url.is_none() => Some("base_url"),
            ChannelKind::Webhook if self.secret.is_none() => Some("secret_file"),
            _ => None,
        }
    }

    pub(super) fn judge(&self, name: &str, problems: &mut Problems) {
        const DAY_S: u64 = 86_400;
        let key = |key: &str| format!("channels.{name}.{key}");
        problems.within(key("reconcile_every_s"), self.reconcile_every_s, 1..=DAY_S);
        problems.within(key("safety_stock"), self.safety_stock, 0..=1_000_000_000);
        problems.within(key("min_interval_s"), self.min_interval_s, 0..=DAY_S);
        problems.within(key("grace_s"), self.grace_s, 0..=DAY_S);
        problems.within(key("timeout_s"), self.timeout_s, 1..=600);
        for (name, url) in [("base_url", &self.base_url), ("observe_url", &self.observe_url)] {
            if !url.as_deref().is_none_or(is_plain_url) {
                problems.add(key(name), "is not http(s)://host…, without user information");
            }
        }
        for stray in self.strays() {
            problems.add(key(stray), format_args!("means nothing to a channel of kind {}", self.kind.word()));
        }
        secret::judge_webhook(&key("secret"), self.secret.as_ref(), problems);
    }

    /// Keys that belong to another kind.
    fn strays(&self) -> impl Iterator<Item = &'static str> {
        let (ozon, wildberries, webhook) = (ChannelKind::Ozon, ChannelKind::Wildberries, ChannelKind::Webhook);
        [
            ("client_id", ozon, self.client_id.is_some()),
            ("api_key_file", ozon, self.api_key_file.is_some()),
            ("api_key", ozon, self.api_key.is_some() && self.api_key_file.is_none()),
            ("token_file", wildberries, self.token_file.is_some()),
            ("token", wildberries, self.token.is_some() && self.token_file.is_none()),
            ("secret_file", webhook, self.secret_file.is_some()),
            ("secret", webhook, self.secret.is_some() && self.secret_file.is_none()),
            ("observe_url", webhook, self.observe_url.is_some()),
        ]
        .into_iter()
        .filter(|&(_, kind, is_set)| is_set && kind != self.kind)
        .map(|(key, ..)| key)
    }
}

/// The key that the defaults of the others hang on.
#[derive(Deserialize)]
struct Spoken {
    kind: ChannelKind,
}

pub(super) fn read(layers: &mut Layers) -> BTreeMap<String, ChannelSettings> {
    let names = layers.names("channels");
    names.into_iter().filter_map(|name| read_one(layers, &format!("channels.{name}")).map(|one| (name, one))).collect()
}

/// None when it is wrong: then the error is kept.
fn read_one(layers: &mut Layers, key: &str) -> Option<ChannelSettings> {
    let Spoken { kind } = layers.table(key)?;
    layers.set_defaults(key, ChannelSettings::of(kind));
    let mut channel: ChannelSettings = layers.table(key)?;
    channel.api_key = layers.secret(&format!("{key}.api_key"), channel.api_key_file.as_ref());
    channel.token = layers.secret(&format!("{key}.token"), channel.token_file.as_ref());
    channel.secret = layers.secret(&format!("{key}.secret"), channel.secret_file.as_ref());
    Some(channel)
}

fn is_plain_url(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or(url.strip_prefix("http://"));
    rest.and_then(|rest| rest.split(['/', '?', '#']).next())
        .is_some_and(|host| !host.is_empty() && !host.contains(|c: char| c == '@' || c.is_whitespace()))
        && !url.contains(|c: char| c.is_whitespace() || c.is_control())
}
