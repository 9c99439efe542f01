//! What Wildberries shows.

use std::collections::HashMap;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answers::{chrt_id, warehouse_id};
use super::{MAX_ITEMS, Wildberries};
use crate::domain::Qty;
use crate::publish::ReadFault;

#[derive(Serialize)]
struct Ask<'a> {
    #[serde(rename = "chrtIds")]
    chrt_ids: &'a [u64],
}

#[derive(Deserialize)]
pub(super) struct Stocks {
    stocks: Vec<Shown>,
}

#[derive(Deserialize)]
struct Shown {
    #[serde(rename = "chrtId")]
    chrt_id: u64,
    #[serde(default)]
    amount: Value,
}

impl Wildberries {
    /// What is no chrtId is never listed, and not asked for.
    pub(super) async fn shown(&self, warehouse: &str, ids: &[String]) -> Result<Vec<Option<Qty>>, ReadFault> {
        let warehouse = warehouse_id(warehouse).map_err(ReadFault::Failed)?;
        let ids: Vec<Option<u64>> = ids.iter().map(|id| chrt_id(id).ok()).collect();
        let asked: Vec<u64> = ids.iter().copied().flatten().collect();
        let mut shown = HashMap::new();
        for chrt_ids in asked.chunks(MAX_ITEMS) {
            let request = self.stocks_of(Method::POST, warehouse).json(&Ask { chrt_ids });
            take(self.read(&self.stocks, request).await?, &mut shown)?;
        }
        Ok(ids.iter().map(|id| id.and_then(|id| shown.get(&id).copied())).collect())
    }
}

/// # Errors
/// A figure is no number of units: nothing of such an answer is believed.
pub(super) fn take(stocks: Stocks, shown: &mut HashMap<u64, Qty>) -> Result<(), ReadFault> {
    for Shown { chrt_id, amount } in stocks.stocks {
        let qty = amount.as_i64().filter(|qty| *qty >= 0);
        let qty = qty.ok_or_else(|| {
            ReadFault::Failed(format!("{chrt_id} is listed with no number of units: amount {amount}"))
        })?;
        if shown.get(&chrt_id).is_some_and(|there| *there != qty) {
            return Err(ReadFault::Failed(format!("{chrt_id} is listed with two figures")));
        }
        shown.insert(chrt_id, qty);
    }
    Ok(())
}
