//! Attempts until every message of a batch has its verdict, whatever goes wrong.
//!
//! | what went wrong | what is done |
//! |---|---|
//! | serialization failure, deadlock, conflict | the whole transaction again, a bounded number of times |
//! | a lock was not to be had | again without what is locked; what needs it comes back later |
//! | the database is away | wait for it; that does not count against any message |
//! | the statement cannot succeed | the batch is split in stream order until the culprit stands alone |

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use sqlx::PgConnection;
use tokio_util::sync::CancellationToken;

use super::attempt::{Attempt, Done, Terms, attempt};
use super::batch::{Item, Replayed, Resolution, Settled, Verdict};
use super::patience::{GIVE_UP_AFTER, ISOLATE_AFTER, Patience};
use super::turnstile::{Pass, Turnstile};
use crate::domain::{Policy, Reason, Refusal};
use crate::messages::Signatures;
use crate::ops::metrics as names;
use crate::store::{Fault, Locking, Pool, StoreError};

/// How often a transaction is tried again that lost a race.
const RACES: u32 = 10;
/// How often the lock set may grow.
const GROWTHS: u32 = 8;
/// How long a message that could not be decided is left alone.
const LATER: Duration = Duration::from_secs(1);
/// The longest pause between attempts to reach the database.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Decides batches.
#[derive(Debug)]
pub struct Engine {
    policy: Policy,
    reply_prefixes: Vec<String>,
    signatures: Signatures,
    patience: Patience,
}

/// On which connection a batch is decided.
pub enum Turn<'a> {
    /// Any: batches run side by side, and what cannot be decided now comes back later.
    Shared {
        /// Where connections come from.
        pool: &'a Pool,
        /// Where batches take their locks one after the other.
        turnstile: &'a Turnstile,
        /// The pass of this batch, if it has one already; else it enters when it is tried.
        pass: Option<Pass>,
    },
    /// The session that holds the turn to decide in stream order: a batch is tried in place until it is decided.
    Held(&'a mut PgConnection),
}

/// The session that held the turn is gone, and the turn with it.
#[derive(Debug, thiserror::Error)]
#[error("the session that held the turn was lost: {0}")]
pub struct TurnLost(StoreError);

/// What became of a part of a batch.
enum Part {
    Done(Done),
    /// Not decided: again after a time.
    Later,
    /// These, by place in the part, touch what somebody else has locked; the others can be decided without them.
    Missed(HashSet<usize>),
    /// These, by place in the part, are dead letters or reviews that somebody has resolved; the others can be decided without them.
    Resolved(HashSet<usize>),
    /// It cannot be written as it is.
    Unwritable(StoreError),
}

impl Engine {
    /// An engine by these rules. Direct replies go only to subjects that begin with one of the prefixes. Messages of providers that sign are
    /// taken only with a signature that holds.
    pub fn new(policy: Policy, reply_prefixes: Vec<String>, signatures: Signatures) -> Self {
        Self { policy, reply_prefixes, signatures, patience: Patience::default() }
    }

