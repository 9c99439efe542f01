//! A channel's desk: one copy at a time tells a channel and reads it, so that its rates are kept; any copy may, and none waits for another channel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_nats::jetstream;
use sqlx::Connection as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::adapter::adapter;
use super::marketplace::Marketplace;
use super::queue::queue;
use crate::config::{ChannelSettings, Database};
use crate::domain::{Channel, Rhythm};
use crate::engine::tell_figures;
use crate::ops::metrics as names;
use crate::store::channels::{self, Control, Gauges};
use crate::store::points::{self, Publishing};
use crate::store::turn::Session;
use crate::store::{Pool, StoreError, stock};
use crate::topology::Topology;

/// How often a desk looks whether there is something to do; a wake-up makes it sooner.
const POLL: Duration = Duration::from_millis(250);
/// How long it waits after a failure, and before it asks for the turn again.
const PAUSE: Duration = Duration::from_millis(500);
/// How long it waits after the channel could not be read.
const READ_PAUSE: Duration = Duration::from_secs(5);
/// How often it says how its points are.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// How often maps and key are compared with what the channel knows, beside everything else; the first time when the turn is taken.
const CHECK_EVERY: Duration = Duration::from_hours(24);
/// Stock rows that are compared or told anew at once.
const CHUNK: i64 = 2_000;

/// What a channel's desk works with.
#[derive(Debug, Clone)]
pub struct Desk {
    /// Which channel.
    pub channel: Channel,
    /// What it is spoken to through.
    pub market: Arc<dyn Marketplace>,
    /// How its points are treated.
    pub rhythm: Rhythm,
    /// How it is reckoned.
    pub publishing: Publishing,
    /// How often all of it is read.
    pub reconcile_every: Duration,
    /// Where it stands.
    pub ground: Ground,
}

/// What the desks of a process share.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The database, for connections that others share.
    pub pool: Pool,
    /// The database, for a session of its own.
    pub database: Database,
    /// The broker.
    pub jetstream: jetstream::Context,
    /// What streams and consumers are called there.
    pub topology: Arc<Topology>,
    /// Rung when something was queued.
    pub queued: Arc<Notify>,
    /// Rung when something was stored to be told.
    pub outbox: Arc<Notify>,
}

impl Desk {
    /// That of the channel of this name. Makes no call.
    ///
    /// # Errors
    /// A setting is missing or unfit; the name is none of a channel.
    pub fn new(name: &str, settings: &ChannelSettings, ground: Ground) -> anyhow::Result<Self> {
        let channel = Channel::new(name).with_context(|| format!("channels.{name}"))?;
        let market = adapter(name, settings).with_context(|| format!("channels.{name}"))?;
        Ok(Self {
            rhythm: rhythm(settings, &*market),
            market: market.into(),
            publishing: Publishing { channel: channel.clone(), safety_stock: settings.safety_stock.into() },
            channel,
            reconcile_every: Duration::from_secs(settings.reconcile_every_s),
            ground,
        })
    }
}

/// How a channel's points are treated, by its settings.
fn rhythm(settings: &ChannelSettings, market: &dyn Marketplace) -> Rhythm {
    let reads = market.capabilities().reads;
    Rhythm {
        min_interval: Duration::from_secs(settings.min_interval_s),
        grace: Duration::from_secs(settings.grace_s),
        timeout: Duration::from_secs(settings.timeout_s),
        first_look: reads.map(|reads| reads.first_look),
        absent_is_zero: reads.is_some_and(|reads| reads.absent_is_zero),
    }
}

