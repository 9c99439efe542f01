//! What the program can do on this machine, beside one transaction per order on the same PostgreSQL in the same run.
//!
//! Timings are only worth something beside one another: the ratio is the figure, the rest is the machine. Private servers, random ids, the
//! compiled program as a process of its own, load and readers beside it on the same cores.
//!
//! - `naive`: the rate to compare with.
//! - `load`: orders published, answers read.
//! - `coalesce`: far more changes than a channel takes.
//! - `life`: orders, then their payments, then their parcels.
//! - `subject`: the program under test.
//! - `statements`: how many SQL statements a batch takes, by PostgreSQL's own log.
//! - `report`: the figures, as a table and as JSON.

mod coalesce;
mod life;
mod load;
mod naive;
mod report;
mod statements;
mod subject;
mod tap;

use std::path::Path;

use anyhow::Context as _;

use crate::dev::{Binaries, NatsOptions, PostgresOptions, Scratch, Servers};
use load::{Load, Pace, Rush};
pub use report::Report;
use subject::Subject;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Orders of each throughput measurement.
    pub orders: usize,
    /// Seconds of each measurement of the naive rate and of latency.
    pub seconds: u64,
}

/// Rates at which latency is measured, in orders per second.
const PACES: [usize; 2] = [500, 2_000];
/// Connections with which the naive rate is measured.
const CONNECTIONS: [usize; 3] = [1, 4, 16];

/// PostgreSQL as one would run it in earnest, for both sides alike: memory for the tables, and no checkpoint in the middle of a measurement.
fn postgres() -> PostgresOptions {
    let settings = [("shared_buffers", "2GB"), ("max_wal_size", "16GB"), ("checkpoint_timeout", "30min")];
    PostgresOptions { settings: settings.map(|(name, value)| (name.into(), value.into())).into(), ..Default::default() }
}

/// Measures everything. `progress` is told of each step.
///
/// # Errors
/// Servers that do not start, or orders that are not answered in time.
pub async fn run(
    binaries: &Binaries,
    program: &Path,
    extent: Extent,
    progress: impl Fn(&str),
) -> anyhow::Result<Report> {
    let scratch = Scratch::new()?;
    let servers = Servers::start(binaries, scratch.path(), postgres(), NatsOptions::default()).await?;

    let mut report = Report { extent: extent.orders, ..Report::default() };
    for connections in CONNECTIONS {
        progress(&format!("one transaction per order, one hot SKU, {connections} connections"));
        let database = servers.postgres.create_database("naive", None).await?;
        report.naive.push((connections, naive::rate(&database, connections, extent.seconds).await?));
        // What one measurement leaves behind, autovacuum and write-back, is no part of the next.
        servers.postgres.drop_database("naive").await?;
    }

    let database = servers.postgres.create_database("lastunit_bench", None).await?;
    let subject = Subject::start(binaries, program, scratch.path(), &database, &servers.nats.url()).await?;
    let load = Load::connect(&servers.nats.url(), &database).await?;
    let rushes = [
        Rush { name: "one hot SKU", skus: 1, units_each: 10_000_000 },
        Rush { name: "1,000 SKUs", skus: 1_000, units_each: 1_000_000 },
        Rush { name: "sold-out rush, 100 units", skus: 1, units_each: 100 },
    ];
    for rush in rushes {
        progress(&format!("{}: {} orders", rush.name, extent.orders));
        let before = subject.batches().await?;
        let rate = load.rush(rush, extent.orders).await.with_context(|| rush.name)?;
        report.rushes.push((rush.name, rate, subject.batches().await?.since(&before)));
    }
    for pace in PACES {
        progress(&format!("latency at {pace} orders per second"));
        report.paces.push(load.pace(Pace { per_second: pace, seconds: extent.seconds }).await?);
    }
    // Last: nearly every row is changed twice, and autovacuum is busy with that for a while.
    progress(&format!("a whole life: {} orders", extent.orders));
    report.life = Some(life::lead(&load, extent.orders).await.context("a whole life")?);
    subject.stop().await?;

    progress(&format!("10,000 changes per second on 1,000 points of a channel, {} s", extent.seconds));
    let stands = (&servers.postgres, servers.nats.url());
    let coalesced = coalesce::measure(binaries, program, scratch.path(), (stands.0, &stands.1), extent.seconds).await;
    report.coalesced = Some(coalesced.context("a channel")?);

    progress("statements per batch");
    for orders in [1, 500] {
        let ground = statements::Ground { binaries, program, dir: scratch.path(), nats: &servers.nats.url() };
        report.statements.push((orders, statements::of_batch(&ground, &servers.postgres, orders).await?));
    }
    Ok(report)
}
