//! `[payments]`, `[payments.<provider>]`

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::layers::Layers;
use super::problems::Problems;
use super::{MAX_SPAN_S, secret};

/// What payments do to holds, and who signs them.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Payments {
    /// How far a started payment prolongs the hold, in seconds from then, 1 to ten years; never past `hold.max_s`.
    pub window_s: u64,
    /// What a failed payment does to the hold.
    pub on_failure: OnFailure,
    /// The providers that sign their messages, by name, `[A-Za-z0-9_-]{1,64}`. One that stands here without a secret signs
    /// nothing.
    #[serde(flatten, skip_deserializing)]
    pub providers: BTreeMap<String, Provider>,
}

/// What a failed payment does to the hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The stock is given back at once, unless another payment of the order lives.
    Release,
    /// The hold stays to its own end: shoppers retry with another card.
    Keep,
}

/// One payment provider.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Provider {
    /// A file with the Standard Webhooks secrets (`whsec_…`), one a line: several, while one takes the place of another. With it every message
    /// of that provider must be signed by one of them.
    pub webhook_secret_file: Option<PathBuf>,
    /// What `webhook_secret_file` holds, or the variable `LASTUNIT_PAYMENTS__<PROVIDER>__WEBHOOK_SECRET`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub webhook_secret: Option<SecretString>,
}

impl Default for Payments {
    fn default() -> Self {
        Self { window_s: 900, on_failure: OnFailure::Release, providers: BTreeMap::new() }
    }
}

impl Payments {
    pub(super) fn read(layers: &mut Layers) -> Self {
        let mut payments: Self = layers.section("payments");
        for name in layers.names("payments") {
            let key = format!("payments.{name}");
            let mut provider: Provider = layers.section(&key);
            provider.webhook_secret =
                layers.secret(&format!("{key}.webhook_secret"), provider.webhook_secret_file.as_ref());
            payments.providers.insert(name, provider);
        }
        payments
    }

    pub(super) fn judge(&self, problems: &mut Problems) {
        problems.within("payments.window_s", self.window_s, 1..=MAX_SPAN_S);
        for (name, provider) in &self.providers {
            let key = format!("payments.{name}.webhook_secret");
            secret::judge_webhooks(&key, provider.webhook_secret.as_ref(), problems);
        }
    }
}
