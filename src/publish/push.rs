//! Tells a channel: points are claimed with their newest figures, sent in one call, and landed with what became of each.
//!
//! No call is made between BEGIN and COMMIT. A claim that nobody lands (its process is gone) is landed as unknown once its lease is over.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use uuid::Uuid;

use super::desk::Desk;
use super::marketplace::{Item, Outcome};
use crate::crash_point;
use crate::domain::{
    Flight, Landed, Landing, Lease, Point, PointKey, PushState, Qty, Review, ReviewSubject, Silence, Timestamp,
};
use crate::engine::tell_reviews;
use crate::ops::metrics as names;
use crate::store::pushes::{self, Ended};
use crate::store::{StoreError, channels, clock, points, reviews};

/// How many claims of dead senders are landed at once.
const FLOWN_AT_ONCE: i64 = 1_000;
/// How often landing is tried again while the database is away; then the lease is over.
const PAUSE: Duration = Duration::from_millis(500);

/// Points that are being told in one call.
#[derive(Debug)]
pub(super) struct Call {
    lease: Uuid,
    flights: Vec<Flight>,
    /// The database's clock at the claim.
    at: Timestamp,
    /// Until when it may still be begun: the lease outlives what is begun by then.
    begin_by: Instant,
}

impl Desk {
    /// How long a claim is believed in: a call takes up to twice the timeout, and never ends later than its lease.
    pub(super) fn lease(&self) -> Duration {
        3 * self.rhythm.timeout
    }

    /// Claims what one call may take now, as calls: one, unless withdrawals go to another warehouse.
    ///
    /// # Errors
    /// The database's own.
    pub(super) async fn claim(&self) -> Result<Vec<Call>, StoreError> {
        let takes = self.market.capabilities();
        let claimed = Instant::now();
        let mut connection = self.ground.pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        let mut due =
            points::lock_due(&mut transaction, &self.channel, takes.max_batch, takes.one_warehouse_a_call).await?;
        if due.is_empty() {
            transaction.rollback().await?;
            return Ok(Vec::new());
        }
        let now = clock::now(&mut transaction).await?;
        let lease = Lease { id: Uuid::now_v7(), until: now + self.lease() };
        let mut flights = Vec::with_capacity(due.len());
        let mut over = Vec::new();
        for (point, anothers) in &mut due {
            match point.take_off(lease, now, takes.max_qty, *anothers) {
                Some(flight) => flights.push(flight),
                // Nothing is shown of it, and nothing is to be.
                None => over.push((point.key.clone(), point.newest_version)),
            }
        }
        points::write_many(&mut transaction, &due.iter().map(|(point, _)| point).collect::<Vec<_>>()).await?;
        let over: Vec<_> = over.iter().map(|(key, version)| (key, *version, PushState::Superseded, None)).collect();
        pushes::mark_many(&mut transaction, &over).await?;
        if !flights.is_empty() {
            pushes::fly_many(&mut transaction, &flights.iter().collect::<Vec<_>>(), lease.id, now).await?;
        }
        transaction.commit().await?;
        crash_point("publish::after_claim");
        let begin_by = claimed + self.rhythm.timeout;
        let calls = parted(flights, takes.one_warehouse_a_call);
        Ok(calls.into_iter().map(|flights| Call { lease: lease.id, flights, at: now, begin_by }).collect())
    }

    /// Makes a call and lands it.
    pub(super) async fn fly(&self, call: Call) {
        let items: Vec<Item> = call.flights.iter().map(item).collect();
        // Who stood still since the claim may have lost it.
        let outcomes = if Instant::now() < call.begin_by {
            self.market.push(&items, call.at).await
        } else {
            let late = Outcome::Again { after: Duration::ZERO, reason: "it was not begun in time".to_owned() };
            vec![late; items.len()]
        };
        crash_point("publish::after_push");
        count(&self.channel, &outcomes);
        let size = call.flights.len();
        let silence = silence(&outcomes);
        let landings: Vec<(Flight, Landing)> = call
            .flights
            .into_iter()
            .zip(
                outcomes
                    .into_iter()
                    .chain(std::iter::repeat(Outcome::Unknown("the channel said nothing of it".into()))),
            )
            .map(|(flight, outcome)| (flight, landing(outcome, size, silence)))
            .collect();
        let give_up = Instant::now() + self.lease();
        while let Err(error) = self.land(call.lease, &landings).await {
            if Instant::now() > give_up {
                tracing::warn!(channel = %self.channel, error = %error, "what became of a call was not noted; it counts as unknown");
                return;
            }
            tracing::info!(channel = %self.channel, "landing again: {error}");
            tokio::time::sleep(PAUSE).await;
        }
        self.ground.queued.notify_waiters();
    }

    async fn land(&self, lease: Uuid, landings: &[(Flight, Landing)]) -> Result<(), StoreError> {
        let mut keys: Vec<&PointKey> = landings.iter().map(|(flight, _)| &flight.key).collect();
        keys.sort_unstable();
        let mut connection = self.ground.pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        let mut locked = points::lock_many(&mut transaction, &keys).await?;
        let ours = |point: &Point| point.lease.is_some_and(|held| held.id == lease);
        let lost = locked.iter().filter(|point| !ours(point)).count();
        if lost > 0 {
            tracing::warn!(channel = %self.channel, points = lost, "a call ended after its lease: its points were taken for unknown");
        }
        locked.retain(ours);
        self.write_landed(&mut transaction, lease, &mut locked, landings).await?;
        crash_point("publish::before_landed");
        Ok(transaction.commit().await?)
    }

