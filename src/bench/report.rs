//! The figures, as a table and as JSON.

use std::fmt;

use serde_json::{Value, json};

use super::coalesce::Coalesced;
use super::life::Life;
use super::load::Latency;
use super::subject::Batches;

/// Everything that was measured.
#[derive(Debug, Default)]
pub struct Report {
    pub(super) extent: usize,
    pub(super) naive: Vec<(usize, f64)>,
    pub(super) rushes: Vec<(&'static str, f64, Batches)>,
    pub(super) life: Option<Life>,
    pub(super) coalesced: Option<Coalesced>,
    pub(super) paces: Vec<Latency>,
    pub(super) statements: Vec<(usize, usize)>,
}

impl Report {
    fn naive_best(&self) -> f64 {
        self.naive.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// The same figures for a program.
    pub fn to_json(&self) -> Value {
        let best = self.naive_best();
        json!({
            "orders": self.extent,
            "naive": self.naive.iter().map(|(connections, rate)| json!({
                "connections": connections, "orders_per_second": rate.round(),
            })).collect::<Vec<_>>(),
            "throughput": self.rushes.iter().map(|(name, rate, batches)| json!({
                "name": name, "orders_per_second": rate.round(), "times_naive": rate / best,
                "batches": batches.batches, "mean_batch": batches.mean(),
            })).collect::<Vec<_>>(),
            "life": self.life.map(|life| json!({
                "orders_per_second": life.per_second().round(),
                "stages": life.stages().map(|(name, rate)| json!({ "name": name, "per_second": rate.round() })),
            })),
            "channel": self.coalesced.map(|channel| json!({
                "changes": channel.changes, "changes_per_second": channel.per_second().round(), "most_waiting": channel.waiting,
                "most_rows": channel.rows, "calls": channel.calls, "points_sent": channel.sent,
                "shown_after_ms": channel.shown_after.as_millis(),
            })),
            "latency": self.paces.iter().map(|latency| json!({
                "orders_per_second": latency.per_second, "orders": latency.orders,
                "p50_ms": latency.p50_ms, "p99_ms": latency.p99_ms, "max_ms": latency.max_ms,
            })).collect::<Vec<_>>(),
            "statements_per_batch": self.statements.iter().map(|(orders, statements)| json!({
                "orders": orders, "statements": statements,
            })).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let best = self.naive_best();
        writeln!(f, "{:<44} {:>12} {:>10} {:>12}", "", "orders/s", "× naive", "mean batch")?;
        for (connections, rate) in &self.naive {
            let name = format!("one transaction per order, {connections} connections");
            writeln!(f, "{name:<44} {rate:>12.0} {:>10.1} {:>12}", rate / best, 1)?;
        }
        for (name, rate, batches) in &self.rushes {
            writeln!(
                f,
                "{:<44} {rate:>12.0} {:>10.1} {:>12.0}",
                format!("lastunit, {name}"),
                rate / best,
                batches.mean()
            )?;
        }
        if let Some(life) = &self.life {
            // Beside no naive rate: that one only takes orders.
            writeln!(f, "{:<44} {:>12.0}", "lastunit, created → paid → shipped", life.per_second())?;
            for (name, rate) in life.stages() {
                writeln!(f, "{:<44} {rate:>12.0}", format!("    {name}, per second"))?;
            }
        }
        if let Some(channel) = &self.coalesced {
            let name = format!("a channel: {:.0} changes/s on 1,000 points", channel.per_second());
            let Coalesced { changes, waiting, rows, calls, sent, shown_after, .. } = channel;
            writeln!(f, "\n{name}")?;
            writeln!(
                f,
                "    {changes} changes, {sent} points sent in {calls} calls; at most {waiting} waiting, {rows} rows"
            )?;
            writeln!(f, "    all shown {} ms after the last", shown_after.as_millis())?;
        }
        writeln!(f, "\n{:<44} {:>12} {:>10} {:>12}", "published → answered, ms", "p50", "p99", "max")?;
        for latency in &self.paces {
            let name = format!("at {} orders/s, {} orders", latency.per_second, latency.orders);
            writeln!(f, "{name:<44} {:>12.1} {:>10.1} {:>12.1}", latency.p50_ms, latency.p99_ms, latency.max_ms)?;
        }
        writeln!(f)?;
        for (orders, statements) in &self.statements {
            writeln!(f, "{:<44} {statements:>12}", format!("SQL statements, batch of {orders}"))?;
        }
        Ok(())
    }
}
