//! What a receiver's answers mean: the rules of Standard Webhooks, and the list of items that ours may answer with.

use std::time::Duration;

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::publish::outcomes::{all, refused_unnamed};
use crate::publish::transport::Answer;
use crate::publish::{Item, Outcome};

#[derive(Deserialize)]
struct Row {
    external_id: String,
    external_warehouse_id: String,
    outcome: String,
    #[serde(default)]
    reason: Option<String>,
}

/// Statuses that ask for a slower pace.
pub(super) fn is_throttled(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// One outcome an item. `pause` is how long no push passes after this answer.
pub(super) fn outcomes(items: &[Item], answer: &Answer, pause: Duration) -> Vec<Outcome> {
    if answer.status.is_success() {
        return listed(items, answer);
    }
    let reason = answer.describe();
    let outcome = match answer.status {
        status if is_throttled(status) => Outcome::Again { after: pause, reason },
        StatusCode::GONE | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Outcome::Halted(reason),
        status if status.is_client_error() => refused_unnamed(items.len(), reason),
        _ => Outcome::Unknown(reason),
    };
    all(items.len(), &outcome)
}

/// Any 2xx takes all items, unless it lists some: then it says so of each.
fn listed(items: &[Item], answer: &Answer) -> Vec<Outcome> {
    let Some(list) = list_of(&answer.body) else { return all(items.len(), &Outcome::Accepted) };
    match serde_json::from_value::<Vec<Row>>(list) {
        Ok(rows) => items.iter().map(|item| of_item(item, &rows)).collect(),
        Err(error) => {
            let reason = format!("its list of items cannot be understood ({error}): {}", answer.describe());
            all(items.len(), &Outcome::Unknown(reason))
        }
    }
}

fn list_of(body: &str) -> Option<Value> {
    serde_json::from_str::<Value>(body).ok()?.get_mut("items").map(Value::take)
}

fn of_item(item: &Item, rows: &[Row]) -> Outcome {
    let is_it =
        |row: &&Row| row.external_id == item.external_id && row.external_warehouse_id == item.external_warehouse_id;
    let mut of_it = rows.iter().filter(is_it);
    match (of_it.next(), of_it.next()) {
        (None, _) => Outcome::Unknown("not listed in the answer".to_owned()),
        (Some(_), Some(_)) => Outcome::Unknown("listed twice in the answer".to_owned()),
        (Some(row), None) => match row.outcome.as_str() {
            "accepted" => Outcome::Accepted,
            "rejected" => Outcome::Rejected(row.reason.clone().unwrap_or_else(|| "no reason given".to_owned())),
            other => Outcome::Unknown(format!("an outcome {other:?}")),
        },
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
