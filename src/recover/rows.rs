//! Stock rows of which more was told than the base knows.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

use super::{NAMED, RowName, Rows, begin};
use crate::audit::{Broker, Latest};
use crate::domain::StockKey;
use crate::engine::tell_figures;
use crate::relay::stock_keys;
use crate::store::broker::Mark;
use crate::store::outbox::{self, Lane, Row};
use crate::store::stock;

/// How many stored tellings are laid aside at once.
const ROWS: i64 = 16;
/// What is laid aside was not told: nothing new is known of the stream.
const NOTHING_ACKNOWLEDGED: Mark = Mark { last_seq: 0, epoch: 0 };

/// Raises and retells every row that was told under the base's version or above. What the base still had to tell of figures is laid aside: it is
/// older than what was told since, and its rows are told again instead.
pub(super) async fn retell(session: &mut PgConnection, broker: &Broker, dry_run: bool) -> anyhow::Result<Rows> {
    let mut rows = Rows::default();
    let untold_to = outbox::last_unsent(session, Lane::Stock).await?;
    let mut latest = Latest::open(broker).await?;
    loop {
        let window: BTreeMap<StockKey, i64> =
            latest.next().await?.into_iter().map(|(key, shown)| (key, shown.version)).collect();
        if window.is_empty() {
            break;
        }
        raise(session, window, dry_run, &mut rows).await?;
    }
    if let Some(to) = untold_to {
        lay_aside(session, to, dry_run, &mut rows).await?;
    }
    Ok(rows)
}

async fn raise(
    session: &mut PgConnection,
    told: BTreeMap<StockKey, i64>,
    dry_run: bool,
    rows: &mut Rows,
) -> anyhow::Result<()> {
    let keys: Vec<StockKey> = told.keys().cloned().collect();
    let versions = stock::versions(session, &keys).await?;
    let unknown: Vec<StockKey> = keys.iter().filter(|key| !versions.contains_key(key)).cloned().collect();
    let behind: Vec<(StockKey, i64)> =
        told.into_iter().filter(|(key, told)| versions.get(key).is_none_or(|version| version <= told)).collect();
    rows.raised += (behind.len() - unknown.len()) as u64;
    rows.unknown += unknown.len() as u64;
    let room = NAMED - rows.unknown_named.len();
    let name = |key: &StockKey| RowName { sku: key.sku.to_string(), warehouse: key.warehouse.to_string() };
    rows.unknown_named.extend(unknown.iter().take(room).map(name));
    if dry_run || behind.is_empty() {
        return Ok(());
    }
    let mut transaction = begin(session).await?;
    stock::make_many(&mut transaction, &unknown).await?;
    let raised = stock::raise_many(&mut transaction, &behind).await?;
    tell_figures(&mut transaction, &raised.rows, raised.now).await?;
    Ok(transaction.commit().await?)
}

async fn lay_aside(session: &mut PgConnection, to: i64, dry_run: bool, rows: &mut Rows) -> anyhow::Result<()> {
    if dry_run {
        rows.laid_aside = outbox::backlog(session, Lane::Stock).await?.rows.unsigned_abs();
        return Ok(());
    }
    loop {
        let mut old = outbox::unsent(session, Lane::Stock, 0, ROWS).await?;
        old.retain(|row| row.id <= to);
        if old.is_empty() {
            return Ok(());
        }
        let parcels = old.iter().map(Row::parcel).collect::<Result<Vec<_>, _>>()?;
        let keys: BTreeSet<StockKey> = parcels.iter().flat_map(stock_keys).collect();
        let (keys, ids): (Vec<StockKey>, Vec<i64>) =
            (keys.into_iter().collect(), old.iter().map(|row| row.id).collect());
        let mut transaction = begin(session).await?;
        let again = stock::retell_many(&mut transaction, &keys).await?;
        tell_figures(&mut transaction, &again.rows, again.now).await?;
        outbox::mark_sent(&mut transaction, &ids, (Lane::Stock.stream(), NOTHING_ACKNOWLEDGED)).await?;
        transaction.commit().await?;
        rows.laid_aside += ids.len() as u64;
    }
}