    /// Decides a batch in stream order. Every item gets a verdict; at `stop`, what would have to wait is given back instead.
    ///
    /// # Errors
    /// [`TurnLost`] where the turn was held and its session is gone; what had been committed by then is known by its redelivery.
    pub async fn settle(
        &self,
        turn: &mut Turn<'_>,
        mut items: Vec<Item>,
        stop: &CancellationToken,
    ) -> Result<Settled, TurnLost> {
        self.judge_signatures(&mut items);
        let mut settled = Settled { verdicts: vec![Verdict::Nak(LATER); items.len()], ..Settled::default() };
        let mut parts = self.parts(&items);
        while let Some(places) = parts.pop() {
            let part: Vec<&Item> = places.iter().map(|place| &items[*place]).collect();
            match self.settle_part(turn, &part, stop).await? {
                Part::Done(done) => {
                    self.patience.succeeded(&part);
                    for (place, verdict) in places.iter().zip(&done.verdicts) {
                        settled.verdicts[*place] = *verdict;
                    }
                    settled.replies.extend(done.replies);
                    settled.told |= done.told;
                    settled.replayed.extend(done.replayed);
                    settled.resolved.extend(done.resolved);
                }
                Part::Later => {}
                Part::Missed(missed) => parts.extend(without(&places, &missed)),
                Part::Resolved(resolved) => {
                    let rows = resolved.iter().filter_map(|place| part[*place].replays);
                    settled.replayed.extend(rows.map(|row| (row, Replayed::ResolvedBefore)));
                    let reviews = resolved.iter().filter_map(|place| part[*place].resolves.as_ref());
                    settled.resolved.extend(reviews.map(|one| (one.review, Resolution::ResolvedBefore)));
                    parts.extend(without(&places, &resolved));
                }
                Part::Unwritable(error) => {
                    if let [culprit] = places.as_slice() {
                        if give_up(&mut items[*culprit], &error) {
                            parts.push(places);
                        }
                    } else {
                        let (first, second) = places.split_at(places.len() / 2);
                        parts.push(second.to_vec());
                        parts.push(first.to_vec());
                    }
                }
            }
        }
        Ok(settled)
    }

    /// Refuses what is not signed as it must be, before anything of its body counts.
    fn judge_signatures(&self, items: &mut [Item]) {
        for item in items {
            if let Some(Err(refusal)) = item.message.as_ref().map(|message| self.signatures.judge(message)) {
                item.asked = Err(refusal);
            }
        }
    }

    /// The batch in one part, or around messages that failed too often. The last is taken first.
    fn parts(&self, items: &[Item]) -> Vec<Vec<usize>> {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
        for (place, item) in items.iter().enumerate() {
            if self.patience.failures(item) >= ISOLATE_AFTER {
                parts.push(vec![place]);
                parts.push(Vec::new());
            } else if let Some(last) = parts.last_mut() {
                last.push(place);
            }
        }
        parts.retain(|part| !part.is_empty());
        parts.reverse();
        parts
    }

