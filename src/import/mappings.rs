//! What channels call SKUs.
//!
//! A later file changes what an earlier one said; rows it does not name stay. A SKU that a channel calls otherwise is shown there under another
//! address, so the stock rows of every SKU whose mapping changed are told anew: the publisher compares the address with the one it told last.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use sqlx::PgConnection;

use super::rows::Field;
use super::{BadRows, FileFault, Report, Rows};
use crate::config::{ChannelKind, ChannelSettings};
use crate::domain::{Channel, Sku, StockKey, Text};
use crate::engine::tell_figures;
use crate::store::item_map::{self, ItemRow};
use crate::store::{StoreError, stock};

/// How many rows are read, written or told anew at once.
const CHUNK: usize = 2_000;
/// The columns of a file.
pub const COLUMNS: [&str; 3] = ["sku", "channel", "external_id"];

/// Reads a file: `sku,channel,external_id`. What a channel of kind `wildberries` calls a SKU must be a chrtId.
///
/// # Errors
/// It has other columns, or is no CSV.
pub fn read(file: &[u8], channels: &BTreeMap<String, ChannelSettings>) -> Result<Rows<ItemRow>, FileFault> {
    let parse = |[sku, channel, external_id]: [Field<'_>; 3]| {
        let (sku, channel) = (sku.name(Sku::new)?, channel.name(Channel::new)?);
        let kind = channels.get(channel.as_str()).map(|settings| settings.kind);
        if kind == Some(ChannelKind::Wildberries) {
            external_id.read("a chrtId, a whole number above 0 without leading zeros", chrt_id)?;
        }
        let external_id = external_id.name(Text::new)?.as_str().to_owned();
        Ok(ItemRow { sku, channel, external_id })
    };
    let rows = Rows::read(file, COLUMNS, parse)?;
    Ok(rows.once("this sku for this channel", |row| (row.sku.clone(), row.channel.clone())))
}

/// A chrtId in the one way in which it is written: it is compared as a text.
fn chrt_id(text: &str) -> Option<u64> {
    text.parse().ok().filter(|id: &u64| *id > 0 && id.to_string() == text)
}

/// Judges the rows against the map, changes it, and tells the stock rows of the SKUs concerned anew.
///
/// # Errors
/// The database's own.
pub async fn take(
    connection: &mut PgConnection,
    rows: &Rows<ItemRow>,
    bad_rows: BadRows,
) -> Result<Report, StoreError> {
    item_map::lock(connection).await?;
    let mut standing = HashSet::new();
    for chunk in rows.good.chunks(CHUNK) {
        let chunk: Vec<&ItemRow> = chunk.iter().map(|(_, row)| row).collect();
        standing.extend(item_map::touched_many(connection, &chunk).await?);
    }
    let mut report = Report { bad: rows.bad.clone(), ..Report::default() };
    let good = without_clashes(&standing, &rows.good, &mut report);
    let changed: Vec<&ItemRow> = good.into_iter().filter(|row| !standing.contains(*row)).collect();
    report.taken = changed.len();
    report.unchanged = rows.good.len() + rows.bad.len() - report.bad.len() - report.taken;
    if report.allows(bad_rows) {
        replace(connection, &changed).await?;
        retell(connection, &changed.iter().map(|row| &row.sku).collect()).await?;
    }
    Ok(report)
}

/// The rows that can stand together, and beside those rows of the map that they do not replace: in a channel, one external id is one SKU.
/// Where a row falls, what it would have replaced stays, with which another may clash.
fn without_clashes<'a>(
    standing: &HashSet<ItemRow>,
    rows: &'a [(usize, ItemRow)],
    report: &mut Report,
) -> Vec<&'a ItemRow> {
    let mut good: Vec<&(usize, ItemRow)> = rows.iter().collect();
    loop {
        let replaced: HashSet<_> = good.iter().map(|(_, row)| (&row.sku, &row.channel)).collect();
        let staying = standing.iter().filter(|row| !replaced.contains(&(&row.sku, &row.channel)));
        let mut taken: HashMap<(&Channel, &str), &Sku> = staying.map(external).collect();
        let before = good.len();
        good.retain(|(line, row)| {
            let (id, sku) = external(row);
            let owner = *taken.entry(id).or_insert(sku);
            if owner != sku {
                report.refuse(*line, format!("external_id {:?} of {} is {owner} already", id.1, id.0));
            }
            owner == sku
        });
        if good.len() == before {
            return good.into_iter().map(|(_, row)| row).collect();
        }
    }
}

