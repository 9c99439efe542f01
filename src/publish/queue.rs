//! Figures become what channels should show: each point's newest, queued.

use std::collections::HashMap;

use sqlx::{Connection, PgConnection};

use crate::domain::{News, Point, PointKey, PushState, StockKey};
use crate::store::points::{self, Figures, Publishing};
use crate::store::pushes::{self, Queued};
use crate::store::{StoreError, clock};

/// Queues figures, in one transaction. Of several versions of a row the newest stands for all. Returns of how many points there was something newer.
///
/// # Errors
/// The database's own.
pub async fn queue(
    connection: &mut PgConnection,
    figures: &[Figures],
    publishing: &[Publishing],
) -> Result<usize, StoreError> {
    let mut transaction = connection.begin().await?;
    let wanted = points::wanted(&mut transaction, &newest(figures), publishing).await?;
    if wanted.is_empty() {
        transaction.rollback().await?;
        return Ok(0);
    }
    let keys: Vec<&PointKey> = wanted.iter().map(|(key, _)| key).collect();
    points::make_many(&mut transaction, &keys).await?;
    let mut locked = points::lock_many(&mut transaction, &keys).await?;
    let now = clock::now(&mut transaction).await?;

    let news: HashMap<&PointKey, &News> = wanted.iter().map(|(key, news)| (key, news)).collect();
    let mut queued = Vec::with_capacity(locked.len());
    let mut newer: Vec<&Point> = Vec::with_capacity(locked.len());
    for point in &mut locked {
        let Some(news) = news.get(&point.key) else { continue };
        let is_newer = news.version > point.newest_version;
        let state = point.queue(news, now);
        let error = point.parked.clone().filter(|_| state == PushState::NeedsReview);
        let (key, version, desired_qty) = (point.key.clone(), news.version, news.desired_qty);
        queued.push(Queued { key, version, desired_qty, state, error });
        if is_newer {
            newer.push(point);
        }
    }
    points::write_many(&mut transaction, &newer).await?;
    pushes::queue_many(&mut transaction, &queued, now).await?;
    let moved: Vec<&PointKey> = newer.iter().filter(|point| point.has_moved()).map(|point| &point.key).collect();
    pushes::forget_confirmed(&mut transaction, &moved).await?;
    let count = newer.len();
    transaction.commit().await?;
    Ok(count)
}

/// Each row's newest figures.
fn newest(figures: &[Figures]) -> Vec<Figures> {
    let mut newest: HashMap<&StockKey, &Figures> = HashMap::with_capacity(figures.len());
    for told in figures {
        let standing = newest.entry(&told.key).or_insert(told);
        if told.version > standing.version {
            *standing = told;
        }
    }
    newest.into_values().cloned().collect()
}
