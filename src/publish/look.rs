//! Reads what a channel shows, and judges it: what was told lately, out of the schedule, and all of it once in a while.

use std::collections::{BTreeMap, HashMap};

use sqlx::{Connection as _, PgConnection};

use super::desk::Desk;
use super::marketplace::ReadFault;
use super::push::question;
use super::unprocessed::has_unprocessed;
use crate::domain::{Looked, Point, PointKey, PushState, Qty, Review, Seen, Timestamp, Verdict};
use crate::engine::tell_reviews;
use crate::ops::metrics as names;
use crate::store::points::Shown;
use crate::store::pushes::{self, Observation};
use crate::store::{StoreError, channels, clock, points, reviews};

/// Why a reading was not made.
#[derive(Debug, thiserror::Error)]
pub enum LookFault {
    /// The channel did not give it.
    #[error("the channel cannot be read: {0}")]
    Channel(#[from] ReadFault),
    /// The database did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for LookFault {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// How points were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    fn add(&mut self, looked: &[Looked]) {
        for looked in looked {
            *self.0.entry(looked.verdict.word()).or_default() += 1;
        }
    }
}

impl Desk {
    /// Looks at what is to be looked at now. Returns how many points that was.
    pub(super) async fn look_at_due(&self) -> Result<usize, LookFault> {
        let Some(reads) = self.market.capabilities().reads else { return Ok(0) };
        let shown = points::to_look_at(&mut *self.ground.pool.acquire().await?, &self.channel, reads.max_batch).await?;
        let count = shown.len();
        if count > 0 {
            self.look_at(shown).await?;
        }
        Ok(count)
    }

    /// Looks at everything that the channel was told.
    ///
    /// # Errors
    /// The channel's or the database's own.
    pub async fn reconcile(&self) -> Result<Tally, LookFault> {
        self.queue_missed().await?;
        let mut tally = Tally::default();
        let began = clock::now(&mut *self.ground.pool.acquire().await?).await?;
        if let Some(reads) = self.market.capabilities().reads {
            let mut after = None;
            let limit = i64::try_from(reads.max_batch).unwrap_or(i64::MAX);
            loop {
                let page =
                    points::shown_after(&mut *self.ground.pool.acquire().await?, &self.channel, after.as_ref(), limit)
                        .await?;
                let Some(last) = page.last() else { break };
                after = Some(last.address.clone());
                for shown in parted(page) {
                    tally.add(&self.look_at(shown).await?);
                }
            }
        }
        channels::reconciled(&mut *self.ground.pool.acquire().await?, &self.channel, began).await?;
        tracing::info!(channel = %self.channel, verdicts = ?tally.0, "everything that is shown was compared");
        Ok(tally)
    }

    /// Reads points of one warehouse of the channel, and judges them. One that was sent to meanwhile is not judged.
    async fn look_at(&self, shown: Vec<Shown>) -> Result<Vec<Looked>, LookFault> {
        let Some(first) = shown.first() else { return Ok(Vec::new()) };
        let ids: Vec<String> = shown.iter().map(|shown| shown.address.external_id.clone()).collect();
        let listed = self.market.observe(&first.address.external_warehouse_id, &ids).await;
        if let Err(ReadFault::Halted(why)) = &listed {
            channels::halt(&mut *self.ground.pool.acquire().await?, &self.channel, why).await?;
        }
        let mut read: Vec<(Shown, Option<Qty>)> = shown.into_iter().zip(listed?).collect();
        read.sort_unstable_by(|(one, _), (other, _)| one.key.cmp(&other.key));
        // Asked after the reading: what was sold there before it is on its way here by now, or not yet said.
        let on_their_way = self.orders_on_their_way().await;

        let mut connection = self.ground.pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        let judged = self.judge(&mut transaction, &read, on_their_way).await?;
        transaction.commit().await?;
        self.ground.queued.notify_waiters();
        Ok(judged)
    }

    async fn orders_on_their_way(&self) -> bool {
        let asked = has_unprocessed(&self.ground.jetstream, &self.ground.topology, &self.channel).await;
        asked.unwrap_or_else(|error| {
            let channel = &self.channel;
            tracing::warn!(%channel, %error, "nobody knows whether orders are on their way; nothing is raised");
            true
        })
    }

