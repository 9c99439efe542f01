//! What Ozon shows.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answers::{is_id, warehouse_id};
use super::{MAX_READ, Ozon};
use crate::domain::Qty;
use crate::publish::ReadFault;

/// The most rows of a page, and the most pages of one reading: each item may lie in many warehouses.
const PAGE: u32 = 1_000;
const MOST_PAGES: usize = 100;

#[derive(Serialize)]
struct Ask<'a> {
    offer_id: &'a [String],
    limit: u32,
    cursor: &'a str,
}

#[derive(Deserialize)]
pub(super) struct Page {
    products: Vec<Shown>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    has_next: bool,
}

/// A product in a warehouse. `present` counts what is reserved.
#[derive(Deserialize)]
pub(super) struct Shown {
    offer_id: String,
    warehouse_id: Value,
    #[serde(default)]
    present: Value,
    #[serde(default)]
    reserved: Value,
    #[serde(default)]
    free_stock: Value,
}

impl Ozon {
    pub(super) async fn shown(&self, warehouse: &str, offers: &[String]) -> Result<Vec<Option<Qty>>, ReadFault> {
        let warehouse = warehouse_id(warehouse).map_err(ReadFault::Failed)?;
        let mut shown = HashMap::new();
        for offers in offers.chunks(MAX_READ) {
            self.read_pages(warehouse, offers, &mut shown).await?;
        }
        Ok(offers.iter().map(|offer| shown.get(offer).copied()).collect())
    }

    async fn read_pages(
        &self,
        warehouse: i64,
        offers: &[String],
        shown: &mut HashMap<String, Qty>,
    ) -> Result<(), ReadFault> {
        let mut cursor = String::new();
        for _ in 0..MOST_PAGES {
            let ask = Ask { offer_id: offers, limit: PAGE, cursor: &cursor };
            let page: Page = self.read(&self.stocks, "/v2/product/info/stocks-by-warehouse/fbs", &ask).await?;
            take(page.products, warehouse, shown)?;
            match page.cursor.filter(|_| page.has_next) {
                None => return Ok(()),
                Some(next) if next.is_empty() || next == cursor => break,
                Some(next) => cursor = next,
            }
        }
        Err(ReadFault::Failed("the list of stocks does not end".to_owned()))
    }
}

/// Takes what a page says of the warehouse.
///
/// # Errors
/// A figure is no number of units: nothing of such an answer is believed.
pub(super) fn take(rows: Vec<Shown>, warehouse: i64, shown: &mut HashMap<String, Qty>) -> Result<(), ReadFault> {
    for row in rows.into_iter().filter(|row| is_id(&row.warehouse_id, warehouse)) {
        let qty = free(&row)?;
        let offer = row.offer_id;
        if shown.get(&offer).is_some_and(|there| *there != qty) {
            return Err(ReadFault::Failed(format!("{offer:?} is listed with two figures")));
        }
        shown.insert(offer, qty);
    }
    Ok(())
}

/// What is for sale: what was pushed is without the reserved, and so is this.
fn free(row: &Shown) -> Result<Qty, ReadFault> {
    let free = match (&row.free_stock, row.present.as_i64(), row.reserved.as_i64()) {
        (Value::Null, Some(present), Some(reserved)) => present.checked_sub(reserved),
        (free_stock, ..) => free_stock.as_i64(),
    };
    free.filter(|free| *free >= 0).ok_or_else(|| {
        let Shown { offer_id, present, reserved, free_stock, .. } = row;
        ReadFault::Failed(format!(
            "{offer_id:?} is listed with no number of units: free_stock {free_stock}, present {present}, reserved {reserved}"
        ))
    })
}