    async fn settle_part(
        &self,
        turn: &mut Turn<'_>,
        part: &[&Item],
        stop: &CancellationToken,
    ) -> Result<Part, TurnLost> {
        let (mut due, mut refused) = (BTreeSet::new(), BTreeMap::new());
        let (mut locking, mut races, mut growths, mut pause) = (Locking::Wait, 0, 0, Duration::from_millis(20));
        loop {
            let (policy, reply_prefixes) = (&self.policy, self.reply_prefixes.as_slice());
            let terms = Terms { policy, reply_prefixes, locking, due: &due, refused: &refused };
            let error = match self.attempt(turn, part, &terms).await {
                Ok(Attempt::Done(done)) => return Ok(Part::Done(done)),
                Ok(Attempt::Missed(missed)) => return Ok(Part::Missed(missed)),
                Ok(Attempt::Resolved(resolved)) => return Ok(Part::Resolved(resolved)),
                Ok(Attempt::Refused(before)) => {
                    refused.extend(before);
                    continue;
                }
                Ok(Attempt::Grow(more)) => {
                    growths += 1;
                    due.extend(more);
                    if growths > GROWTHS && matches!(turn, Turn::Shared { .. }) {
                        return Ok(Part::Later);
                    }
                    continue;
                }
                Err(error) => error,
            };
            let fault = error.fault();
            metrics::counter!(names::RETRIES, "cause" => cause(fault)).increment(1);
            match (fault, &*turn) {
                (Fault::Data, _) => return Ok(Part::Unwritable(error)),
                (Fault::Away | Fault::Unfit, Turn::Held(_)) => return Err(TurnLost(error)),
                (Fault::Away | Fault::Unfit, Turn::Shared { .. }) => {
                    say_why_it_waits(fault, &error);
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = stop.cancelled() => return Ok(Part::Later),
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                (Fault::Locked, Turn::Shared { .. }) if locking == Locking::SkipLocked => {
                    return Ok(if part.len() > 1 { Part::Unwritable(error) } else { Part::Later });
                }
                (Fault::Locked, Turn::Shared { .. }) => locking = Locking::SkipLocked,
                (Fault::Locked, Turn::Held(_)) => {
                    if stop.is_cancelled() {
                        return Ok(Part::Later);
                    }
                }
                (Fault::Again, _) => {
                    races += 1;
                    if races >= RACES {
                        match self.after_too_many_races(part, error) {
                            Part::Later if matches!(turn, Turn::Held(_)) && !stop.is_cancelled() => races = 0,
                            ended => return Ok(ended),
                        }
                    }
                    tokio::time::sleep(Duration::from_millis(fastrand::u64(1..=10 * u64::from(races)))).await;
                }
            }
        }
    }

    /// One attempt. A panic in it is a defect of ours; it is taken as a part that cannot be written, so that all others can.
    async fn attempt(&self, turn: &mut Turn<'_>, part: &[&Item], terms: &Terms<'_>) -> Result<Attempt, StoreError> {
        let attempted = AssertUnwindSafe(Self::attempt_on(turn, part, terms)).catch_unwind().await;
        attempted.unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Err(StoreError::Panicked(said.unwrap_or_default()))
        })
    }

    async fn attempt_on(turn: &mut Turn<'_>, part: &[&Item], terms: &Terms<'_>) -> Result<Attempt, StoreError> {
        match turn {
            Turn::Held(connection) => attempt(connection, part, terms, None).await,
            Turn::Shared { pool, turnstile, pass } => {
                let pass = match pass.take() {
                    Some(pass) => pass,
                    None => turnstile.enter().await,
                };
                let mut connection = pool.acquire().await?;
                attempt(&mut connection, part, terms, Some(pass)).await
            }
        }
    }

    /// Counts the failure against each message: those that fail too often are taken apart, and one that fails alone is given up.
    fn after_too_many_races(&self, part: &[&Item], error: StoreError) -> Part {
        tracing::error!(error = %error, messages = part.len(), "a batch lost every race for its rows; it is tried again later");
        let failures = part.iter().map(|item| self.patience.failed(item)).max().unwrap_or(0);
        let bound = if part.len() == 1 { GIVE_UP_AFTER } else { ISOLATE_AFTER };
        if failures >= bound { Part::Unwritable(error) } else { Part::Later }
    }
}

/// The part without what was left out; none where that would be the same part, or nothing.
fn without(places: &[usize], left_out: &HashSet<usize>) -> Option<Vec<usize>> {
    let rest = |(place, item): (usize, &usize)| (!left_out.contains(&place)).then_some(*item);
    let rest: Vec<usize> = places.iter().enumerate().filter_map(rest).collect();
    (rest.len() < places.len() && !rest.is_empty()).then_some(rest)
}

/// Refuses the message that cannot be written. False for what is no message, or was refused already: then nothing more can be done.
fn give_up(item: &mut Item, error: &StoreError) -> bool {
    tracing::error!(
        error = %error,
        subject = item.message.as_ref().map(|message| &*message.subject),
        "this cannot be written"
    );
    let can_be_refused = item.message.is_some() && item.asked.is_ok();
    item.asked = Err(Refusal::new(Reason::Internal, format!("it could not be written: {error}")));
    can_be_refused
}

fn say_why_it_waits(fault: Fault, error: &StoreError) {
    if fault == Fault::Unfit {
        tracing::error!(error = %error, "the database is not what the program needs; the batch waits until that is mended");
    } else {
        tracing::warn!(error = %error, "the database is away; the batch waits for it");
    }
}

fn cause(fault: Fault) -> &'static str {
    match fault {
        Fault::Again => "race",
        Fault::Locked => "locked",
        Fault::Away => "away",
        Fault::Unfit => "unfit",
        Fault::Data => "data",
    }
}