    /// Judges what was read, in order of key, of points that nothing was sent to since, and notes what follows.
    async fn judge(
        &self,
        transaction: &mut PgConnection,
        read: &[(Shown, Option<Qty>)],
        on_their_way: bool,
    ) -> Result<Vec<Looked>, StoreError> {
        let keys: Vec<&PointKey> = read.iter().map(|(shown, _)| &shown.key).collect();
        let listed: HashMap<&PointKey, (i64, Option<Qty>)> =
            read.iter().map(|(shown, qty)| (&shown.key, (shown.flights, *qty))).collect();
        let mut locked = points::lock_many(transaction, &keys).await?;
        let is_as_read = |point: &Point| {
            point.lease.is_none() && listed.get(&point.key).is_some_and(|(flights, _)| *flights == point.flights)
        };
        locked.retain(is_as_read);
        let beside = pushes::beside(transaction, &keys).await?;
        let refused = channels::has_refused_orders(transaction, &self.channel).await?;
        let now = clock::now(transaction).await?;
        let mut judged = Vec::with_capacity(locked.len());
        for point in &mut locked {
            let qty = listed.get(&point.key).and_then(|(_, qty)| *qty);
            let beside = beside.get(&point.key.stock()).copied().unwrap_or_default();
            let more_sold = on_their_way || refused || beside.behind;
            let seen = Seen { qty, confirmed_version: beside.confirmed_version, more_sold };
            judged.extend(point.look(&seen, now, &self.rhythm).map(|looked| (point.key.clone(), qty, looked)));
        }
        points::write_many(transaction, &locked.iter().collect::<Vec<&Point>>()).await?;
        self.note(transaction, &judged, now).await?;
        Ok(judged.into_iter().map(|(.., looked)| looked).collect())
    }

    async fn note(
        &self,
        transaction: &mut PgConnection,
        judged: &[(PointKey, Option<Qty>, Looked)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let observations: Vec<Observation<'_>> = judged
            .iter()
            .map(|(key, observed_qty, looked)| Observation {
                key,
                observed_qty: *observed_qty,
                desired_qty: Some(looked.told.qty),
                compared_version: Some(looked.told.version),
                verdict: looked.verdict,
            })
            .collect();
        pushes::observe_many(transaction, &self.channel, &observations, now).await?;
        let marked: Vec<(&PointKey, i64, PushState, Option<String>)> = judged
            .iter()
            .filter_map(|(key, qty, looked)| Some((key, looked.told.version, looked.state?, error(*qty, looked))))
            .collect();
        let marked: Vec<_> =
            marked.iter().map(|(key, version, state, error)| (*key, *version, *state, error.as_deref())).collect();
        pushes::mark_many(transaction, &marked).await?;
        let confirmed: Vec<(&PointKey, i64, Qty)> = judged
            .iter()
            .filter(|(.., looked)| looked.confirmed)
            .map(|(key, _, looked)| (key, looked.told.version, looked.told.qty))
            .collect();
        pushes::confirm_many(transaction, &confirmed, now).await?;
        let questions: Vec<Review> =
            judged.iter().filter_map(|(key, _, looked)| Some(question(key, looked.question.clone()?))).collect();
        let opened = reviews::open_many(transaction, &questions, now).await?;
        tell_reviews(transaction, &questions, &reviews::new_ids(&opened), now).await?;
        for (.., looked) in judged {
            let (channel, verdict) = (self.channel.to_string(), looked.verdict.word());
            metrics::counter!(names::OBSERVED, "channel" => channel, "verdict" => verdict).increment(1);
        }
        Ok(())
    }
}

/// Why a version is sent again or given to a person.
fn error(qty: Option<Qty>, looked: &Looked) -> Option<String> {
    let shows = qty.map_or_else(|| "does not list it".to_owned(), |qty| format!("shows {qty}"));
    (looked.verdict != Verdict::InSync).then(|| format!("the channel was told {} and {shows}", looked.told.qty))
}

/// A page by the channel's warehouses.
fn parted(page: Vec<Shown>) -> Vec<Vec<Shown>> {
    let mut by_warehouse: BTreeMap<String, Vec<Shown>> = BTreeMap::new();
    for shown in page {
        by_warehouse.entry(shown.address.external_warehouse_id.clone()).or_default().push(shown);
    }
    by_warehouse.into_values().collect()
}
