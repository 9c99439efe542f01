//! What a receiver is told.

use serde::Serialize;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::publish::Item;

#[derive(Serialize)]
struct Event<'a> {
    r#type: &'static str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    channel: &'a str,
    items: Vec<Told<'a>>,
}

#[derive(Serialize)]
struct Told<'a> {
    sku: &'a str,
    external_id: &'a str,
    warehouse: &'a str,
    external_warehouse_id: &'a str,
    qty: i64,
    version: i64,
}

fn told(item: &Item) -> Told<'_> {
    Told {
        sku: item.sku.as_str(),
        external_id: &item.external_id,
        warehouse: item.warehouse.as_str(),
        external_warehouse_id: &item.external_warehouse_id,
        qty: item.qty,
        version: item.version,
    }
}

/// The body.
///
/// # Errors
/// Never, of such items and a time of these millennia.
pub(super) fn write(channel: &str, items: &[Item], now: OffsetDateTime) -> anyhow::Result<Vec<u8>> {
    let data = Data { channel, items: items.iter().map(told).collect() };
    Ok(serde_json::to_vec(&Event { r#type: "stock.push", timestamp: now.format(&Rfc3339)?, data })?)
}

/// The id of a batch: of what it says, in whatever order, and of nothing else. What is said anew for another figure or version,
/// or because something else is shown, is another batch.
pub(super) fn id(channel: &str, items: &[Item]) -> String {
    let mut lines: Vec<String> = items.iter().map(line).collect();
    lines.sort_unstable();
    let mut digest = Sha256::new_with_prefix(channel);
    for line in lines {
        digest.update([0]);
        digest.update(line);
    }
    let mut half = [0; 16];
    half.copy_from_slice(&digest.finalize()[..16]);
    format!("stock_{:032x}", u128::from_be_bytes(half))
}

/// Control characters stand in none of the names, so that no two items share a line.
fn line(item: &Item) -> String {
    let Item { sku, warehouse, external_id, external_warehouse_id, qty, version, repeats } = item;
    let (sku, warehouse) = (sku.as_str(), warehouse.as_str());
    let [qty, version, repeats] = [*qty, *version, *repeats].map(|number| number.to_string());
    [sku, warehouse, external_id, external_warehouse_id, &qty, &version, &repeats].join("\n")
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::domain::{Sku, Warehouse};

    fn item(sku: &str, qty: i64, version: i64) -> Item {
        Item {
            sku: Sku::new(sku).expect("a SKU"),
            warehouse: Warehouse::new("main").expect("a warehouse"),
            external_id: format!("x-{sku}"),
            external_warehouse_id: "w1".into(),
            qty,
            version,
            repeats: 0,
        }
    }

    #[test]
    fn the_body_is_what_the_contract_says() {
        let body = write("shop", &[item("A \"1\"", 5, 7)], datetime!(2026-12-01 10:00 UTC)).expect("a body");
        assert_eq!(
            String::from_utf8(body).expect("UTF-8"),
            concat!(
                r#"{"type":"stock.push","timestamp":"2026-12-01T10:00:00Z","data":{"channel":"shop","items":["#,
                r#"{"sku":"A \"1\"","external_id":"x-A \"1\"","warehouse":"main","external_warehouse_id":"w1","qty":5,"version":7}]}}"#
            )
        );
    }

    #[test]
    fn the_id_is_of_the_batch_and_of_nothing_else() {
        let of = |items: &[Item]| id("shop", items);
        let (a, b) = (item("A", 5, 7), item("B", 0, 3));
        assert_eq!(of(&[a.clone(), b.clone()]), of(&[b.clone(), a.clone()]));
        let again = Item { repeats: 1, ..a.clone() };
        for other in [
            vec![a.clone()],
            vec![item("A", 5, 8), b.clone()],
            vec![item("A", 4, 7), b.clone()],
            vec![again, b.clone()],
        ] {
            assert_ne!(of(&[a.clone(), b.clone()]), of(&other));
        }
        assert_ne!(of(std::slice::from_ref(&a)), id("other", &[a]));
    }
}
