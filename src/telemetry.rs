//! Logs to standard error, metrics for Prometheus.

use std::fmt::{self, Debug};
use std::io::{IsTerminal as _, stderr};

use anyhow::Context as _;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::format::{FormatFields, Writer, debug_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{Log, LogFormat};
use crate::ops::metrics;
use crate::visible;

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
        LogFormat::Text => registry.with(lines.with_ansi(stderr().is_terminal()).fmt_fields(fields())).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    }
    .context("logs")
}

/// Fields of a line: what is logged of a message is whatever its producer sent, and logs are read on terminals.
fn fields() -> impl for<'w> FormatFields<'w> + Send + Sync + 'static {
    debug_fn(|writer: &mut Writer<'_>, field: &Field, value: &dyn Debug| -> fmt::Result {
        let shown = format!("{value:?}");
        let shown = visible::line(&shown);
        if field.name() == "message" { write!(writer, "{shown}") } else { write!(writer, "{field}={shown}") }
    })
    .delimited(" ")
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
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use ::metrics::{counter, histogram, with_local_recorder};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn nothing_in_a_log_commands_a_terminal() {
        let kept = Kept::default();
        let writer = kept.clone();
        let lines = tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).with_ansi(false);
        let subscriber = tracing_subscriber::registry().with(lines.without_time().fmt_fields(fields()));
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(subject = %"order.\u{1b}[2J", sequence = 7, detail = "a\nb", "refused \u{9b}1m");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let expected = "refused \\u{9b}1m subject=order.\\u{1b}[2J sequence=7 detail=\"a\\nb\"\n";
        assert!(text.ends_with(expected), "{text}");
    }

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
