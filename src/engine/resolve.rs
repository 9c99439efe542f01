//! Reviews, resolved: what is kept with one is decided once more, and what is not is only marked.

use sqlx::{Connection, PgConnection};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::batch::{Item, Resolution};
use super::settle::{Engine, Turn};
use super::tell::tell_resolved;
use super::turnstile::Turnstile;
use crate::domain::{Channel, PointKey, PushState, ReviewKind, Sku, Warehouse};
use crate::messages;
use crate::store::review_answers::{self, Answer, StoredReview};
use crate::store::{Pool, StoreError, clock, points, pushes};

/// What became of a review that was to be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// There was nothing to decide: it is marked.
    Marked,
    /// Its message was decided, or was not, or somebody had resolved it before.
    Decided(Resolution),
    /// There is no such review.
    NotFound,
    /// Nothing was done: somebody else has what it needs, or the database is away. It is as open as it was.
    Undecided,
}

/// What somebody says to a review whose message is decided once more.
#[derive(Debug, Clone)]
pub struct Resolving {
    /// The review's row.
    pub review: i64,
    /// The row of its message among those that wait.
    pub waiting: i64,
    /// Who.
    pub by: String,
    /// What.
    pub note: String,
}

/// Resolves a review. A message that is kept with it is decided in the transaction that marks the review, under row locks only: it does not
/// wait for its stream's turn. Where it does not fit yet, both stay as they are. At `stop`, what would have to wait is left undecided.
///
/// # Errors
/// The database's own; a kept message that is not there any more although its review is open.
pub async fn resolve(
    engine: &Engine,
    pool: &Pool,
    answer: &Answer<'_>,
    stop: &CancellationToken,
) -> Result<Resolved, StoreError> {
    let mut connection = pool.acquire().await?;
    let Some(review) = review_answers::load(&mut connection, answer.review).await? else {
        return Ok(Resolved::NotFound);
    };
    if review.resolved_at.is_some() {
        return Ok(Resolved::Decided(Resolution::ResolvedBefore));
    }
    let Some(kept) = review_answers::kept(&mut connection, answer.review).await? else {
        return mark(&mut connection, answer, &review).await;
    };
    drop(connection);
    let resolving =
        Resolving { review: answer.review, waiting: kept.id, by: answer.by.to_owned(), note: answer.note.to_owned() };
    let item = Item::of_review(resolving, kept.message.into());
    let mut turn = Turn::Shared { pool, turnstile: &Turnstile::default(), pass: None };
    // A shared turn cannot be lost.
    let settled = engine.settle(&mut turn, vec![item], stop).await.unwrap_or_default();
    Ok(settled.resolved.into_iter().next().map_or(Resolved::Undecided, |(_, resolution)| Resolved::Decided(resolution)))
}

/// Marks a review with which nothing is kept. What waited for the answer goes on: a point is told again.
async fn mark(
    connection: &mut PgConnection,
    answer: &Answer<'_>,
    review: &StoredReview,
) -> Result<Resolved, StoreError> {
    let mut transaction = connection.begin().await?;
    // Points are locked before reviews, as by those who ask about them.
    let point: Vec<PointKey> = parked_by(review).into_iter().collect();
    let mut parked = points::lock_many(&mut transaction, &point.iter().collect::<Vec<_>>()).await?;
    parked.retain(|point| point.parked.is_some());
    let open = review_answers::lock_open(&mut transaction, &[answer.review]).await?;
    if open.is_empty() {
        transaction.rollback().await?;
        return Ok(Resolved::Decided(Resolution::ResolvedBefore));
    }
    let at = clock::now(&mut transaction).await?;
    let resolved = review_answers::resolve_many(&mut transaction, std::slice::from_ref(answer), at).await?;
    tell_resolved(&mut transaction, &resolved, at).await?;
    for point in &mut parked {
        point.unpark(at);
    }
    points::write_many(&mut transaction, &parked.iter().collect::<Vec<_>>()).await?;
    let pending: Vec<_> =
        parked.iter().map(|point| (&point.key, point.newest_version, PushState::Pending, None)).collect();
    pushes::mark_many(&mut transaction, &pending).await?;
    transaction.commit().await?;
    Ok(Resolved::Marked)
}

/// The point that is not told until this review is resolved.
fn parked_by(review: &StoredReview) -> Option<PointKey> {
    let kinds = [ReviewKind::PushRejected, ReviewKind::PushUnapplied];
    if !kinds.iter().any(|kind| kind.word() == review.kind) {
        return None;
    }
    let name = |field: &str| review.subject.get(field)?.as_str();
    Some(PointKey {
        sku: Sku::new(name("sku")?).ok()?,
        channel: Channel::new(name("channel")?).ok()?,
        warehouse: Warehouse::new(name("warehouse")?).ok()?,
    })
}

/// What is told of reviews that were resolved.
pub(super) fn told(resolved: &[StoredReview]) -> impl Iterator<Item = messages::Told> + '_ {
    resolved.iter().filter_map(|review| {
        let answered = messages::Answered {
            review_id: review.id,
            kind: &review.kind,
            subject: &review.subject,
            detail: &review.detail,
            resolved_by: review.resolved_by.as_deref()?,
            note: review.note.as_deref()?,
        };
        Some(messages::review_resolved(&answered, Uuid::now_v7(), review.resolved_at?))
    })
}
