//! The whole transaction, once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use sqlx::{Connection, PgConnection};

use super::apply::{Applied, apply};
use super::batch::{Item, Replayed, Reply, Resolution, Verdict};
use super::claim::claim;
use super::gather::gather;
use super::resolve::Resolving;
use super::turnstile::Pass;
use crate::crash_point;
use crate::domain::{
    Batch, Command, Decision, Kind, Order, OrderKey, OrderState, Outcome, Policy, Refusal, Resource, Snapshot,
    StockKey, Timestamp, decide,
};
use crate::messages::{self, Inbound, Message};
use crate::store::{Locking, StoreError, dead_letters, due, review_answers, waiting};

/// At most so many overdue orders join a batch at once.
const DUE_AT_ONCE: i64 = 5_000;

/// How an attempt ended that the database did not fail.
pub(super) enum Attempt {
    /// Committed.
    Done(Done),
    /// Somebody would be refused while these orders' holds have ended: nothing was written, they belong in the batch.
    Grow(Vec<OrderKey>),
    /// Nothing was written: these items, by place, were refused when they were delivered before, and stay refused.
    Refused(BTreeMap<usize, Refusal>),
    /// Nothing was written: these items, by place, touch what somebody else has locked.
    Missed(HashSet<usize>),
    /// Nothing was written: these items, by place, are dead letters or reviews that are no longer open.
    Resolved(HashSet<usize>),
}

/// A committed batch.
pub(super) struct Done {
    pub verdicts: Vec<Verdict>,
    pub replies: Vec<Reply>,
    pub told: bool,
    pub replayed: Vec<(i64, Replayed)>,
    pub resolved: Vec<(i64, Resolution)>,
}

/// What an attempt goes by.
pub(super) struct Terms<'a> {
    pub policy: &'a Policy,
    pub reply_prefixes: &'a [String],
    pub locking: Locking,
    /// Overdue orders that join the batch.
    pub due: &'a BTreeSet<OrderKey>,
    /// Items, by place, that were refused before.
    pub refused: &'a BTreeMap<usize, Refusal>,
}

/// Claims, locks, decides, writes, commits. The `pass` is given up when all locks are taken.
pub(super) async fn attempt(
    connection: &mut PgConnection,
    items: &[&Item],
    terms: &Terms<'_>,
    pass: Option<Pass>,
) -> Result<Attempt, StoreError> {
    let mut transaction = connection.begin().await?;
    let mut work = Work::of(items, terms.refused, terms.due);

    // Before anything else: of two who replay one dead letter, the later finds it resolved.
    let mut resolved = work.no_longer_open(&dead_letters::lock_open(&mut transaction, &work.dead_letters()).await?);
    resolved.extend(work.no_longer_asked(&review_answers::lock_open(&mut transaction, &work.reviews()).await?));
    if !resolved.is_empty() {
        transaction.rollback().await?;
        return Ok(Attempt::Resolved(resolved));
    }
    let claims = claim(&mut transaction, &work.commands, terms.policy.hold, terms.locking).await?;
    if !claims.missed.is_empty() {
        transaction.rollback().await?;
        return Ok(Attempt::Missed(work.items_naming(&claims.missed)));
    }
    // After the claims: whoever else had one of these messages has committed by now.
    let refused = dead_letters::refused_before(&mut transaction, &work.messages_asking()).await?;
    if !refused.is_empty() {
        transaction.rollback().await?;
        return Ok(Attempt::Refused(refused));
    }
    let arriving = work.arriving(&claims.orders);
    work.wake(waiting::load_many(&mut transaction, &arriving).await?);

    let gathered = gather(&mut transaction, work.batch(), claims, terms.locking).await?;
    drop(pass);
    if !gathered.missed.is_empty() || !gathered.missed_resources.is_empty() {
        transaction.rollback().await?;
        let mut missed = work.items_touching(&gathered.missed, &gathered.snapshot);
        missed.extend(work.items_with_slots_of(&gathered.missed_resources, &gathered.snapshot));
        return Ok(Attempt::Missed(missed));
    }
    let now = gathered.snapshot.now;
    let decision = decide(work.batch(), gathered.snapshot, terms.policy);

    if !decision.short.is_empty() || !decision.overdue.is_empty() {
        // Those that joined before still stand there as due: they must not fill the limit.
        let named = work.orders_named();
        let limit = DUE_AT_ONCE + i64::try_from(named.len()).unwrap_or(i64::MAX - DUE_AT_ONCE);
        let mut due = due::on_rows(&mut transaction, &decision.short, now, limit).await?;
        due.extend(decision.overdue.iter().cloned());
        due.retain(|order| !named.contains(order));
        if !due.is_empty() {
            transaction.rollback().await?;
            return Ok(Attempt::Grow(due));
        }
    }

    let origins = work.origins();
    let applied = apply(&mut transaction, &work, &origins, &decision, now).await?;
    crash_point("engine::before_commit");
    transaction.commit().await?;
    crash_point("engine::after_commit");

    let Applied { telling, told } = applied;
    let mut replies = telling.replies(&work, &origins, &decision, terms.reply_prefixes);
    replies.extend(work.replies_to_refused(terms.reply_prefixes));
    let (replayed, resolved) = (work.replayed(&decision), work.resolved(&decision));
    Ok(Attempt::Done(Done { verdicts: work.verdicts(&decision), replies, told, replayed, resolved }))
}

