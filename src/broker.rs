//! The connection to NATS, and reading a stream over it.

mod election;
mod reading;

use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event};
use secrecy::ExposeSecret;
use tokio::sync::watch;

pub use election::outlast_election;
pub use reading::{From, Reading};

use crate::config::Nats;

/// How long one server may take to answer a first connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long the broker may take to answer a request about streams and consumers.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What is known of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    /// It stands; how often it has been made.
    Up(u64),
    /// It is being made again; why.
    Down(String),
}

/// Connects once and fails if that does not succeed: waiting for servers is the business of who calls. A connection that was made
/// is renewed for ever, and `watch` tells of it.
///
/// # Errors
/// An address that cannot be understood, credentials that are none, or a server that does not answer.
pub async fn connect(nats: &Nats, connection: watch::Sender<Connection>) -> anyhow::Result<Client> {
    let options = encrypt(log_in(nats)?, nats);
    let addresses: Vec<String> = nats.url.split(',').map(|url| url.trim().to_owned()).collect();
    Ok(options
        .name("lastunit")
        .custom_inbox_prefix(&nats.inbox_prefix)
        .connection_timeout(CONNECT_WITHIN)
        .ping_interval(Duration::from_millis(nats.ping_every_ms))
        .reconnect_delay_callback(|attempt| {
            Duration::from_millis(250).saturating_mul(u32::try_from(attempt).unwrap_or(8).min(8))
        })
        .event_callback(move |event| {
            note(&connection, &event);
            std::future::ready(())
        })
        .connect(addresses)
        .await?)
}

/// Who we are there.
fn log_in(nats: &Nats) -> anyhow::Result<ConnectOptions> {
    if let Some(creds) = &nats.creds {
        return Ok(ConnectOptions::with_credentials(creds.expose_secret())?);
    }
    if let Some(seed) = &nats.nkey_seed {
        return Ok(ConnectOptions::with_nkey(seed.expose_secret().to_owned()));
    }
    if let Some(token) = &nats.token {
        return Ok(ConnectOptions::with_token(token.expose_secret().to_owned()));
    }
    Ok(ConnectOptions::new())
}

/// How the connection is encrypted. Who names an authority wants TLS, whatever the server says.
fn encrypt(mut options: ConnectOptions, nats: &Nats) -> ConnectOptions {
    if let Some(authority) = &nats.ca_file {
        options = options.add_root_certificates(authority.clone()).require_tls(true);
    }
    if let (Some(certificate), Some(key)) = (&nats.cert_file, &nats.key_file) {
        options = options.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
    }
    options
}

fn note(connection: &watch::Sender<Connection>, event: &Event) {
    match event {
        Event::Connected => connection.send_modify(|state| {
            *state = match state {
                Connection::Up(times) => Connection::Up(*times + 1),
                Connection::Down(_) => Connection::Up(1),
            }
        }),
        Event::Disconnected | Event::Closed => {
            tracing::warn!("NATS: {event}");
            connection.send_replace(Connection::Down("NATS is disconnected".into()));
        }
        Event::ClientError(error) => {
            tracing::warn!("NATS: {error}");
            connection.send_modify(|state| {
                if let Connection::Down(why) = state {
                    *why = format!("NATS cannot be reached: {error}");
                }
            });
        }
        other => tracing::warn!("NATS: {other}"),
    }
}

/// Streams over this connection.
pub fn jetstream(client: Client) -> async_nats::jetstream::Context {
    async_nats::jetstream::ContextBuilder::new().timeout(ANSWER_WITHIN).build(client)
}