    /// Lands what dead senders left, as unknown. Returns how many points.
    ///
    /// # Errors
    /// The database's own.
    pub(super) async fn land_flown(&self) -> Result<usize, StoreError> {
        let mut connection = self.ground.pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        let flown = points::lock_flown(&mut transaction, &self.channel, FLOWN_AT_ONCE).await?;
        let count = flown.len();
        let mut calls: BTreeMap<Uuid, Vec<(Point, Flight)>> = BTreeMap::new();
        for (point, flight) in flown {
            let Some(lease) = point.lease else { continue };
            calls.entry(lease.id).or_default().push((point, flight));
        }
        for (lease, call) in calls {
            let (mut points, flights): (Vec<Point>, Vec<Flight>) = call.into_iter().unzip();
            let unseen = || Landing::Unknown(Silence::Call, "whoever sent it did not see its end".to_owned());
            let landings: Vec<_> = flights.into_iter().map(|flight| (flight, unseen())).collect();
            self.write_landed(&mut transaction, lease, &mut points, &landings).await?;
        }
        transaction.commit().await?;
        if count > 0 {
            tracing::warn!(channel = %self.channel, points = count, "claims of a sender that is gone count as unknown");
        }
        Ok(count)
    }

    async fn write_landed(
        &self,
        transaction: &mut sqlx::PgConnection,
        lease: Uuid,
        locked: &mut [Point],
        landings: &[(Flight, Landing)],
    ) -> Result<(), StoreError> {
        let now = clock::now(transaction).await?;
        let by_key: HashMap<&PointKey, &(Flight, Landing)> =
            landings.iter().map(|landed| (&landed.0.key, landed)).collect();
        let mut landed: Vec<(&Flight, &Landing, Landed)> = Vec::with_capacity(locked.len());
        for point in &mut *locked {
            let Some((flight, landing)) = by_key.get(&point.key) else { continue };
            landed.push((flight, landing, point.land(flight, landing, now, &self.rhythm)));
        }
        points::write_many(transaction, &locked.iter().collect::<Vec<_>>()).await?;
        let ended: Vec<Ended<'_>> = landed
            .iter()
            .map(|(flight, landing, landed)| Ended {
                flight,
                state: landed.state,
                outcome: landing.word(),
                detail: landed.error.as_deref(),
            })
            .collect();
        pushes::land_many(transaction, &ended, lease, now).await?;
        let confirmed: Vec<(&PointKey, i64, Qty)> = landed
            .iter()
            .filter(|(.., landed)| landed.confirmed)
            .map(|(flight, ..)| (&flight.key, flight.version, flight.qty))
            .collect();
        pushes::confirm_many(transaction, &confirmed, now).await?;
        let questions: Vec<Review> = landed
            .iter()
            .filter_map(|(flight, _, landed)| Some(question(&flight.key, landed.question.clone()?)))
            .collect();
        let opened = reviews::open_many(transaction, &questions, now).await?;
        tell_reviews(transaction, &questions, &reviews::new_ids(&opened), now).await?;
        if let Some(why) = landed.iter().find_map(|(_, landing, _)| landing.halts()) {
            tracing::error!(channel = %self.channel, reason = why, "the channel takes nothing; it is tried again later");
            channels::halt(transaction, &self.channel, why).await?;
        } else if landed.iter().any(|(_, landing, _)| **landing == Landing::Accepted) {
            channels::calm(transaction, &self.channel).await?;
        }
        Ok(())
    }
}

/// A question about a point.
pub(super) fn question(key: &PointKey, question: crate::domain::PointQuestion) -> Review {
    let (kind, detail) = (question.kind, question.detail.clone());
    Review { kind, subject: ReviewSubject::Point(key.clone(), Box::new(question)), detail, cause: 0 }
}

/// Flights as calls: one each warehouse, where a call may name only one.
fn parted(flights: Vec<Flight>, one_warehouse: bool) -> Vec<Vec<Flight>> {
    if !one_warehouse {
        return if flights.is_empty() { Vec::new() } else { vec![flights] };
    }
    let mut calls: BTreeMap<String, Vec<Flight>> = BTreeMap::new();
    for flight in flights {
        calls.entry(flight.address.external_warehouse_id.clone()).or_default().push(flight);
    }
    calls.into_values().collect()
}

fn item(flight: &Flight) -> Item {
    Item {
        sku: flight.key.sku.clone(),
        warehouse: flight.key.warehouse.clone(),
        external_id: flight.address.external_id.clone(),
        external_warehouse_id: flight.address.external_warehouse_id.clone(),
        qty: flight.qty,
        version: flight.version,
        repeats: flight.repeats,
    }
}

/// Of what nobody knows what became, where that is so of any of these.
fn silence(outcomes: &[Outcome]) -> Silence {
    let is_said = |outcome: &Outcome| !matches!(outcome, Outcome::Unknown(_));
    match outcomes {
        [_] => Silence::Lone,
        many if many.iter().any(is_said) => Silence::Item,
        _ => Silence::Call,
    }
}

fn landing(outcome: Outcome, size: usize, silence: Silence) -> Landing {
    match outcome {
        Outcome::Accepted => Landing::Accepted,
        Outcome::Again { after, reason } => Landing::Again(after, reason),
        Outcome::Deferred(why) => Landing::Deferred(why),
        Outcome::Rejected(why) => Landing::Rejected(why),
        Outcome::Unknown(why) => Landing::Unknown(silence, why),
        Outcome::Split(why) => Landing::Split(size, why),
        Outcome::Halted(why) => Landing::Halted(why),
    }
}

fn count(channel: &crate::domain::Channel, outcomes: &[Outcome]) {
    for outcome in outcomes {
        metrics::counter!(names::PUSHES, "channel" => channel.to_string(), "outcome" => outcome.word()).increment(1);
    }
}
