//! What Ozon is told, and what its answers mean. The codes are those of its page of errors; what is done about each is ours.

use std::time::Duration;

use reqwest::StatusCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CIRCLE_OPEN, MAX_QTY};
use crate::publish::outcomes::{all, refused_unnamed};
use crate::publish::transport::Answer;
use crate::publish::{Item, Outcome, ReadFault};

/// One change of a pair in 30 seconds; with a second for the way.
const PAIR_INTERVAL: Duration = Duration::from_secs(31);
/// How long a call is put off that collided with another.
const COLLISION: Duration = Duration::from_secs(30);

/// Something must happen to the product there first.
const DEFERRED: [&str; 4] =
    ["PRICE_IS_NOT_SENT", "PRODUCT_IS_NOT_CREATED", "SOURCE_TYPE_NOT_FOUND", "PRODUCT_HAS_NOT_BEEN_TAGGED_YET"];
/// Until the mapping, the product or the warehouse is changed.
const REJECTED: [&str; 13] = [
    "OFFER_ID_NOT_FOUND",
    "NOT_FOUND_ERROR",
    "WAREHOUSE_NOT_FOUND",
    "NON_KGT_ON_KGT_WAREHOUSE",
    "OVER_MAX_OVH_NON_KGT",
    "OVER_MAX_OVH_KGT",
    "MULTIBOX_NOT_ALLOWED_FOR_FBS",
    "FLAMMABLE_ONLY_ON_SELF_OR_PROVIDER_DELIVERY",
    "FLAMMABLE_ON_NON_KGT_WAREHOUSE",
    "MP_DELIVERY_ONLY_3PL_ERROR",
    "CB_DELIVERY_ONLY_FBP",
    "SIZE_REQUIRED_FOR_NOT_UNIQUE_OFFER_ID",
    "STOCK_TOO_BIG",
];
/// What is wrong with the key, whatever the status: parts of messages.
const KEY_TROUBLE: [&str; 4] =
    ["invalid api-key", "api-key is deactivated", "missing a required role", "restricted to specific ip addresses"];

/// A push as it is written. No other field is sent: of `offer_id` and `product_id` only one may be.
#[derive(Serialize)]
pub(super) struct Push<'a> {
    pub(super) stocks: &'a [Pair],
}

/// A product in a warehouse.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Pair {
    offer_id: String,
    stock: i64,
    warehouse_id: i64,
}

#[derive(Deserialize)]
struct Pushed {
    result: Vec<Row>,
}

/// A row of an answer. `product_id` may be 0 where there is an error, and is not looked at.
#[derive(Deserialize)]
struct Row {
    offer_id: String,
    warehouse_id: Value,
    #[serde(default)]
    updated: bool,
    #[serde(default)]
    errors: Vec<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// The pair of an item.
///
/// # Errors
/// Why it has none.
pub(super) fn pair(item: &Item) -> Result<Pair, String> {
    let warehouse_id = warehouse_id(&item.external_warehouse_id)?;
    Ok(Pair { offer_id: item.external_id.clone(), stock: item.qty.clamp(0, MAX_QTY), warehouse_id })
}

/// A warehouse's id as a number.
pub(super) fn warehouse_id(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("{text:?} is no warehouse_id of Ozon: those are numbers"))
}

/// Whether a value is that id: written as a number, or as a text of one.
pub(super) fn is_id(value: &Value, id: i64) -> bool {
    value.as_i64() == Some(id) || value.as_str().is_some_and(|text| text.parse() == Ok(id))
}

/// A method that was blocked for some minutes.
pub(super) fn is_circle_open(text: &str) -> bool {
    text.to_lowercase().contains("circle is open")
}

/// One outcome a pair. `pause` is how long no push passes after this answer.
pub(super) fn outcomes(pairs: &[Pair], answer: &Answer, pause: Duration) -> Vec<Outcome> {
    if answer.status != StatusCode::OK {
        return all(pairs.len(), &refusal(pairs.len(), answer, pause));
    }
    match answer.json::<Pushed>() {
        Ok(pushed) => pairs.iter().map(|pair| of_pair(pair, &pushed.result)).collect(),
        Err(what) => all(pairs.len(), &Outcome::Unknown(what)),
    }
}

