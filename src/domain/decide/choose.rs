//! Which warehouse serves which line.

use std::collections::BTreeSet;

use super::ledger::{Ledger, Rules, shortage};
use crate::domain::Qty;
use crate::domain::decision::Shortage;
use crate::domain::denial::{DENIED_ROWS, DeniedRow};
use crate::domain::names::{Channel, Sku, Warehouse};
use crate::domain::stock::StockKey;

/// A line that needs a warehouse.
pub(super) struct Wanted<'a> {
    pub sku: &'a Sku,
    pub qty: Qty,
    /// The warehouse the order named: no other will do.
    pub named: Option<&'a Warehouse>,
    /// The warehouse to try first: where the line was held before.
    pub before: Option<&'a Warehouse>,
}

/// What could not be served.
pub(super) struct Short {
    pub shortages: Vec<Shortage>,
    pub rows: Vec<StockKey>,
    /// How those of them stand that the first lines could have come from.
    pub denied: Vec<DeniedRow>,
}

/// One warehouse a line, none split: the named one, else the one it was held in, else the first candidate that serves all the others together,
/// else for each of them the first that serves it whole.
pub(super) fn choose(
    wanted: &[Wanted<'_>],
    channel: &Channel,
    rules: &Rules<'_>,
    ledger: &Ledger,
) -> Result<Vec<Warehouse>, Short> {
    let serves = |line: &Wanted<'_>, warehouse: &Warehouse| ledger.available(line.sku, warehouse) >= line.qty;
    let fixed = |line: &Wanted<'_>| line.named.or(line.before.filter(|before| serves(line, before))).cloned();

    let mut chosen: Vec<Option<Warehouse>> = wanted.iter().map(fixed).collect();
    let free: Vec<&Wanted<'_>> =
        wanted.iter().zip(&chosen).filter(|(_, chosen)| chosen.is_none()).map(|(line, _)| line).collect();
    let candidates = candidates(&free, channel, rules, ledger);
    let for_all = candidates.iter().find(|candidate| free.iter().all(|line| serves(line, candidate)));
    for (line, place) in wanted.iter().zip(&mut chosen) {
        if place.is_none() {
            *place = for_all.or_else(|| candidates.iter().find(|candidate| serves(line, candidate))).cloned();
        }
    }

    let mut short = Short { shortages: Vec::new(), rows: Vec::new(), denied: Vec::new() };
    for (line, place) in wanted.iter().zip(&chosen) {
        if !place.as_ref().is_some_and(|warehouse| serves(line, warehouse)) {
            let tried = || line.named.map_or(candidates.as_slice(), std::slice::from_ref).iter().chain(line.before);
            let best = tried().map(|warehouse| ledger.available(line.sku, warehouse)).max().unwrap_or(0);
            short.shortages.push(shortage(line.sku, line.qty, best));
            let once =
                tried().enumerate().filter(|(place, warehouse)| !tried().take(*place).any(|one| one == *warehouse));
            let denied = once.map(|(_, warehouse)| ledger.denied(line.sku, warehouse, line.qty));
            let room = DENIED_ROWS - short.denied.len();
            short.denied.extend(denied.take(room));
            short
                .rows
                .extend(tried().map(|warehouse| StockKey { sku: line.sku.clone(), warehouse: warehouse.clone() }));
        }
    }
    if short.shortages.is_empty() { Ok(chosen.into_iter().flatten().collect()) } else { Err(short) }
}

/// The channel's warehouses by priority or, for a channel without any, all that have a row of what is wanted, by name.
fn candidates(free: &[&Wanted<'_>], channel: &Channel, rules: &Rules<'_>, ledger: &Ledger) -> Vec<Warehouse> {
    if free.is_empty() {
        return Vec::new();
    }
    match rules.routes.get(channel) {
        Some(route) => route.clone(),
        None => free
            .iter()
            .flat_map(|line| ledger.stock.warehouses_of(line.sku))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .cloned()
            .collect(),
    }
}
