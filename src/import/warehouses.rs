//! From which warehouses a channel is served, and what a marketplace calls them.
//!
//! A later file changes what an earlier one said; rows it does not name stay. What a channel may be shown depends on this map, so the stock
//! rows of every warehouse whose place in it changed are told anew.

use std::collections::{BTreeSet, HashMap};

use sqlx::PgConnection;

use super::rows::Field;
use super::{BadRows, FileFault, Report, Rows};
use crate::domain::{Channel, Qty, Text, Warehouse};
use crate::engine::tell_figures;
use crate::store::warehouse_map::{self, MapRow};
use crate::store::{StoreError, stock};

/// How many stock rows are told anew at once.
const CHUNK: usize = 2_000;
/// The most units that may be kept from a channel.
const MAX_SAFETY_STOCK: Qty = 1_000_000_000;
/// The columns of a file.
pub const COLUMNS: [&str; 5] = ["warehouse", "channel", "external_warehouse_id", "priority", "safety_stock"];

/// Reads a file: `warehouse,channel,external_warehouse_id,priority,safety_stock`. The last three may be empty: no marketplace, 0, the
/// channel's own setting.
///
/// # Errors
/// It has other columns, or is no CSV.
pub fn read(file: &[u8]) -> Result<Rows<MapRow>, FileFault> {
    let parse = |[warehouse, channel, external, priority, safety_stock]: [Field<'_>; 5]| {
        let external = external.given().map(|field| field.name(Text::new)).transpose()?;
        let priority = priority.given().map(|field| field.whole(i32::MIN..=i32::MAX)).transpose()?;
        Ok(MapRow {
            warehouse: warehouse.name(Warehouse::new)?,
            channel: channel.name(Channel::new)?,
            external_warehouse_id: external.map(|id| id.as_str().to_owned()),
            priority: priority.unwrap_or(0),
            safety_stock: safety_stock.given().map(|field| field.whole(0..=MAX_SAFETY_STOCK)).transpose()?,
        })
    };
    let rows = Rows::read(file, COLUMNS, parse)?;
    Ok(rows.once("this warehouse for this channel", |row| (row.warehouse.clone(), row.channel.clone())))
}

/// Judges the rows against the map, changes it, and tells the stock rows of the warehouses concerned anew.
///
/// # Errors
/// The database's own.
pub async fn take(connection: &mut PgConnection, rows: &Rows<MapRow>, bad_rows: BadRows) -> Result<Report, StoreError> {
    let standing = warehouse_map::lock(connection).await?;
    let mut report = Report { bad: rows.bad.clone(), ..Report::default() };
    let good = without_clashes(&standing, &rows.good, &mut report);
    let changed: Vec<&MapRow> = good.into_iter().filter(|row| !standing.contains(row)).collect();
    report.taken = changed.len();
    report.unchanged = rows.good.len() + rows.bad.len() - report.bad.len() - report.taken;
    if report.allows(bad_rows) && !changed.is_empty() {
        warehouse_map::replace_many(connection, &changed).await?;
        retell(connection, &changed.iter().map(|row| &row.warehouse).collect()).await?;
    }
    Ok(report)
}

/// The rows that can stand together, and beside those rows of the map that they do not replace: in a channel, one external id is one
/// warehouse. Where a row falls, what it would have replaced stays, with which another may clash.
fn without_clashes<'a>(standing: &[MapRow], rows: &'a [(usize, MapRow)], report: &mut Report) -> Vec<&'a MapRow> {
    let mut good: Vec<&(usize, MapRow)> = rows.iter().collect();
    loop {
        let replaced: BTreeSet<_> = good.iter().map(|(_, row)| (&row.warehouse, &row.channel)).collect();
        let staying = standing.iter().filter(|row| !replaced.contains(&(&row.warehouse, &row.channel)));
        let mut taken: HashMap<(&Channel, &str), &Warehouse> = staying.filter_map(external).collect();
        let before = good.len();
        good.retain(|(line, row)| {
            let Some((id, warehouse)) = external(row) else { return true };
            let owner = *taken.entry(id).or_insert(warehouse);
            if owner != warehouse {
                report.refuse(*line, format!("external_warehouse_id {:?} of {} is {owner} already", id.1, id.0));
            }
            owner == warehouse
        });
        if good.len() == before {
            return good.into_iter().map(|(_, row)| row).collect();
        }
    }
}

/// What a channel calls a warehouse, and which it is.
fn external(row: &MapRow) -> Option<((&Channel, &str), &Warehouse)> {
    row.external_warehouse_id.as_deref().map(|id| ((&row.channel, id), &row.warehouse))
}

async fn retell(connection: &mut PgConnection, warehouses: &BTreeSet<&Warehouse>) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let keys = stock::keys_after(connection, warehouses, last.as_ref(), CHUNK).await?;
        if keys.is_empty() {
            return Ok(());
        }
        let retold = stock::retell_many(connection, &keys).await?;
        tell_figures(connection, &retold.rows, retold.now).await?;
        last = keys.last().cloned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: &[&str]) -> Rows<MapRow> {
        read(format!("{}\n{}", COLUMNS.join(","), rows.join("\n")).as_bytes()).unwrap()
    }

    fn standing(rows: &[&str]) -> Vec<MapRow> {
        map(rows).good.into_iter().map(|(_, row)| row).collect()
    }

    fn clashes(before: &[&str], rows: &[&str]) -> Vec<(usize, String)> {
        let mut report = Report::default();
        without_clashes(&standing(before), &map(rows).good, &mut report);
        report.bad.into_iter().map(|bad| (bad.line, bad.reason)).collect()
    }

    #[test]
    fn what_is_empty_has_its_meaning() {
        let rows = map(&["main,web,,,", "far,ozon,22142605170000,-1,3"]);
        assert_eq!(rows.bad, []);
        let expected = MapRow {
            warehouse: Warehouse::new("main").unwrap(),
            channel: Channel::new("web").unwrap(),
            external_warehouse_id: None,
            priority: 0,
            safety_stock: None,
        };
        assert_eq!(rows.good[0], (2, expected));
        let (_, far) = &rows.good[1];
        assert_eq!((far.external_warehouse_id.as_deref(), far.priority), (Some("22142605170000"), -1));
        assert_eq!(far.safety_stock, Some(3));
    }

    #[test]
    fn two_warehouses_cannot_have_one_name_in_a_channel() {
        let reason = "external_warehouse_id \"7\" of ozon is a already".to_owned();
        assert_eq!(clashes(&[], &["a,ozon,7,,", "b,ozon,7,,", "b,wb,7,,"]), [(3, reason.clone())]);
        assert_eq!(clashes(&["a,ozon,7,,"], &["b,ozon,7,,"]), [(2, reason)]);
        assert_eq!(clashes(&["a,ozon,7,,"], &["a,ozon,7,5,"]), []);
    }

    #[test]
    fn warehouses_may_trade_their_names() {
        assert_eq!(clashes(&["a,ozon,7,,", "b,ozon,8,,"], &["a,ozon,8,,", "b,ozon,7,,"]), []);
    }

    #[test]
    fn a_row_that_falls_takes_those_with_it_that_counted_on_it() {
        let found = clashes(&["a,ozon,7,,", "c,ozon,9,,"], &["b,ozon,7,,", "a,ozon,9,,"]);
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 2]);
    }
}