/// What is read.
///
/// # Errors
/// It is refused, or cannot be understood.
pub(super) fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T, ReadFault> {
    match answer.status {
        StatusCode::OK => answer.json().map_err(ReadFault::Failed),
        _ if is_key_trouble(answer) => Err(ReadFault::Halted(answer.describe())),
        _ => Err(ReadFault::Failed(answer.describe())),
    }
}

fn is_key_trouble(answer: &Answer) -> bool {
    matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        || (answer.status.is_client_error() && names_key_trouble(&answer.body))
}

fn names_key_trouble(text: &str) -> bool {
    let text = text.to_lowercase();
    KEY_TROUBLE.iter().any(|trouble| text.contains(trouble))
}

/// An answer to the call as a whole.
fn refusal(pairs: usize, answer: &Answer, pause: Duration) -> Outcome {
    let reason = answer.describe();
    match answer.status {
        status if !status.is_client_error() => Outcome::Unknown(reason),
        _ if is_key_trouble(answer) => Outcome::Halted(reason),
        StatusCode::TOO_MANY_REQUESTS => Outcome::Again { after: pause, reason },
        _ if is_circle_open(&answer.body) => Outcome::Again { after: pause.max(CIRCLE_OPEN), reason },
        // A call that is wrong in one of its items.
        StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
            refused_unnamed(pairs, reason)
        }
        StatusCode::CONFLICT => Outcome::Again { after: COLLISION, reason },
        _ => Outcome::Deferred(reason),
    }
}

/// By name, never by position. What is not listed is unknown, and so is what is listed twice.
fn of_pair(pair: &Pair, rows: &[Row]) -> Outcome {
    let mut of_it =
        rows.iter().filter(|row| row.offer_id == pair.offer_id && is_id(&row.warehouse_id, pair.warehouse_id));
    match (of_it.next(), of_it.next()) {
        (None, _) => Outcome::Unknown("not listed in the answer".to_owned()),
        (Some(row), None) => of_row(row),
        _ => Outcome::Unknown("listed twice in the answer".to_owned()),
    }
}

fn of_row(row: &Row) -> Outcome {
    let worst = row.errors.iter().map(of_fault).max_by_key(severity);
    match (row.updated, worst) {
        (true, None | Some(Outcome::Accepted)) => Outcome::Accepted,
        (true, Some(outcome)) => Outcome::Unknown(format!("updated, and {}", outcome.reason().unwrap_or_default())),
        (false, Some(outcome)) => outcome,
        (false, None) => Outcome::Deferred("not updated, and no reason given".to_owned()),
    }
}

/// Of several things that are wrong with a pair, the one that needs most is told.
fn severity(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Accepted => 0,
        Outcome::Again { .. } | Outcome::Split(_) => 1,
        Outcome::Deferred(_) => 2,
        Outcome::Unknown(_) => 3,
        Outcome::Rejected(_) => 4,
        Outcome::Halted(_) => 5,
    }
}

fn of_fault(fault: &Fault) -> Outcome {
    let reason = match (fault.code.as_str(), fault.message.as_str()) {
        ("", message) => message.to_owned(),
        (code, "") => code.to_owned(),
        (code, message) => format!("{code}: {message}"),
    };
    let is_any = |codes: &[&str]| codes.iter().any(|code| fault.code.eq_ignore_ascii_case(code));
    let says = |part: &str| reason.to_lowercase().contains(part);
    if names_key_trouble(&reason) {
        Outcome::Halted(reason)
    } else if is_any(&["SKU_STOCK_NOT_CHANGE"]) {
        // It shows that number already.
        Outcome::Accepted
    } else if is_any(&REJECTED) || says("request validation error") {
        Outcome::Rejected(reason)
    } else if is_any(&DEFERRED) {
        Outcome::Deferred(reason)
    } else if is_circle_open(&reason) {
        Outcome::Again { after: CIRCLE_OPEN, reason }
    } else if is_any(&["TOO_MANY_REQUESTS"]) || says("updated too frequently") || says("request rate limit") {
        Outcome::Again { after: PAIR_INTERVAL, reason }
    } else if says("internal error") {
        Outcome::Unknown(reason)
    } else {
        Outcome::Deferred(reason)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
