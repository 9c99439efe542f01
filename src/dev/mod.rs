//! Private PostgreSQL and NATS servers on free loopback ports, and marketplaces that are not there: used by `dev`, tests and benches alike.
//!
//! A server here is ready when its `start` returns, can be killed, paused and started again, and is gone, with its children,
//! when its value is dropped or (on Linux) when this process ends in whatever way.

mod account;
mod binaries;
mod cluster;
mod leash;
pub mod marketplace;
mod nats;
mod patience;
mod port;
mod postgres;
mod process;
mod scratch;
mod servers;

pub use account::Account;
pub use binaries::Binaries;
pub use cluster::PrivateCluster;
pub use leash::Leash;
pub use nats::{NatsOptions, PrivateNats};
pub use patience::Patience;
pub use postgres::{PostgresOptions, PrivatePostgres};
pub use process::{Process, Relative};
pub use scratch::Scratch;
pub use servers::Servers;
