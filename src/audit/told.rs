//! Invariant 7, its second half: the last thing told of a stock row is what the row is.
//!
//! From both sides. *From the table*: a row of which nothing is untold in the snapshot stands in `STOCK_LATEST` with at least the snapshot's version,
//! and at that version with its figures. *From the stream*: what it shows is a row of the table, whose version is no lower by now.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use futures::stream::{self, StreamExt, TryStreamExt};
use sqlx::PgConnection;
use tokio::time::Instant;

use super::{Broker, Interrupted, Sink};
use crate::broker::{From, Reading};
use crate::domain::{Figure, Finding, Place, Stock, StockKey};
use crate::messages;
use crate::relay::stock_keys;
use crate::store::outbox::{self, Lane};
use crate::store::{audit, stock as rows};

/// The stream that holds the last figures of each row, without prefix.
pub(crate) const LATEST: &str = "STOCK_LATEST";

/// How many rows are compared at once.
const WINDOW: usize = 256;
/// How many questions are with the broker at once.
const AT_ONCE: usize = 64;
/// How many rows may be untold: their keys are kept in memory.
const UNTOLD: usize = 200_000;
/// For how long `STOCK_LATEST` may lag behind `STOCK`: a server that lost sight of a source looks again every ten seconds or so.
const LAG: Duration = Duration::from_secs(20);
/// How long before it is asked again whether it still lags.
const AGAIN: Duration = Duration::from_millis(50);
/// The header that tells where a sourced message came from: stream, sequence, and from 2.10 on more.
const SOURCE_HEADER: &str = "Nats-Stream-Source";

/// Compares from both sides. `present` is a session outside the snapshot.
pub(super) async fn check(
    snapshot: &mut PgConnection,
    present: &mut PgConnection,
    broker: &Broker,
    sink: &mut Sink<'_>,
) -> Result<(), Interrupted> {
    from_the_table(snapshot, broker, sink).await?;
    from_the_stream(present, broker, sink).await
}

async fn from_the_table(snapshot: &mut PgConnection, broker: &Broker, sink: &mut Sink<'_>) -> Result<(), Interrupted> {
    let untold = untold(snapshot).await?;
    // What lags is judged as it is when this has waited long enough.
    caught_up(broker).await.map_err(Interrupted::Broker)?;
    let latest = open(broker, LATEST).await.map_err(Interrupted::Broker)?;
    let told = audit::stock(snapshot).try_filter(|(key, _)| std::future::ready(!untold.contains(key)));
    let mut windows = told.try_chunks(WINDOW);
    while let Some(window) = windows.next().await {
        let window = window.map_err(|error| error.1)?;
        let shown = shown(broker, &latest, window).await.map_err(Interrupted::Broker)?;
        for (key, row, shown) in shown {
            if let Some(finding) = compare(&key, row, shown) {
                sink.found(&finding)?;
            }
        }
    }
    Ok(())
}

/// The rows of which something is untold.
async fn untold(snapshot: &mut PgConnection) -> Result<HashSet<StockKey>, Interrupted> {
    let mut keys = HashSet::new();
    let mut untold = outbox::unsent_stream(snapshot, Lane::Stock);
    while let Some(row) = untold.try_next().await? {
        keys.extend(stock_keys(&row.parcel()?));
        if keys.len() > UNTOLD {
            return Err(Interrupted::Broker(anyhow!(
                "more than {UNTOLD} rows are untold: what was told is not compared"
            )));
        }
    }
    Ok(keys)
}

/// Waits until `STOCK_LATEST` has everything that `STOCK` has by now, for a time. Returns whether it has.
pub(crate) async fn caught_up(broker: &Broker) -> anyhow::Result<bool> {
    let stock = open(broker, Lane::Stock.stream()).await?;
    let (last, empty) = (stock.cached_info().state.last_sequence, stock.cached_info().state.messages == 0);
    let until = Instant::now() + LAG;
    while !empty && sourced(&open(broker, LATEST).await?).await?.is_none_or(|sourced| sourced < last) {
        if Instant::now() >= until {
            return Ok(false);
        }
        tokio::time::sleep(AGAIN).await;
    }
    Ok(true)
}

