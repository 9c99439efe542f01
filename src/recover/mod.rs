//! What is to be done when PostgreSQL itself went back in time: a failover to a replica that lagged, a backup that was restored.
//!
//! The broker then knows more than the base: messages are acknowledged whose effect is gone, and figures were told under versions that the base has
//! yet to reach. So the consumers are rewound to before the loss (what was decided and is not lost is known by its id and has no second effect), and
//! the version of every row goes above whatever was told of it, so that for a reader versions never go back.
//!
//! - `turns` makes sure that nobody else is at work; `rows` raises and retells; `answers` finds what was told of orders that are gone.
//! - What cannot be put right is said: [`Report`].

mod answers;
mod rows;
mod turns;

pub use turns::Taken;

use anyhow::Context as _;
use serde::Serialize;
use sqlx::{Connection, PgConnection};
use time::{Duration, OffsetDateTime};

use crate::audit::{Broker, caught_up};
use crate::broker::{From, Reading};
use crate::messages::WireTime;
use crate::store::broker::forget_many;
use crate::store::newest::newest;
use crate::topology::ConsumerFile;

/// How long before the newest instant that the base knows everything is delivered again, where nobody says since when. A message may have waited
/// for so long before it was decided, and the broker's clock may differ from the database's.
pub const MARGIN: Duration = Duration::HOUR;

/// How many of anything are named one by one.
const NAMED: usize = 100;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// From when on everything is delivered again; else found from the base.
    pub since: Option<OffsetDateTime>,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
}

/// What was done, and what cannot be known.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// The newest instant that the base knows.
    pub base_knows_until: Option<WireTime>,
    /// From when on everything is delivered again.
    pub since: WireTime,
    /// The consumers that were rewound.
    pub consumers: Vec<Rewound>,
    /// Rows of stock.
    pub rows: Rows,
    /// Answers that were told of orders that the base has not got.
    pub answers: Answers,
}

/// A consumer that was rewound.
#[derive(Debug, Clone, Serialize)]
pub struct Rewound {
    /// Its stream, without prefix.
    pub stream: String,
    /// Its name.
    pub consumer: String,
    /// How many messages are delivered again.
    pub delivered_again: u64,
    /// Where the stream begins later than that: what it received before this instant is gone from it.
    pub gone_before: Option<WireTime>,
}

/// What became of stock rows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Rows {
    /// How many were told under the version that the base has, or above it, and are raised and told again.
    pub raised: u64,
    /// How many the broker knows and the base does not: made again with nothing in them, until what filled them is delivered again.
    pub unknown: u64,
    /// The first of those.
    pub unknown_named: Vec<RowName>,
    /// How many stored tellings of figures were laid aside because their rows are told again.
    pub laid_aside: u64,
    /// Whether `STOCK_LATEST` had everything that `STOCK` has.
    pub latest_is_current: bool,
}

/// A row's key.
#[derive(Debug, Clone, Serialize)]
pub struct RowName {
    /// What.
    pub sku: String,
    /// Where.
    pub warehouse: String,
}

/// What was told of orders.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Answers {
    /// How many answers were told since then.
    pub told: u64,
    /// How many of them are about orders that the base has not got.
    pub unknown: u64,
    /// The first of those orders.
    pub unknown_named: Vec<OrderName>,
}

/// An order's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrderName {
    /// Its channel.
    pub channel: String,
    /// Its name there.
    pub order_ref: String,
}

/// Recovers. The turns are `taken` already, and nobody else is at work.
///
/// Done again it does no harm: rows are raised once more, and consumers rewound once more.
///
/// # Errors
/// The servers'. What was done before stays done.
pub async fn recover(taken: &mut Taken, broker: &Broker, request: Request) -> anyhow::Result<Report> {
    let session = taken.session();
    let known = newest(session).await?;
    let since = request.since.or_else(|| known.map(|known| known - MARGIN));
    let since = since.context("the base knows of nothing that happened: say --since")?;
    let latest_is_current = caught_up(broker).await?;
    // Before the consumers: a row is raised before anything is decided about it.
    let rows = rows::retell(session, broker, request.dry_run).await?;
    let answers = answers::since(session, broker, since).await?;
    let mut consumers = Vec::new();
    for consumer in broker.topology.deciding() {
        consumers.push(rewind(broker, consumer, since, request.dry_run).await?);
    }
    if !request.dry_run {
        // That they were made anew is our doing, and no loss.
        let rewound: Vec<String> = broker.topology.deciding().map(ConsumerFile::id).collect();
        forget_many(session, &rewound).await?;
    }
    Ok(Report {
        dry_run: request.dry_run,
        base_knows_until: known.map(WireTime),
        since: WireTime(since),
        consumers,
        rows: Rows { latest_is_current, ..rows },
        answers,
    })
}

async fn rewind(
    broker: &Broker,
    consumer: &ConsumerFile,
    since: OffsetDateTime,
    dry_run: bool,
) -> anyhow::Result<Rewound> {
    let stream = broker.jetstream.get_stream(&consumer.stream).await.with_context(|| consumer.stream.clone())?;
    let state = &stream.cached_info().state;
    let begins_later = state.first_sequence > 1 && state.first_timestamp > since;
    let delivered_again = Reading::open(&broker.jetstream, &consumer.stream, From::Time(since), None).await?.pending();
    if !dry_run {
        broker.topology.rewind(&broker.jetstream, consumer, since).await?;
    }
    Ok(Rewound {
        stream: consumer.family.clone(),
        consumer: consumer.durable.clone(),
        delivered_again,
        gone_before: begins_later.then_some(WireTime(state.first_timestamp)),
    })
}

/// A transaction of its own for each window, so that none is long.
async fn begin(session: &mut PgConnection) -> anyhow::Result<sqlx::Transaction<'_, sqlx::Postgres>> {
    Ok(session.begin().await?)
}
