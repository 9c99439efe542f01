//! What an audit found is set right, where the rows themselves tell how: planned, or applied.
//!
//! Nothing is taken from what the audit saw but where to look. Each chunk is one transaction: the stock rows are locked in the order of their
//! keys, everything is summed again under the locks, and written under the conditions that the engine's own writes have.

use std::collections::BTreeMap;

use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::domain::{
    EntryKind, EventId, Figure, Finding, Movement, MovementKind, Remedy, Repaired, RowFacts, Sku, StockChange,
    StockKey, Warehouse, remedy,
};
use crate::engine::tell_figures;
use crate::store::stock::Wanted;
use crate::store::{Fault, Locking, StoreError, journal, repair, stock};

/// How many rows are set right in one transaction, which holds their locks while the lines and steps of all orders are read once.
const ROWS: usize = 500;
/// How many rows are kept in mind in one run.
const KEPT: usize = 10_000;
/// How often a transaction is tried that meets others' locks or changes.
const TRIES: u32 = 10;

/// What an audit found of stock rows that rows may tell.
#[derive(Debug, Default)]
pub struct Suspects {
    rows: BTreeMap<StockKey, Vec<Figure>>,
    /// How many findings were not kept: for another run.
    pub left_out: u64,
}

/// What there is to do about a figure of a row, or what was done.
#[derive(Debug, Clone)]
pub struct Treated {
    /// Which row.
    pub key: StockKey,
    /// Which figure.
    pub figure: Figure,
    /// What.
    pub remedy: Remedy,
    /// The entry's own name, if it was applied.
    pub event_id: Option<EventId>,
}

impl Suspects {
    /// Keeps a finding in mind, if it is one that rows may tell; at most 10,000 rows. Returns whether it is.
    pub fn add(&mut self, finding: &Finding) -> bool {
        let place = &finding.place;
        let (Some(figure), Some(sku), Some(warehouse)) = (finding.figure, &place.sku, &place.warehouse) else {
            return false;
        };
        let key = StockKey { sku: Sku::stored(sku), warehouse: Warehouse::stored(warehouse) };
        if self.rows.len() >= KEPT && !self.rows.contains_key(&key) {
            self.left_out += 1;
        } else {
            self.rows.entry(key).or_default().push(figure);
        }
        true
    }

    /// Says what there is to do, in the order of keys, and does it where that is wanted. `take` gets what is done once it is committed.
    ///
    /// # Errors
    /// The database's, and what `take` says. What was committed before stays.
    pub async fn treat(
        &self,
        session: &mut PgConnection,
        apply: bool,
        take: &mut (dyn FnMut(&Treated) -> anyhow::Result<()> + Send),
    ) -> Result<(), super::Interrupted> {
        let rows: Vec<_> = self.rows.iter().collect();
        for chunk in rows.chunks(ROWS) {
            for treated in patiently(session, chunk, apply).await? {
                take(&treated).map_err(super::Interrupted::Report)?;
            }
        }
        Ok(())
    }
}

/// A chunk, again from the start where somebody else was faster.
async fn patiently(
    session: &mut PgConnection,
    chunk: &[(&StockKey, &Vec<Figure>)],
    apply: bool,
) -> Result<Vec<Treated>, StoreError> {
    let mut tries = 1;
    loop {
        match attempt(session, chunk, apply).await {
            Err(error) if tries < TRIES && matches!(error.fault(), Fault::Again | Fault::Locked) => tries += 1,
            outcome => return outcome,
        }
    }
}

async fn attempt(
    session: &mut PgConnection,
    chunk: &[(&StockKey, &Vec<Figure>)],
    apply: bool,
) -> Result<Vec<Treated>, StoreError> {
    let keys: Vec<StockKey> = chunk.iter().map(|(key, _)| (*key).clone()).collect();
    let mut transaction = session.begin().await?;
    if !apply {
        let facts = repair::facts(&mut transaction, &keys).await?;
        transaction.rollback().await?;
        return Ok(judge(chunk, &facts, false));
    }
    let wanted = |key: &StockKey| Wanted { sku: key.sku.clone(), warehouse: Some(key.warehouse.clone()) };
    let wanted: Vec<Wanted> = keys.iter().map(wanted).collect();
    let now = stock::lock_many(&mut transaction, &wanted, Locking::Wait).await?.now;
    let facts = repair::facts(&mut transaction, &keys).await?;
    let treated = judge(chunk, &facts, true);
    let done = done(&treated);
    let changes = changes(&facts, &done);
    stock::update_many(&mut transaction, &changes, now).await?;
    journal::insert_movements(&mut transaction, &movements(&done), now).await?;
    repair::insert_many(&mut transaction, &done, now).await?;
    let told: Vec<_> = changes.into_iter().map(|change| (change.key, change.after)).collect();
    if !told.is_empty() {
        tell_figures(&mut transaction, &told, now).await?;
    }
    transaction.commit().await?;
    Ok(treated)
}

fn judge(chunk: &[(&StockKey, &Vec<Figure>)], facts: &[(StockKey, RowFacts)], apply: bool) -> Vec<Treated> {
    let mut all: Vec<Treated> = Vec::new();
    for ((key, figures), (_, facts)) in chunk.iter().zip(facts) {
        for figure in *figures {
            let remedy = remedy(*figure, facts);
            // Both sides of what was told may have found the same row.
            if all.iter().rev().any(|treated| treated.key == **key && treated.remedy == remedy) {
                continue;
            }
            let is_entry = matches!(remedy, Remedy::Enter(_));
            let event_id = (apply && is_entry).then(|| EventId::stored(&format!("repair:{}", Uuid::now_v7())));
            all.push(Treated { key: (*key).clone(), figure: *figure, remedy, event_id });
        }
    }
    all
}

fn done(treated: &[Treated]) -> Vec<Repaired> {
    let done = |treated: &Treated| match (treated.remedy, &treated.event_id) {
        (Remedy::Enter(entry), Some(event_id)) => {
            Some(Repaired { event_id: event_id.clone(), key: treated.key.clone(), entry })
        }
        _ => None,
    };
    treated.iter().filter_map(done).collect()
}

/// One change a row, whatever of it is set right: its figures are told once.
fn changes(facts: &[(StockKey, RowFacts)], done: &[Repaired]) -> Vec<StockChange> {
    let mut changes: BTreeMap<&StockKey, StockChange> = BTreeMap::new();
    let before: BTreeMap<&StockKey, _> = facts.iter().filter_map(|(key, facts)| Some((key, facts.stock?))).collect();
    for Repaired { key, entry, .. } in done {
        let Some(before) = before.get(key).copied() else { continue };
        let unchanged = StockChange { key: key.clone(), before, after: before, cause: None };
        match entry.kind {
            EntryKind::Counted => {}
            EntryKind::Reserved => {
                let after = &mut changes.entry(key).or_insert(unchanged).after;
                after.reserved = entry.after;
                after.version = after.version.max(before.version + 1);
            }
            EntryKind::Retold => {
                let after = &mut changes.entry(key).or_insert(unchanged).after;
                after.version = after.version.max(entry.after);
            }
        }
    }
    changes.into_values().collect()
}

fn movements(done: &[Repaired]) -> Vec<Movement> {
    let counted = |done: &&Repaired| done.entry.kind == EntryKind::Counted;
    let movement = |done: &Repaired| Movement {
        key: done.key.clone(),
        delta: done.entry.after - done.entry.before,
        kind: MovementKind::Counted,
        event_id: Some(done.event_id.clone()),
    };
    done.iter().filter(counted).map(movement).collect()
}
