//! A receiver of Standard Webhooks that judges signatures and takes no version older than the one it has.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use reqwest::Url;
use serde_json::{Value, json};
use standardwebhooks::{HEADER_WEBHOOK_ID, Webhook};

use super::key::SECRET;
use super::wire::{Reply, carry_out, read};
use super::world::{Refused, World, Write};
use super::{Address, Fault};
use crate::config::ChannelKind;

const KIND: ChannelKind = ChannelKind::Webhook;

pub(super) fn routes() -> Router<Arc<World>> {
    Router::new().route("/webhook", post(push)).route("/webhook/shown", get(shown))
}

fn throttled(pause: Option<u64>) -> Reply {
    let reply = Reply::empty(StatusCode::TOO_MANY_REQUESTS);
    pause.map_or(reply.clone(), |pause| reply.with("retry-after", pause))
}

async fn push(State(world): State<Arc<World>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(writes) = writes(&body) else { return Reply::empty(StatusCode::UNPROCESSABLE_ENTITY).send() };
    let flight = world.enter(KIND, &writes);
    if !is_signed(&headers, &body) {
        return Reply::empty(StatusCode::UNAUTHORIZED).send();
    }
    let id = headers.get(HEADER_WEBHOOK_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    world.lock().webhook_ids.push(id.to_owned());
    match flight.fault {
        Some(Fault::Banned) => return Reply::empty(StatusCode::GONE).send(),
        Some(Fault::Maintenance | Fault::Processing) => return Reply::empty(StatusCode::SERVICE_UNAVAILABLE).send(),
        Some(Fault::Unnamed) => return Reply::empty(StatusCode::UNPROCESSABLE_ENTITY).send(),
        _ => {}
    }
    let mut refused = judge(&world, &writes);
    if let Some(Fault::Refused(code)) = flight.fault {
        refused.insert(flight.of, code);
    }
    let missing = (flight.fault == Some(Fault::MissingRow)).then_some(flight.of);
    let rows: Vec<_> =
        (0..writes.len()).filter(|at| Some(*at) != missing).map(|at| row(&writes[at], refused.get(&at))).collect();
    let taken = writes.iter().enumerate().filter(|(at, _)| !refused.contains_key(at)).map(|(_, write)| write.clone());
    let taken = taken.collect();
    carry_out(&world, flight, taken, Reply::json(StatusCode::OK, &json!({ "items": rows })), throttled).await
}

fn is_signed(headers: &HeaderMap, body: &[u8]) -> bool {
    Webhook::new(SECRET).is_ok_and(|webhook| webhook.verify(body, headers).is_ok())
}

fn writes(body: &[u8]) -> Option<Vec<Write>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let write = |item: &Value| {
        let address = Address::new(KIND, item["external_warehouse_id"].as_str()?, item["external_id"].as_str()?);
        Some(Write { address, qty: item["qty"].as_i64()?, version: item["version"].as_i64()? })
    };
    (body["type"] == "stock.push").then_some(())?;
    body["data"]["items"].as_array()?.iter().map(write).collect()
}

fn judge(world: &World, writes: &[Write]) -> Refused {
    let state = world.lock();
    let of = |write: &Write| {
        if !state.has_warehouse(KIND, &write.address.warehouse) {
            Some("no such warehouse")
        } else if !state.has_item(KIND, &write.address.item) {
            Some("no such item")
        } else if state.is_older(write) {
            Some("older than what is shown")
        } else {
            None
        }
    };
    writes.iter().enumerate().filter_map(|(at, write)| Some((at, of(write)?))).collect()
}

fn row(write: &Write, refused: Option<&&'static str>) -> Value {
    let outcome = if refused.is_some() { "rejected" } else { "accepted" };
    json!({ "external_id": write.address.item, "external_warehouse_id": write.address.warehouse,
        "outcome": outcome, "reason": refused })
}

/// The warehouse that is asked for, unescaped; the path's host is of no matter.
fn warehouse_of(uri: &Uri) -> Option<String> {
    let url: Url = format!("http://localhost{uri}").parse().ok()?;
    url.query_pairs().find_map(|(key, value)| (key == "external_warehouse_id").then(|| value.into_owned()))
}

async fn shown(State(world): State<Arc<World>>, uri: Uri) -> Response {
    let Some(warehouse) = warehouse_of(&uri) else { return Reply::empty(StatusCode::BAD_REQUEST).send() };
    let (fault, rows) = {
        let mut state = world.lock();
        (state.next_read_fault(KIND), state.listed_in(KIND, &warehouse))
    };
    let items: Vec<_> = rows.into_iter().map(|(item, qty)| json!({ "external_id": item, "qty": qty })).collect();
    read(fault, Reply::json(StatusCode::OK, &json!({ "items": items })), throttled).await
}
