//! What Wildberries is told, and what its answers mean. The codes are those of its specification; what is done about each is ours.

use std::time::Duration;

use reqwest::StatusCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::MAX_QTY;
use crate::publish::outcomes::{all, refused_unnamed};
use crate::publish::transport::Answer;
use crate::publish::{Item, Outcome, ReadFault};

/// A warehouse that is being changed takes nothing for some seconds.
const PROCESSING: Duration = Duration::from_secs(5);
/// Stocks are closed for maintenance for some minutes.
const MAINTENANCE: Duration = Duration::from_mins(3);

/// A push as it is written. Names are not judged there: a misspelt one is answered with 204 and changes nothing.
#[derive(Serialize)]
pub(super) struct Push<'a> {
    stocks: &'a [Row],
}

/// One size of one product.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Row {
    #[serde(rename = "chrtId")]
    pub(super) chrt_id: u64,
    pub(super) amount: i64,
}

/// An error of one kind, and the items it is about, if it says so.
#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Option<Vec<Named>>,
}

/// An item as an error names it: any part may be missing, or 0.
#[derive(Deserialize)]
struct Named {
    #[serde(default, rename = "chrtId")]
    chrt_id: Option<u64>,
}

/// The code of an error that is an object.
#[derive(Deserialize)]
struct Coded {
    #[serde(default)]
    code: String,
}

/// An answer of 409: an array to a push, an object elsewhere.
#[derive(Deserialize)]
#[serde(untagged)]
enum Conflict {
    Many(Vec<Refusal>),
    One(Refusal),
}

/// The row of an item of a call that is of that warehouse.
///
/// # Errors
/// Why it has none.
pub(super) fn row(item: &Item, warehouse: &str) -> Result<Row, String> {
    if item.external_warehouse_id != warehouse {
        return Err(format!("a call is of one warehouse, and this one of {warehouse:?}"));
    }
    Ok(Row { chrt_id: chrt_id(&item.external_id)?, amount: item.qty.clamp(0, MAX_QTY) })
}

/// The only name of an item that is taken: barcodes no longer are.
pub(super) fn chrt_id(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|id| *id != 0);
    number.ok_or_else(|| format!("{text:?} is no chrtId of Wildberries: those are numbers"))
}

/// A warehouse's id as a number.
pub(super) fn warehouse_id(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is no warehouse of Wildberries: those are numbers"))
}

/// The bytes of a push.
///
/// # Errors
/// Never, of such rows.
pub(super) fn body(rows: &[Row]) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Push { stocks: rows })
}

/// One outcome a row. `pause` is how long no push passes after this answer.
pub(super) fn outcomes(rows: &[Row], answer: &Answer, pause: Duration) -> Vec<Outcome> {
    match answer.status {
        // Not a proof that it is shown: a reading is.
        StatusCode::NO_CONTENT => all(rows.len(), &Outcome::Accepted),
        StatusCode::CONFLICT => conflict(rows, answer),
        _ => all(rows.len(), &refusal(rows.len(), answer, pause)),
    }
}

/// What is read.
///
/// # Errors
/// It is refused, or cannot be understood.
pub(super) fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T, ReadFault> {
    match answer.status {
        StatusCode::OK => answer.json().map_err(ReadFault::Failed),
        status if is_key_trouble(status) => Err(ReadFault::Halted(answer.describe())),
        _ => Err(ReadFault::Failed(answer.describe())),
    }
}

/// A token that is not known, not paid for, or not allowed this.
fn is_key_trouble(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::PAYMENT_REQUIRED | StatusCode::FORBIDDEN)
}

/// An answer to the call as a whole.
fn refusal(rows: usize, answer: &Answer, pause: Duration) -> Outcome {
    let reason = answer.describe();
    let code = answer.json::<Coded>().map(|coded| coded.code).unwrap_or_default();
    match answer.status {
        status if !status.is_client_error() => Outcome::Unknown(reason),
        status if is_key_trouble(status) => Outcome::Halted(reason),
        StatusCode::TOO_MANY_REQUESTS => Outcome::Again { after: pause, reason },
        // It takes no chrtId for one: then it takes none of any item.
        StatusCode::BAD_REQUEST if code == "SKUUploadDisabled" => Outcome::Halted(reason),
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
            refused_unnamed(rows, reason)
        }
        StatusCode::NOT_FOUND if code == "NotFound" => Outcome::Rejected(reason),
        // The seller is banned; another 406 is a time at which stocks are closed.
        StatusCode::NOT_ACCEPTABLE if code == "StatusNotAcceptable" => Outcome::Halted(reason),
        StatusCode::NOT_ACCEPTABLE => Outcome::Again { after: MAINTENANCE, reason },
        _ => Outcome::Deferred(reason),
    }
}

/// Nothing of a call with a conflict counts as taken: what is named is refused, the rest is told again without it.
fn conflict(rows: &[Row], answer: &Answer) -> Vec<Outcome> {
    let refusals = match answer.json::<Conflict>() {
        Ok(Conflict::Many(refusals)) => refusals,
        Ok(Conflict::One(refusal)) => vec![refusal],
        Err(what) => return all(rows.len(), &refused_unnamed(rows.len(), what)),
    };
    let named: Vec<_> = rows.iter().map(|row| refusals.iter().find(|refusal| refusal.names(row.chrt_id))).collect();
    let rest = if let Some(processing) = refusals.iter().find(|refusal| refusal.code == "StoreIsProcessing") {
        Outcome::Again { after: PROCESSING, reason: processing.say() }
    } else if named.iter().any(Option::is_some) {
        Outcome::Again { after: Duration::ZERO, reason: "another item of the call was refused".to_owned() }
    } else {
        refused_unnamed(rows.len(), answer.describe())
    };
    let of_row = |named: Option<&Refusal>| named.map_or(rest.clone(), |refusal| Outcome::Rejected(refusal.say()));
    named.into_iter().map(of_row).collect()
}

impl Refusal {
    /// An item that has no chrtId here, or 0, is named by a barcode that we do not know.
    fn names(&self, chrt_id: u64) -> bool {
        self.data.iter().flatten().any(|named| named.chrt_id == Some(chrt_id))
    }

    fn say(&self) -> String {
        format!("{}: {}", self.code, self.message)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
