//! What is kept is let go of when its time is over: a timer that asks how old things are, and rotates what is due.
//!
//! Every copy runs it, and none has to: two that rotate at once find each other, and one that does not run leaves things a little longer.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use sqlx::PgConnection;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::ops::metrics as names;
use crate::store::generations::{self, Kept, Rotation};
use crate::store::outbox::Needed;
use crate::store::{Fault, Pool, dead_letters, horizon, pushes};

/// The bounds of the pause between two looks, which is a twelfth of the shortest time that anything is kept.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(10);
/// How many dead letters one statement lets go of.
const DEAD_LETTERS_AT_ONCE: i64 = 1_000;
/// How many versions that channels were told one statement lets go of.
const PUSHES_AT_ONCE: i64 = 5_000;
/// For how long a rotation may be overdue before the log speaks of it. It only has to find a moment without readers, and comes again soon.
const OVERDUE: Duration = Duration::from_mins(1);
/// How often the log repeats itself.
const REPEAT: Duration = Duration::from_mins(1);

/// What the timer works with.
#[derive(Debug, Clone)]
pub struct Retention {
    /// The database.
    pub pool: Pool,
    /// How long events are remembered.
    pub inbox_keep: Duration,
    /// How long rows are kept after they were told.
    pub outbox_keep: Duration,
    /// How long dead letters are kept after they were resolved.
    pub dead_letters_keep: Duration,
    /// How long what channels were told and showed is kept.
    pub publisher_keep: Duration,
    /// How old somebody's transaction may be before the log warns.
    pub snapshot_warn: Duration,
}

impl Retention {
    /// As the settings have it.
    pub fn new(pool: Pool, settings: &Settings) -> Self {
        Self {
            pool,
            inbox_keep: Duration::from_secs(settings.inbox.keep_s),
            outbox_keep: Duration::from_secs(settings.outbox.keep_s),
            dead_letters_keep: Duration::from_secs(settings.dead_letters.keep_s.max(settings.inbox.keep_s)),
            publisher_keep: Duration::from_secs(settings.publisher.keep_s),
            snapshot_warn: Duration::from_secs(settings.database.snapshot_warn_s),
        }
    }

    fn keep(&self, kept: Kept) -> Duration {
        match kept {
            Kept::Inbox => self.inbox_keep,
            Kept::Outbox => self.outbox_keep,
            Kept::Attempts | Kept::Observations => self.publisher_keep,
        }
    }

    fn pause(&self) -> Duration {
        let shortest = self.inbox_keep.min(self.outbox_keep).min(self.dead_letters_keep);
        (shortest / 12).clamp(*PAUSE.start(), *PAUSE.end())
    }
}

/// Lets go of what is old until `stop`.
pub async fn run(retention: Retention, stop: CancellationToken) {
    let mut warnings = Warnings::default();
    while !stop.is_cancelled() {
        if let Err(error) = retention.look(&mut warnings).await {
            tracing::warn!(error = format!("{error:#}"), "nothing was let go of; it is tried again");
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(retention.pause()) => {}
        }
    }
}

impl Retention {
    async fn look(&self, warnings: &mut Warnings) -> anyhow::Result<()> {
        let mut connection = self.pool.acquire().await.context("no connection to look at what is kept")?;
        // What fails for one is no reason to leave the others.
        let looked = [
            self.look_at(&mut connection, Kept::Inbox, warnings).await,
            self.look_at(&mut connection, Kept::Outbox, warnings).await,
            self.look_at(&mut connection, Kept::Attempts, warnings).await,
            self.look_at(&mut connection, Kept::Observations, warnings).await,
            self.look_at_pushes(&mut connection).await,
            self.look_at_dead_letters(&mut connection).await,
            self.look_at_snapshots(&mut connection, warnings).await,
        ];
        looked.into_iter().collect()
    }

    async fn look_at(&self, connection: &mut PgConnection, kept: Kept, warnings: &mut Warnings) -> anyhow::Result<()> {
        let keep = self.keep(kept);
        let ended = generations::rotate(connection, kept, keep).await;
        if matches!(ended, Ok(Rotation::Done)) {
            metrics::counter!(names::ROTATIONS, "kept" => kept.word()).increment(1);
            tracing::info!(kept = kept.word(), "the oldest generation was emptied");
        }
        let obstacle = match ended {
            Ok(Rotation::Needed(Needed::Untold { stream, seconds })) => {
                Some(format!("{stream} has not been told what was written {seconds:.0} s ago"))
            }
            Ok(Rotation::Done | Rotation::NotDue | Rotation::Needed(Needed::ToldLately)) => None,
            Err(error) if error.fault() == Fault::Locked => Some(format!("a session holds it open: {error}")),
            Err(error) => return Err(error.into()),
        };
        let state = generations::state(connection, kept, keep).await?;
        let overdue_s = if obstacle.is_some() { state.overdue_s.max(0.0) } else { 0.0 };
        metrics::gauge!(names::KEPT_OLDEST_SECONDS, "kept" => kept.word()).set(state.oldest_s);
        metrics::gauge!(names::ROTATION_OVERDUE_SECONDS, "kept" => kept.word()).set(overdue_s);
        if let Some(obstacle) = obstacle
            && overdue_s >= OVERDUE.min(keep).as_secs_f64()
            && warnings.overdue.is_time()
        {
            tracing::warn!(
                kept = kept.word(),
                overdue_s,
                "the oldest generation is kept longer than it should be: {obstacle}"
            );
        }
        Ok(())
    }

    async fn look_at_dead_letters(&self, connection: &mut PgConnection) -> anyhow::Result<()> {
        let pruned = dead_letters::prune(connection, self.dead_letters_keep, DEAD_LETTERS_AT_ONCE).await?;
        metrics::counter!(names::DEAD_LETTERS_PRUNED).increment(pruned);
        let oldest_s = dead_letters::oldest_resolved_s(connection).await?;
        metrics::gauge!(names::KEPT_OLDEST_SECONDS, "kept" => "dead_letters").set(oldest_s);
        Ok(())
    }

    async fn look_at_pushes(&self, connection: &mut PgConnection) -> anyhow::Result<()> {
        let pruned = pushes::prune(connection, self.publisher_keep, PUSHES_AT_ONCE).await?;
        metrics::counter!(names::PUSHES_PRUNED).increment(pruned);
        Ok(())
    }

    async fn look_at_snapshots(&self, connection: &mut PgConnection, warnings: &mut Warnings) -> anyhow::Result<()> {
        let oldest = horizon::oldest(connection).await?;
        metrics::gauge!(names::OLDEST_SNAPSHOT_SECONDS).set(oldest.as_ref().map_or(0.0, |holder| holder.seconds));
        if let Some(holder) = oldest
            && holder.seconds >= self.snapshot_warn.as_secs_f64()
            && warnings.snapshot.is_time()
        {
            tracing::warn!(
                seconds = holder.seconds,
                "{} keeps a transaction open: until it ends, no row that has died since can be removed",
                holder.who
            );
        }
        Ok(())
    }
}

/// What the log says once in a while as long as it holds.
#[derive(Default)]
struct Warnings {
    overdue: Once,
    snapshot: Once,
}

#[derive(Default)]
struct Once(Option<Instant>);

impl Once {
    /// Whether it has not been said for a while.
    fn is_time(&mut self) -> bool {
        let is_time = self.0.is_none_or(|said| said.elapsed() >= REPEAT);
        if is_time {
            self.0 = Some(Instant::now());
        }
        is_time
    }
}
