//! What a channel's publisher makes of far more changes than the channel takes: each point's newest, and a queue no longer than there are points.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use async_nats::jetstream;
use secrecy::ExposeSecret as _;
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use super::subject::Subject;
use crate::config::ChannelKind;
use crate::dev::marketplace::{Address, Pace, Simulator};
use crate::dev::{Binaries, PrivatePostgres};
use crate::domain::Qty;

/// Points that change.
const POINTS: usize = 1_000;
/// Changes a second, over all points.
const PER_SECOND: usize = 10_000;
/// Changes that are published together.
const TOGETHER: usize = 100;
/// How often the queue is measured.
const EVERY: Duration = Duration::from_millis(100);
/// How long the last changes may take to be shown.
const PATIENCE: Duration = Duration::from_mins(1);
/// Streams of its own on the broker of the other measurements.
const PREFIX: &str = "coalesce";

/// How changes were coalesced.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coalesced {
    /// Changes that were published, and how long that took.
    pub changes: usize,
    pub took: Duration,
    /// The most rows of `stock_push` that were to be sent at any time measured, and the most rows there.
    pub waiting: i64,
    pub rows: i64,
    /// Calls and points that were sent.
    pub calls: usize,
    pub sent: i64,
    /// From the last change until all points showed their newest figures.
    pub shown_after: Duration,
}

impl Coalesced {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub fn per_second(&self) -> f64 {
        self.changes as f64 / self.took.as_secs_f64()
    }
}

/// Publishes changes at an even pace for so many seconds to a program with one channel, which takes a point once a second.
pub(super) async fn measure(
    binaries: &Binaries,
    program: &Path,
    dir: &Path,
    (postgres, nats): (&PrivatePostgres, &str),
    seconds: u64,
) -> anyhow::Result<Coalesced> {
    let database = postgres.create_database("coalesce", None).await?;
    let simulator = Simulator::start(Pace { ozon_interval: Duration::ZERO, has_rates: false }).await?;
    simulator.add_warehouse(ChannelKind::Webhook, "1");
    for n in 0..POINTS {
        simulator.add_item(ChannelKind::Webhook, &n.to_string(), &sku(n));
    }
    let channel = simulator.settings(ChannelKind::Webhook);
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let secret = channel.secret.as_ref().map(|secret| secret.expose_secret().to_owned()).unwrap_or_default();
    let env = [
        ("STREAMS__PREFIX", PREFIX.to_owned()),
        ("CHANNELS__SHOP__KIND", "webhook".to_owned()),
        ("CHANNELS__SHOP__BASE_URL", text(&channel.base_url)),
        ("CHANNELS__SHOP__OBSERVE_URL", text(&channel.observe_url)),
        ("CHANNELS__SHOP__SECRET", secret),
        ("CHANNELS__SHOP__MIN_INTERVAL_S", "1".to_owned()),
    ];
    // The first start makes the tables that the maps are put into.
    Subject::start_with(binaries, program, dir, &database, nats, &env).await?.stop().await?;
    let db = PgPool::connect(&database).await?;
    map(&db).await?;
    let subject = Subject::start_with(binaries, program, dir, &database, nats, &env).await?;

    let done = CancellationToken::new();
    let queue = tokio::spawn(watch(db.clone(), done.clone()));
    let begun = Instant::now();
    let changes = publish(nats, usize::try_from(seconds)? * PER_SECOND).await?;
    let took = begun.elapsed();
    let last = Instant::now();
    all_shown(&simulator, changes).await?;
    let shown_after = last.elapsed();
    done.cancel();
    let (waiting, rows) = queue.await??;
    let sent = sqlx::query_scalar("SELECT count(*) FROM push_attempt").fetch_one(&db).await?;
    subject.stop().await?;
    let calls = simulator.pushes(ChannelKind::Webhook);
    Ok(Coalesced { changes, took, waiting, rows, calls, sent, shown_after })
}

async fn map(db: &PgPool) -> anyhow::Result<()> {
    sqlx::query(
        "INSERT INTO channel_warehouse_map (warehouse, channel, external_warehouse_id) VALUES ('main', 'shop', '1')",
    )
    .execute(db)
    .await?;
    let (skus, ids): (Vec<String>, Vec<String>) = (0..POINTS).map(|n| (sku(n), n.to_string())).unzip();
    sqlx::query("INSERT INTO channel_item_map (sku, channel, external_id) SELECT sku, 'shop', id FROM unnest($1::text[], $2::text[]) AS item (sku, id)")
        .bind(skus)
        .bind(ids)
        .execute(db)
        .await?;
    Ok(())
}

/// Each point in turn, each time with a newer version and another figure, as an engine would tell them.
async fn publish(nats: &str, changes: usize) -> anyhow::Result<usize> {
    let js = jetstream::new(async_nats::connect(nats).await?);
    let begun = Instant::now();
    let mut acks = Vec::with_capacity(TOGETHER);
    for first in (0..changes).step_by(TOGETHER) {
        for change in first..(first + TOGETHER).min(changes) {
            let (n, version) = (change % POINTS, change / POINTS + 1);
            let available = figure(version);
            let body = format!(
                r#"{{"sku":"{}","warehouse":"main","version":{version},"on_hand":{available},"reserved":0,"available":{available}}}"#,
                sku(n)
            );
            let subject = format!("{PREFIX}.stock.changed.main.{}", sku(n));
            acks.push(js.publish(subject, body.into()).await?);
        }
        for ack in acks.drain(..) {
            ack.await?;
        }
        let due = Duration::from_secs_f64(f64::from(u32::try_from(first)?) / f64::from(u32::try_from(PER_SECOND)?));
        tokio::time::sleep(due.saturating_sub(begun.elapsed())).await;
    }
    Ok(changes)
}

/// The most rows that were to be sent, and the most there were.
async fn watch(db: PgPool, done: CancellationToken) -> anyhow::Result<(i64, i64)> {
    let mut most = (0, 0);
    while !done.is_cancelled() {
        let (waiting, rows): (i64, i64) =
            sqlx::query_as("SELECT count(*) FILTER (WHERE state = 'pending'), count(*) FROM stock_push")
                .fetch_one(&db)
                .await?;
        most = (most.0.max(waiting), most.1.max(rows));
        tokio::time::sleep(EVERY).await;
    }
    Ok(most)
}

async fn all_shown(simulator: &Simulator, changes: usize) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    let newest = |n: usize| figure((changes - n - 1) / POINTS + 1);
    let is_shown =
        |n: usize| simulator.shown(&Address::new(ChannelKind::Webhook, "1", &n.to_string())) == Some(newest(n));
    while !(0..POINTS).all(is_shown) {
        if Instant::now() > until {
            bail!("not every point showed its newest figures");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

fn sku(n: usize) -> String {
    format!("POINT-{n}")
}

fn figure(version: usize) -> Qty {
    Qty::try_from(version % 500).unwrap_or_default()
}