/// A batch taken apart: commands, where each came from, and what was refused before.
pub(super) struct Work<'a> {
    items: &'a [&'a Item],
    /// Items, by place, that were refused before.
    refused: &'a BTreeMap<usize, Refusal>,
    /// Items, by place, whose message an earlier item, by its place, is too: it was delivered again before it was decided. A message is decided once,
    /// or it could be refused first and taken then.
    repeated: HashMap<usize, usize>,
    /// Commands of messages and timers, then those of overdue orders that joined.
    pub commands: Vec<Command>,
    /// For each command its place among the items; none for one that joined.
    places: Vec<Option<usize>>,
    /// Commands that waited, with the ids of their rows and their messages.
    pub woken: Vec<Command>,
    pub woken_rows: Vec<(i64, Message)>,
    /// Waiting messages that cannot be understood any more.
    pub unreadable: Vec<(i64, Message, Refusal)>,
}

impl<'a> Work<'a> {
    fn of(items: &'a [&'a Item], refused: &'a BTreeMap<usize, Refusal>, due: &BTreeSet<OrderKey>) -> Self {
        let repeated = repeated(items);
        let kept = || items.iter().enumerate().filter(|(_, item)| item.resolves.is_some());
        let asks = |place: &usize| {
            !refused.contains_key(place) && !repeated.contains_key(place) && items[*place].resolves.is_none()
        };
        let understood = items.iter().enumerate().filter(|(place, _)| asks(place));
        let understood = understood.filter_map(|(place, item)| Some((item.asked.as_ref().ok()?.clone(), place)));
        let (mut commands, places): (Vec<_>, Vec<_>) = understood.unzip();
        let mut places: Vec<_> = places.into_iter().map(Some).collect();
        for order in due {
            commands.push(Command { event: None, kind: Kind::Expire(order.clone()) });
            places.push(None);
        }
        let (mut woken, mut woken_rows, unreadable) = (Vec::new(), Vec::new(), Vec::new());
        for (place, item) in kept() {
            if let (Some(resolving), Some(message), Ok(command)) = (&item.resolves, &item.message, &item.asked) {
                // Under the lock of its order, if it is about one, and with whatever else waits for that.
                if let Some(order) = command.kind.order() {
                    commands.push(Command { event: None, kind: Kind::Wake(order.clone()) });
                    places.push(Some(place));
                }
                woken.push(command.clone());
                woken_rows.push((resolving.waiting, message.clone()));
            }
        }
        Self { items, refused, repeated, commands, places, woken, woken_rows, unreadable }
    }

    fn batch(&self) -> Batch<'_> {
        Batch { commands: &self.commands, waiting: &self.woken }
    }

    /// Orders that this batch brings or wakes, and those that are held and that it may confirm, or whose holds it may end: for them something may
    /// therefore stop waiting.
    fn arriving(&self, orders: &HashMap<OrderKey, Order>) -> Vec<OrderKey> {
        let awaited = |order: &OrderKey| {
            orders.get(order).is_some_and(|order| order.stored.state == OrderState::Awaited && !order.born)
        };
        let held = orders.iter().filter(|(_, order)| order.born && order.stored.state == OrderState::Held);
        let named = self.commands.iter().filter_map(|command| match &command.kind {
            Kind::Create(create) => awaited(&create.order).then_some(&create.order),
            Kind::Wake(order) => Some(order),
            _ => None,
        });
        let arriving: BTreeSet<&OrderKey> = named.chain(held.map(|(key, _)| key)).collect();
        arriving.into_iter().cloned().collect()
    }

    fn wake(&mut self, messages: Vec<(i64, Message)>) {
        for (id, message) in messages {
            let inbound =
                Inbound { subject: &message.subject, headers: message.headers.as_ref(), payload: &message.payload };
            match messages::decode(&inbound) {
                Ok(command) => {
                    self.woken.push(command);
                    self.woken_rows.push((id, message));
                }
                Err(refusal) => self.unreadable.push((id, message, refusal)),
            }
        }
        self.leave_to_woken();
    }

    /// What waited and is delivered again in this batch is decided as what waited.
    fn leave_to_woken(&mut self) {
        let waited = self.woken_rows.iter().map(|(_, message)| message);
        let woken: HashSet<Delivered<'_>> =
            waited.chain(self.unreadable.iter().map(|(_, message, _)| message)).map(delivered).collect();
        if woken.is_empty() {
            return;
        }
        let is_woken = |place: &Option<usize>| {
            let item = place.map(|place| self.items[place]).filter(|item| item.resolves.is_none());
            item.and_then(|item| item.message.as_ref()).is_some_and(|message| woken.contains(&delivered(message)))
        };
        let kept: Vec<bool> = self.places.iter().map(|place| !is_woken(place)).collect();
        let (mut commands, mut places) = (kept.iter(), kept.iter());
        self.commands.retain(|_| commands.next().is_none_or(|kept| *kept));
        self.places.retain(|_| places.next().is_none_or(|kept| *kept));
    }

    /// The messages behind the commands, then behind those that waited.
    fn origins(&self) -> Vec<Option<&Message>> {
        let of_items = self.places.iter().map(|place| place.and_then(|place| self.items[place].message.as_ref()));
        of_items.chain(self.woken_rows.iter().map(|(_, message)| Some(message))).collect()
    }

    /// The command of an outcome.
    pub fn command(&self, index: usize) -> &Command {
        self.commands.get(index).unwrap_or_else(|| &self.woken[index - self.commands.len()])
    }

    /// Why an item is refused before anything is decided, if it is.
    fn refusal(&self, place: usize) -> Option<&Refusal> {
        self.refused.get(&place).or(self.items[place].asked.as_ref().err())
    }

    /// The messages that ask something, with their places. A dead letter that is replayed asks anew, whatever it was refused for.
    fn messages_asking(&self) -> Vec<(usize, &Message)> {
        let asking = self.places.iter().flatten().filter(|place| self.items[**place].replays.is_none());
        asking.filter_map(|place| Some((*place, self.items[*place].message.as_ref()?))).collect()
    }

    /// The rows of the dead letters that are replayed, sorted.
    fn dead_letters(&self) -> Vec<i64> {
        let rows: BTreeSet<i64> = self.items.iter().filter_map(|item| item.replays).collect();
        rows.into_iter().collect()
    }

    /// The reviews that are to be resolved, sorted.
    fn reviews(&self) -> Vec<i64> {
        let reviews: BTreeSet<i64> = self.resolving().map(|one| one.review).collect();
        reviews.into_iter().collect()
    }

    fn resolving(&self) -> impl Iterator<Item = &Resolving> {
        self.items.iter().filter_map(|item| item.resolves.as_ref())
    }

    fn no_longer_asked(&self, open: &HashSet<i64>) -> HashSet<usize> {
        let asked =
            self.items.iter().enumerate().filter_map(|(place, item)| Some((place, item.resolves.as_ref()?.review)));
        asked.filter_map(|(place, review)| (!open.contains(&review)).then_some(place)).collect()
    }

    /// What becomes of messages that are kept with reviews.
    pub fn resolved(&self, decision: &Decision) -> Vec<(i64, Resolution)> {
        let mut resolved = Vec::new();
        for one in self.resolving() {
            let Some(woken) = self.woken_rows.iter().position(|(row, _)| *row == one.waiting) else { continue };
            resolved.push((
                one.review,
                match &decision.outcomes[self.commands.len() + woken] {
                    Outcome::UnderReview(place) => Resolution::NoRoom(decision.reviews[*place].detail.clone()),
                    Outcome::Refused(refusal) => Resolution::Refused(refusal.clone()),
                    Outcome::Waiting => Resolution::NoRoom("it waits for its order".to_owned()),
                    _ => Resolution::Applied,
                },
            ));
        }
        resolved
    }

    /// What is said to the reviews that this decision resolves.
    pub fn answers(&self, decision: &Decision) -> Vec<review_answers::Answer<'_>> {
        let resolved = self.resolved(decision);
        let over =
            |review: i64| resolved.iter().any(|(id, became)| *id == review && !matches!(became, Resolution::NoRoom(_)));
        let over = self.resolving().filter(|one| over(one.review));
        over.map(|one| review_answers::Answer { review: one.review, by: &one.by, note: &one.note }).collect()
    }

    fn no_longer_open(&self, open: &HashSet<i64>) -> HashSet<usize> {
        let replays = self.items.iter().enumerate().filter_map(|(place, item)| Some((place, item.replays?)));
        replays.filter_map(|(place, row)| (!open.contains(&row)).then_some(place)).collect()
    }

    /// What becomes of the dead letters that are replayed.
    pub fn replayed(&self, decision: &Decision) -> Vec<(i64, Replayed)> {
        let unread = self.items.iter().enumerate().filter_map(|(place, item)| {
            let refusal = self.refusal(place)?;
            Some((item.replays?, Replayed::Refused(refusal.clone())))
        });
        let decided = self.places.iter().zip(&decision.outcomes).filter_map(|(place, outcome)| {
            let replayed = match outcome {
                Outcome::Refused(refusal) => Replayed::Refused(refusal.clone()),
                Outcome::Waiting | Outcome::UnderReview(_) => Replayed::Waiting,
                Outcome::Answered(_)
                | Outcome::Applied
                | Outcome::Noted(_)
                | Outcome::Redelivered(_)
                | Outcome::Attended => Replayed::Processed,
            };
            Some((self.items[(*place)?].replays?, replayed))
        });
        unread.chain(decided).collect()
    }

    /// Messages that were refused before anything was decided.
    pub fn refused_unread(&self) -> impl Iterator<Item = (&Message, &Refusal)> {
        let firsts = self.items.iter().enumerate().filter(|(place, _)| !self.repeated.contains_key(place));
        let items = firsts.filter_map(|(place, item)| item.message.as_ref().zip(self.refusal(place)));
        items.chain(self.unreadable.iter().map(|(_, message, refusal)| (message, refusal)))
    }

    /// Messages that had waited and were refused in the end.
    pub fn refused_after_waiting<'w>(&'w self, decision: &'w Decision) -> Vec<(&'w Message, &'w Refusal)> {
        let outcomes = decision.outcomes.iter().skip(self.commands.len());
        let decided = outcomes.zip(&self.woken_rows).filter_map(|(outcome, (_, message))| match outcome {
            Outcome::Refused(refusal) => Some((message, refusal)),
            _ => None,
        });
        decided.chain(self.unreadable.iter().map(|(_, message, refusal)| (message, refusal))).collect()
    }

    /// Orders that the batch has locked.
    fn orders_named(&self) -> HashSet<&OrderKey> {
        self.commands.iter().filter_map(|command| command.kind.order()).collect()
    }

    fn items_naming(&self, orders: &HashSet<OrderKey>) -> HashSet<usize> {
        let names = |command: &Command| command.kind.order().is_some_and(|order| orders.contains(order));
        self.items_where(|_, command| names(command))
    }

    fn items_touching(&self, rows: &HashSet<StockKey>, snapshot: &Snapshot) -> HashSet<usize> {
        let skus: HashSet<_> = rows.iter().map(|row| &row.sku).collect();
        self.items_where(|_, command| match &command.kind {
            Kind::Create(create) => create.lines.iter().any(|line| skus.contains(&line.sku)),
            // Before its order came, or of what is not in it, it may have made the row all the same.
            Kind::Return(returned) if returned.lines.iter().any(|line| skus.contains(&line.sku)) => true,
            kind => kind
                .order()
                .and_then(|order| snapshot.orders.get(order))
                .is_some_and(|order| order.lines.iter().any(|line| skus.contains(&line.sku))),
        })
    }

    fn items_with_slots_of(&self, resources: &HashSet<Resource>, snapshot: &Snapshot) -> HashSet<usize> {
        self.items_where(|_, command| {
            let asked = match &command.kind {
                Kind::Create(create) => create.slots.as_slice(),
                _ => &[],
            };
            let order = command.kind.order().and_then(|order| snapshot.orders.get(order));
            let had = order.into_iter().flat_map(|order| &order.slots).map(|hold| &hold.slot);
            asked.iter().chain(had).any(|slot| resources.contains(&slot.resource))
        })
    }

    fn items_where(&self, matches: impl Fn(usize, &Command) -> bool) -> HashSet<usize> {
        let found = self.commands.iter().enumerate().filter(|(index, command)| matches(*index, command));
        found.filter_map(|(index, _)| self.places[index]).collect()
    }

    fn replies_to_refused(&self, prefixes: &[String]) -> Vec<Reply> {
        let reply = |(message, refusal): (&Message, &Refusal)| {
            let to = super::tell::reply_to(message, prefixes)?;
            Some(Reply { to, body: messages::reply_error(refusal).into() })
        };
        self.refused_unread().filter_map(reply).collect()
    }

    fn verdicts(&self, decision: &Decision) -> Vec<Verdict> {
        let unread = |place| if self.refusal(place).is_none() { Verdict::Ack } else { Verdict::Term };
        let mut verdicts: Vec<Verdict> = (0..self.items.len()).map(unread).collect();
        for (place, outcome) in self.places.iter().zip(&decision.outcomes) {
            if let (Some(place), Outcome::Refused(_)) = (place, outcome) {
                verdicts[*place] = Verdict::Term;
            }
        }
        for (place, first) in &self.repeated {
            verdicts[*place] = verdicts[*first];
        }
        verdicts
    }
}

/// What tells one stored message from another: stream, sequence and time, as a sequence may be used again by a stream that lost its end.
type Delivered<'a> = (&'a str, i64, Timestamp);

fn delivered(message: &Message) -> Delivered<'_> {
    (&message.stream, message.sequence, message.received_at)
}

/// Items, by place, whose message an earlier one is too, with the earlier place.
fn repeated(items: &[&Item]) -> HashMap<usize, usize> {
    let messages = || items.iter().enumerate().filter_map(|(place, item)| Some((item.message.as_ref()?, place)));
    // As they stand in the stream, which is the rule: then none stands there twice.
    if messages().is_sorted_by(|(one, _), (next, _)| one.stream == next.stream && one.sequence < next.sequence) {
        return HashMap::new();
    }
    let mut firsts = HashMap::new();
    let found = messages().filter_map(|(message, place)| {
        let first = *firsts.entry(delivered(message)).or_insert(place);
        (first != place).then_some((place, first))
    });
    found.collect()
}
