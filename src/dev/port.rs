//! Ports for private servers.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail};

/// Below where Linux (32768) and macOS (49152) take the ports of outgoing connections from. Out of that range, a client that
/// tries to reach a killed server again and again is one day given the server's own port, and talks to itself.
const RANGE: std::ops::Range<u16> = 10_000..32_000;

/// How many ports are tried before something else must be wrong.
pub const TRIES: usize = 20;

/// A port that nobody listens on at this moment. Another process may be faster: who starts a server on it tries again.
pub fn free() -> Result<u16> {
    for _ in 0..1000 {
        let port = fastrand::u16(RANGE);
        if is_free(port) {
            return Ok(port);
        }
    }
    bail!("no free port between {} and {}", RANGE.start, RANGE.end)
}

/// Whether a server could listen on this loopback port.
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
