//! `[http]`

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};

use super::layers::Layers;
use super::problems::Problems;
use super::secret;

/// Health, metrics, console.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default)]
pub struct Http {
    /// Where to listen, `address:port`; port 0 lets the system choose. An address that others reach wants a token.
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// A file with the token that all but `/healthz` and `/readyz` ask for.
    pub token_file: Option<PathBuf>,
    /// What `token_file` holds, or the variable `LASTUNIT_HTTP__TOKEN`: visible ASCII characters.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "secret::masked")]
    pub token: Option<SecretString>,
}

impl Default for Http {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 8080)), token_file: None, token: None }
    }
}

impl Http {
    pub(super) fn read(layers: &mut Layers) -> Self {
        let mut http: Self = layers.section("http");
        http.token = layers.secret("http.token", http.token_file.as_ref());
        http
    }

    /// Whether others than this machine reach it, and nothing asks who they are.
    pub fn is_open(&self) -> bool {
        !self.listen.ip().to_canonical().is_loopback() && self.token.is_none()
    }

    pub(super) fn judge(&self, problems: &mut Problems) {
        if self.is_open() {
            problems.add(
                "http.listen",
                format_args!("{} is open to others and wants http.token_file, or LASTUNIT_HTTP__TOKEN", self.listen),
            );
        }
        let visible = |token: &SecretString| token.expose_secret().bytes().all(|b| b.is_ascii_graphic());
        if !self.token.as_ref().is_none_or(visible) {
            problems.add("http.token", "holds more than visible ASCII characters");
        }
    }
}

/// `localhost` is not left to a resolver: it is this machine.
fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text,
    };
    let parsed = numeric.parse();
    parsed.map_err(|_| serde::de::Error::custom(format!("{numeric:?} is not address:port")))
}