/// The place in its source of the last message that a stream has from it.
async fn sourced(latest: &Stream) -> anyhow::Result<Option<u64>> {
    let last = latest.cached_info().state.last_sequence;
    match latest.get_raw_message(last).await {
        Ok(message) => {
            let source = message.headers.get(SOURCE_HEADER).map(|source| source.as_str().to_owned());
            Ok(source.and_then(|source| source.split(' ').nth(1)?.parse().ok()))
        }
        // Nothing there, or just overtaken by a newer one.
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn open(broker: &Broker, family: &str) -> anyhow::Result<Stream> {
    let name = broker.topology.stream_name(family);
    broker.jetstream.get_stream(&name).await.with_context(|| format!("stream {name}"))
}

/// What the stream shows of these rows.
async fn shown(
    broker: &Broker,
    latest: &Stream,
    rows: Vec<(StockKey, Stock)>,
) -> anyhow::Result<Vec<(StockKey, Stock, Option<Stock>)>> {
    let ask = async |(key, row): (StockKey, Stock)| -> anyhow::Result<_> {
        let shown = last_of(broker, latest, &key).await?;
        Ok((key, row, shown))
    };
    stream::iter(rows).map(ask).buffered(AT_ONCE).try_collect().await
}

async fn last_of(broker: &Broker, latest: &Stream, key: &StockKey) -> anyhow::Result<Option<Stock>> {
    let subject = broker.topology.published(&messages::stock_subject(key));
    match latest.get_last_raw_message_by_subject(&subject).await {
        Ok(message) => {
            let figures = messages::read_stock_changed(&message.payload);
            Ok(Some(figures.with_context(|| format!("{subject} of {LATEST} carries no figures"))?))
        }
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn compare(key: &StockKey, row: Stock, shown: Option<Stock>) -> Option<Finding> {
    let differs = match shown {
        None => true,
        Some(shown) => shown.version < row.version || (shown.version == row.version && shown != row),
    };
    differs.then(|| Finding {
        invariant: 7,
        place: Place::stock(key),
        expected: format!("{}, told", figures(row)),
        found: shown.map_or("nothing told".to_owned(), figures),
        figure: Some(Figure::Told { seen: Some(row.version), told: shown.map(|shown| shown.version) }),
    })
}

fn figures(stock: Stock) -> String {
    format!("on_hand {}, reserved {}, version {}", stock.on_hand, stock.reserved, stock.version)
}

async fn from_the_stream(present: &mut PgConnection, broker: &Broker, sink: &mut Sink<'_>) -> Result<(), Interrupted> {
    let mut latest = Latest::open(broker).await.map_err(Interrupted::Broker)?;
    loop {
        let window = latest.next().await.map_err(Interrupted::Broker)?;
        if window.is_empty() {
            return Ok(());
        }
        let keys: Vec<StockKey> = window.iter().map(|(key, _)| key.clone()).collect();
        let versions = rows::versions(present, &keys).await?;
        for (key, shown) in window {
            let version = versions.get(&key).copied();
            if version.is_none_or(|version| version < shown.version) {
                sink.found(&Finding {
                    invariant: 7,
                    place: Place::stock(&key),
                    expected: format!("version {} or above, which was told", shown.version),
                    found: version.map_or("no stock row".to_owned(), |version| format!("version {version}")),
                    figure: Some(Figure::Told { seen: version, told: Some(shown.version) }),
                })?;
            }
        }
    }
}

/// `STOCK_LATEST`, read from its beginning.
pub(crate) struct Latest<'a> {
    broker: &'a Broker,
    reading: Reading,
}

impl<'a> Latest<'a> {
    pub(crate) async fn open(broker: &'a Broker) -> anyhow::Result<Self> {
        let name = broker.topology.stream_name(LATEST);
        Ok(Self { broker, reading: Reading::open(&broker.jetstream, &name, From::First, None).await? })
    }

    /// The next rows as they were last told; none where all is read. A row that is told meanwhile comes twice.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Vec<(StockKey, Stock)>> {
        let window = self.reading.next().await?;
        let mut shown = Vec::with_capacity(window.len());
        for (_, message) in window {
            let subject = self.broker.topology.contracted(message.subject.as_str()).unwrap_or_default();
            let key = messages::parse_stock_subject(subject);
            let read = key.zip(messages::read_stock_changed(&message.payload));
            ensure!(read.is_some(), "{subject} of {LATEST} carries no figures");
            shown.extend(read);
        }
        Ok(shown)
    }
}
