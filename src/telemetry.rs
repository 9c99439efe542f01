//! Logs to standard error, metrics for Prometheus.

use std::io::{IsTerminal as _, stderr};

use anyhow::Context as _;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{Log, LogFormat};
use crate::ops::metrics;

/// Where a histogram of messages a batch is cut.
const BATCH_MESSAGES: [f64; 13] = [1., 2., 5., 10., 20., 50., 100., 200., 500., 1_000., 2_000., 5_000., 10_000.];
/// Where a histogram of latencies is cut, in seconds.
const SECONDS: [f64; 13] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1., 2., 5., 10.];

/// Sends logs to standard error from now on, filtered by `RUST_LOG` or else by `log.level`.
///
/// # Errors
/// A filter that cannot be read, or logs that were sent somewhere before.
pub fn init(log: &Log) -> anyhow::Result<()> {
    let filter = match std::env::var(EnvFilter::DEFAULT_ENV) {
        Ok(directives) if !directives.is_empty() => EnvFilter::try_new(directives).context("RUST_LOG")?,
        _ => EnvFilter::try_new(&log.level).context("log.level")?,
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr);
    let registry = tracing_subscriber::registry().with(filter);
    match log.format {
        LogFormat::Text => registry.with(lines.with_ansi(stderr().is_terminal())).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    }
    .context("logs")
}

/// Collects metrics from now on, once a process. The handle renders them; [`crate::ops::http`] does.
///
/// # Errors
/// Metrics are being collected already.
pub fn metrics() -> anyhow::Result<PrometheusHandle> {
    let handle = builder()?.install_recorder().context("metrics")?;
    metrics::describe();
    Ok(handle)
}

fn builder() -> anyhow::Result<PrometheusBuilder> {
    let full = |name: &str| Matcher::Full(name.to_owned());
    PrometheusBuilder::new()
        .set_buckets_for_metric(full(metrics::BATCH_MESSAGES), &BATCH_MESSAGES)
        .and_then(|it| it.set_buckets_for_metric(full(metrics::BATCH_SECONDS), &SECONDS))
        .context("buckets of metrics")
}

#[cfg(test)]
mod tests {
    use ::metrics::{counter, histogram, with_local_recorder};

    use super::*;

    #[test]
    fn metrics_are_described_and_histograms_cut() {
        let recorder = builder().unwrap().build_recorder();
        with_local_recorder(&recorder, || {
            metrics::describe();
            histogram!(metrics::BATCH_MESSAGES, "stream" => "ORDERS").record(700.);
            counter!(metrics::DECIDED, "outcome" => "held").increment(3);
        });
        let text = recorder.handle().render();
        for line in [
            "# TYPE lastunit_batch_messages histogram",
            "lastunit_batch_messages_bucket{stream=\"ORDERS\",le=\"500\"} 0",
            "lastunit_batch_messages_bucket{stream=\"ORDERS\",le=\"1000\"} 1",
            "# HELP lastunit_decided_total What became of orders, by outcome.",
            "lastunit_decided_total{outcome=\"held\"} 3",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} in {text}");
        }
    }
}
