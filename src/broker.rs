//! The connection to NATS.

use std::time::Duration;

use async_nats::{Client, ConnectError, ConnectOptions};

/// How long one server may take to answer a first connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Connects once and fails if that does not succeed: waiting for servers is the business of who calls. A connection that was made
/// is renewed for ever.
pub async fn connect(url: &str) -> Result<Client, ConnectError> {
    ConnectOptions::new()
        .name("lastunit")
        .connection_timeout(CONNECT_WITHIN)
        .connect(url)
        .await
}
