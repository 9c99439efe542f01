//! Integration tests: one binary, private servers.
//!
//! `LASTUNIT_DEV__POSTGRES_BIN` and `LASTUNIT_DEV__NATS_SERVER` name the servers to test against; else this machine's own.

// clippy.toml allows it in tests, which for clippy are not the functions that tests call.
#![allow(clippy::unwrap_used)]

mod audit;
mod cabinet;
mod cases;
mod dev;
mod dev_command;
mod export;
#[cfg(feature = "failpoints")]
mod faults;
mod import;
mod marketplaces;
mod orders;
mod packaging;
mod permissions;
mod publisher;
mod recover;
mod retention;
mod story;
mod support;
mod switches;
mod topology;
