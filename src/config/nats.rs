//! `[nats]`

use std::fmt;
use std::path::PathBuf;

use async_nats::ServerAddr;
use secrecy::{ExposeSecret, SecretString};
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
    /// A file with the seed of a user's nkey (`SU…`).
    pub nkey_seed_file: Option<PathBuf>,
    /// What `nkey_seed_file` holds, or the variable `LASTUNIT_NATS__NKEY_SEED`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub nkey_seed: Option<SecretString>,
    /// A file with an authentication token.
    pub token_file: Option<PathBuf>,
    /// What `token_file` holds, or the variable `LASTUNIT_NATS__TOKEN`.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub token: Option<SecretString>,
    /// Certificates, as PEM, of those who may vouch for the server, instead of the system's. With it nothing is sent without TLS; so with
    /// an address `tls://host:port`.
    pub ca_file: Option<PathBuf>,
    /// Our certificate, as PEM, where the server asks for one.
    pub cert_file: Option<PathBuf>,
    /// The key to `cert_file`, as PEM.
    pub key_file: Option<PathBuf>,
    /// What the subjects begin with on which we are answered, so that permissions can tell ours from another's.
    pub inbox_prefix: String,
}

impl Default for Nats {
    fn default() -> Self {
        Self {
            url: "nats://127.0.0.1:4222".to_owned(),
            ping_every_ms: 5_000,
            creds_file: None,
            creds: None,
            nkey_seed_file: None,
            nkey_seed: None,
            token_file: None,
            token: None,
            ca_file: None,
            cert_file: None,
            key_file: None,
            inbox_prefix: "_INBOX".to_owned(),
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
            .field("nkey_seed_file", &self.nkey_seed_file)
            .field("nkey_seed", &self.nkey_seed)
            .field("token_file", &self.token_file)
            .field("token", &self.token)
            .field("ca_file", &self.ca_file)
            .field("cert_file", &self.cert_file)
            .field("key_file", &self.key_file)
            .field("inbox_prefix", &self.inbox_prefix)
            .finish()
    }
}

impl Nats {
    pub(super) fn read(layers: &mut Layers) -> Self {
        let mut nats: Self = layers.section("nats");
        nats.creds = layers.secret("nats.creds", nats.creds_file.as_ref());
        nats.nkey_seed = layers.secret("nats.nkey_seed", nats.nkey_seed_file.as_ref());
        nats.token = layers.secret("nats.token", nats.token_file.as_ref());
        nats
    }

    pub(super) fn judge(&self, problems: &mut Problems) {
        let is_address = |url: &str| url.trim().parse::<ServerAddr>().is_ok();
        if !self.url.split(',').all(is_address) {
            problems.add("nats.url", "is not nats://host:port, or several with commas");
        }
        problems.within("nats.ping_every_ms", self.ping_every_ms, 100..=60_000);
        self.judge_login(problems);
        for (key, file) in
            [("nats.ca_file", &self.ca_file), ("nats.cert_file", &self.cert_file), ("nats.key_file", &self.key_file)]
        {
            if let Some(file) = file.as_ref().filter(|file| !file.is_file()) {
                problems.add(key, format_args!("{} is not a file", file.display()));
            }
        }
        if self.cert_file.is_some() != self.key_file.is_some() {
            problems.add("nats.key_file", "nats.cert_file and nats.key_file go together");
        }
        let is_token = |token: &str| !token.is_empty() && !token.contains(['*', '>']) && token.is_ascii();
        let is_plain = |byte: u8| byte.is_ascii_graphic();
        if !self.inbox_prefix.bytes().all(is_plain) || !self.inbox_prefix.split('.').all(is_token) {
            problems.add("nats.inbox_prefix", format_args!("{:?} is no subject", self.inbox_prefix));
        }
    }

    fn judge_login(&self, problems: &mut Problems) {
        let ways = [("nats.creds", &self.creds), ("nats.nkey_seed", &self.nkey_seed), ("nats.token", &self.token)];
        let mut given = ways.iter().filter(|(_, secret)| secret.is_some());
        if let (Some((one, _)), Some((other, _))) = (given.next(), given.next()) {
            problems.add(other, format_args!("stands beside {one}; one of them is enough"));
        }
        let is_seed = |seed: &SecretString| nkeys::KeyPair::from_seed(seed.expose_secret()).is_ok();
        if !self.nkey_seed.as_ref().is_none_or(is_seed) {
            problems.add("nats.nkey_seed", "is not the seed of an nkey (`SU…`)");
        }
    }
}