/// Tells and reads one channel until `stop`. What is under way then is finished.
pub async fn run(desk: Desk, stop: CancellationToken) {
    while !stop.is_cancelled() {
        if let Err(error) = desk.hold_turn(&stop).await {
            tracing::warn!(channel = %desk.channel, error = format!("{error:#}"), "the channel's desk opens anew");
        }
        // Whoever has the turn next measures it.
        measure_halt(&desk.channel, false);
        measure(&desk.channel, &Gauges { due: 0, due_s: 0.0, flying: 0, parked: 0, exposed: 0, exposed_s: 0.0 });
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// What is under way.
#[derive(Default)]
struct UnderWay {
    calls: JoinSet<()>,
    /// When maps and key were last compared with what the channel knows.
    checked: Option<Instant>,
    /// At most one: reading, with the instant from which on the next may begin.
    reading: JoinSet<Option<Instant>>,
    read_from: Option<Instant>,
}

impl Desk {
    async fn hold_turn(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        let mut session = Session::open(&self.ground.database).await.context("no session for the desk")?;
        while !session.take_channel(&self.channel).await? {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(PAUSE) => {}
            }
            session.stands().await?;
        }
        session.during(self.catch_up()).await?.context("what the channel should show")?;
        let mut under_way = UnderWay::default();
        let served = self.serve(&mut session, &mut under_way, stop).await;
        // What was begun is finished whatever comes: its points are ours until their leases are over.
        while under_way.calls.join_next().await.is_some() {}
        while under_way.reading.join_next().await.is_some() {}
        served
    }

    /// Queues what nobody has queued: what the stream has lost, and what a new safety stock or a new channel makes of rows that were told before.
    async fn catch_up(&self) -> anyhow::Result<()> {
        let mut connection = self.ground.pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        let before = channels::open(&mut transaction, &self.channel, self.publishing.safety_stock).await?;
        if before.is_some_and(|before| before != self.publishing.safety_stock) {
            self.retell(&mut transaction).await?;
        }
        transaction.commit().await?;
        self.ground.outbox.notify_waiters();
        Ok(self.queue_missed().await?)
    }

    /// Queues figures that the channel's points have not got: what the stream has lost, and rows that were made while their map was.
    pub(super) async fn queue_missed(&self) -> Result<(), StoreError> {
        let mut connection = self.ground.pool.acquire().await?;
        let mut after = None;
        loop {
            let missed = points::missed(&mut connection, &self.channel, after.as_ref(), CHUNK).await?;
            let Some(last) = missed.last() else { return Ok(()) };
            queue(&mut connection, &missed, std::slice::from_ref(&self.publishing)).await?;
            after = Some(last.key.clone());
        }
    }

    async fn retell(&self, transaction: &mut sqlx::PgConnection) -> anyhow::Result<()> {
        tracing::info!(channel = %self.channel, "the channel has another safety stock: its rows are told again");
        let mut after = None;
        loop {
            let keys = channels::rows_after(transaction, &self.channel, after.as_ref(), CHUNK).await?;
            if keys.is_empty() {
                return Ok(());
            }
            let retold = stock::retell_many(transaction, &keys).await?;
            tell_figures(transaction, &retold.rows, retold.now).await?;
            after = keys.last().cloned();
        }
    }

    async fn serve(
        &self,
        session: &mut Session,
        under_way: &mut UnderWay,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let mut reported = Instant::now();
        let mut connection = self.ground.pool.acquire().await?;
        self.report(&mut connection).await?;
        drop(connection);
        while !stop.is_cancelled() {
            let rung = self.ground.queued.notified();
            session.stands().await?;
            let mut connection = self.ground.pool.acquire().await?;
            let control = channels::load(&mut connection, &self.channel).await?.context("the channel's row is gone")?;
            measure_halt(&self.channel, control.halted);
            if reported.elapsed() >= REPORT_EVERY {
                reported = Instant::now();
                self.report(&mut connection).await?;
            }
            drop(connection);
            self.land_flown().await?;
            let claimed = if control.paused || control.halted { false } else { self.send(session, under_way).await? };
            self.read(&control, under_way);
            if under_way.checked.is_none_or(|at| at.elapsed() >= CHECK_EVERY) {
                under_way.checked = Some(Instant::now());
                let desk = self.clone();
                tokio::spawn(async move { desk.check().await });
            }
            if claimed {
                continue;
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = rung => {}
                _ = under_way.calls.join_next(), if !under_way.calls.is_empty() => {}
                Some(ended) = under_way.reading.join_next(), if !under_way.reading.is_empty() => {
                    under_way.read_from = ended.unwrap_or(None);
                }
                () = tokio::time::sleep(POLL) => {}
            }
        }
        Ok(())
    }

    /// Begins a call, if the channel takes one and there is something to tell. Returns whether it did.
    async fn send(&self, session: &mut Session, under_way: &mut UnderWay) -> anyhow::Result<bool> {
        while under_way.calls.try_join_next().is_some() {}
        if under_way.calls.len() >= self.market.capabilities().at_once {
            return Ok(false);
        }
        // Chosen as late as may be: so what is sent is the newest.
        if session.during(tokio::time::timeout(POLL, self.market.ready())).await?.is_err() {
            return Ok(false);
        }
        let calls = self.claim().await?;
        let any = !calls.is_empty();
        for call in calls {
            let desk = self.clone();
            under_way.calls.spawn(async move { desk.fly(call).await });
        }
        Ok(any)
    }

    /// Begins a reading, if one is due and none is under way.
    fn read(&self, control: &Control, under_way: &mut UnderWay) {
        if !under_way.reading.is_empty() || under_way.read_from.is_some_and(|from| Instant::now() < from) {
            return;
        }
        let every = self.reconcile_every.as_secs_f64();
        let all_due = !control.paused && !control.halted && control.reconciled_s.is_none_or(|ago| ago >= every);
        let asked = control.reconcile_asked;
        if (control.paused || control.halted) && !asked {
            return;
        }
        let desk = self.clone();
        under_way.reading.spawn(async move {
            let read = if asked || all_due { desk.reconcile().await.map(|_| 1) } else { desk.look_at_due().await };
            let pause = match read {
                // Whoever finds nothing to look at looks again no sooner than there can be something.
                Ok(points) => (points == 0).then_some(POLL),
                Err(error) => {
                    tracing::warn!(channel = %desk.channel, error = %error, "what is shown was not read");
                    Some(READ_PAUSE)
                }
            };
            pause.map(|pause| Instant::now() + pause)
        });
    }

    async fn report(&self, connection: &mut sqlx::PgConnection) -> anyhow::Result<()> {
        measure(&self.channel, &channels::gauges(connection, &self.channel).await?);
        Ok(())
    }
}

fn measure_halt(channel: &Channel, halted: bool) {
    metrics::gauge!(names::PUSH_HALTED, "channel" => channel.to_string()).set(f64::from(u8::from(halted)));
}

#[allow(clippy::cast_precision_loss, reason = "gauges")]
fn measure(channel: &Channel, gauges: &Gauges) {
    let channel = channel.to_string();
    for (name, value) in [
        (names::PUSH_DUE, gauges.due as f64),
        (names::PUSH_DUE_SECONDS, gauges.due_s),
        (names::PUSH_FLYING, gauges.flying as f64),
        (names::PUSH_PARKED, gauges.parked as f64),
        (names::OVERSELL_EXPOSURE_UNITS, gauges.exposed as f64),
        (names::OVERSELL_EXPOSURE_SECONDS, gauges.exposed_s),
    ] {
        metrics::gauge!(name, "channel" => channel.clone()).set(value);
    }
}
