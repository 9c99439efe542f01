//! Dead letters, decided once more.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

use super::batch::{Item, Replayed, Settled};
use super::settle::{Engine, Turn};
use super::turnstile::Turnstile;
use crate::store::{Pool, StoreError, dead_letters};

/// At most so many share one transaction.
pub const TOGETHER: usize = 100;

/// What became of a row that was to be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It was decided.
    Replayed(Replayed),
    /// There is no such row.
    NotFound,
    /// Nothing was done: somebody else has what it needs, or the database is away. It is as open as it was.
    Undecided,
}

/// Decides dead letters afresh, in order of their rows, at most [`TOGETHER`] of them in one transaction that also marks them. What cannot be
/// decided among the others is tried once more alone. Row locks only: stock messages among them do not wait for their turn. Direct replies are
/// not sent: whoever asked for one has long been told that it was refused.
///
/// `rows` are sorted. At `stop`, what would have to wait is left undecided.
///
/// # Errors
/// Rows that cannot be read.
pub async fn replay(
    engine: &Engine,
    pool: &Pool,
    rows: &[i64],
    stop: &CancellationToken,
) -> Result<Vec<(i64, Fate)>, StoreError> {
    let mut fates = Vec::with_capacity(rows.len());
    for together in rows.chunks(TOGETHER) {
        let items = load(pool, together).await?;
        let mut decided = decide(engine, pool, items.values().cloned().collect(), stop).await;
        for (row, item) in &items {
            if items.len() > 1 && !decided.contains_key(row) && !stop.is_cancelled() {
                decided.extend(decide(engine, pool, vec![item.clone()], stop).await);
            }
        }
        fates.extend(together.iter().map(|row| {
            let fate = match decided.remove(row) {
                Some(replayed) => Fate::Replayed(replayed),
                None if items.contains_key(row) => Fate::Undecided,
                None => Fate::NotFound,
            };
            (*row, fate)
        }));
    }
    Ok(fates)
}

async fn load(pool: &Pool, rows: &[i64]) -> Result<BTreeMap<i64, Item>, StoreError> {
    let letters = dead_letters::load_many(&mut *pool.acquire().await?, rows).await?;
    Ok(letters.into_iter().map(|letter| (letter.id, Item::of_dead_letter(letter.id, letter.message.into()))).collect())
}

async fn decide(engine: &Engine, pool: &Pool, items: Vec<Item>, stop: &CancellationToken) -> BTreeMap<i64, Replayed> {
    let mut turn = Turn::Shared { pool, turnstile: &Turnstile::default(), pass: None };
    // A shared turn cannot be lost.
    let settled = engine.settle(&mut turn, items, stop).await.unwrap_or_else(|_| Settled::default());
    settled.replayed.into_iter().collect()
}