/// What a channel calls a SKU, and which it is.
fn external(row: &ItemRow) -> ((&Channel, &str), &Sku) {
    ((&row.channel, &row.external_id), &row.sku)
}

/// All that is replaced goes before the first row comes: any two of them may trade their ids.
async fn replace(connection: &mut PgConnection, rows: &[&ItemRow]) -> Result<(), StoreError> {
    for chunk in rows.chunks(CHUNK) {
        item_map::clear_many(connection, chunk).await?;
    }
    for chunk in rows.chunks(CHUNK) {
        item_map::insert_many(connection, chunk).await?;
    }
    Ok(())
}

/// All rows of the SKUs, also where the channel does not sell from: whoever changes the map of warehouses at the same time does not see this one.
async fn retell(connection: &mut PgConnection, skus: &BTreeSet<&Sku>) -> Result<(), StoreError> {
    let skus: Vec<&Sku> = skus.iter().copied().collect();
    for chunk in skus.chunks(CHUNK) {
        let keys: Vec<StockKey> = item_map::stock_of(connection, chunk).await?;
        for keys in keys.chunks(CHUNK) {
            let retold = stock::retell_many(connection, keys).await?;
            tell_figures(connection, &retold.rows, retold.now).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: &[&str]) -> Rows<ItemRow> {
        let channels = BTreeMap::from([("wb".to_owned(), ChannelSettings::of(ChannelKind::Wildberries))]);
        read(format!("{}\n{}", COLUMNS.join(","), rows.join("\n")).as_bytes(), &channels).unwrap()
    }

    fn clashes(before: &[&str], rows: &[&str]) -> Vec<(usize, String)> {
        let standing = map(before).good.into_iter().map(|(_, row)| row).collect();
        let mut report = Report::default();
        without_clashes(&standing, &map(rows).good, &mut report);
        report.bad.into_iter().map(|bad| (bad.line, bad.reason)).collect()
    }

    #[test]
    fn an_id_of_wildberries_is_a_whole_number_written_in_one_way() {
        let ids = ["12345678", "18446744073709551615", "0", "012", "+1", "1.0", "abc", "18446744073709551616", ""];
        let rows: Vec<String> = ids.iter().enumerate().map(|(at, id)| format!("S{at},wb,{id}")).collect();
        let rows = map(&rows.iter().map(String::as_str).collect::<Vec<_>>());
        let good: Vec<_> = rows.good.iter().map(|(_, row)| row.external_id.as_str()).collect();
        assert_eq!(good, ["12345678", "18446744073709551615"]);
        let reason = "external_id must be a chrtId, a whole number above 0 without leading zeros, not \"0\"";
        assert_eq!((rows.bad[0].line, rows.bad[0].reason.as_str()), (4, reason));
        assert_eq!(rows.bad.len(), 7);
        // Elsewhere it is what it is.
        assert_eq!(map(&["A,ozon,012"]).good.len(), 1);
    }

    #[test]
    fn two_skus_cannot_have_one_name_in_a_channel() {
        let reason = "external_id \"7\" of ozon is A already".to_owned();
        assert_eq!(clashes(&[], &["A,ozon,7", "B,ozon,7", "B,web,7"]), [(3, reason.clone())]);
        assert_eq!(clashes(&["A,ozon,7"], &["B,ozon,7"]), [(2, reason)]);
        assert_eq!(clashes(&["A,ozon,7"], &["A,ozon,7"]), []);
    }

    #[test]
    fn skus_may_trade_their_names_and_a_row_that_falls_takes_those_with_it_that_counted_on_it() {
        assert_eq!(clashes(&["A,ozon,7", "B,ozon,8"], &["A,ozon,8", "B,ozon,7"]), []);
        let found = clashes(&["A,ozon,7", "C,ozon,9"], &["B,ozon,7", "A,ozon,9"]);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 2]);
    }
}
