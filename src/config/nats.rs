//! `[nats]`

use std::fmt;
use std::path::PathBuf;

use async_nats::ServerAddr;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::layers::Layers;
use super::problems::Problems;
use super::secret;

/// Where NATS is and who we are there.
#[derive(Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Nats {
    /// `nats://host:port`, or several with commas; the variable `NATS_URL` is understood too. May carry `user:password@` or
    /// `token@`, and is then shown without.
    #[serde(serialize_with = "secret::masked_urls")]
    pub url: String,
    /// How often the broker is asked whether it is there, in milliseconds, 100 to 60000; after two questions without an answer it is connected to
    /// anew.
    pub ping_every_ms: u64,
    /// A file in the format of `nsc generate creds`.
    pub creds_file: Option<PathBuf>,
    /// What `creds_file` holds, or the variable `LASTUNIT_NATS__CREDS`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub creds: Option<SecretString>,
    /// A file with an authentication token.
    pub token_file: Option<PathBuf>,
    /// What `token_file` holds, or the variable `LASTUNIT_NATS__TOKEN`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub token: Option<SecretString>,
}

impl Default for Nats {
    fn default() -> Self {
        Self {
            url: "nats://127.0.0.1:4222".to_owned(),
            ping_every_ms: 5_000,
            creds_file: None,
            creds: None,
            token_file: None,
            token: None,
        }
    }
}

/// By hand, as the URL may carry a password.
impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats")
            .field("url", &secret::mask_urls(&self.url))
            .field("ping_every_ms", &self.ping_every_ms)
            .field("creds_file", &self.creds_file)
            .field("creds", &self.creds)
            .field("token_file", &self.token_file)
            .field("token", &self.token)
            .finish()
    }
}

impl Nats {
    pub(super) fn read(layers: &mut Layers) -> Self {
        let mut nats: Self = layers.section("nats");
        nats.creds = layers.secret("nats.creds", nats.creds_file.as_ref());
        nats.token = layers.secret("nats.token", nats.token_file.as_ref());
        nats
    }

    pub(super) fn judge(&self, problems: &mut Problems) {
        let is_address = |url: &str| url.trim().parse::<ServerAddr>().is_ok();
        if !self.url.split(',').all(is_address) {
            problems.add("nats.url", "is not nats://host:port, or several with commas");
        }
        problems.within("nats.ping_every_ms", self.ping_every_ms, 100..=60_000);
        if self.creds.is_some() && self.token.is_some() {
            problems.add("nats.token", "stands beside nats.creds; one of them is enough");
        }
    }
}
