//! Wildberries, as its specification and live answers have it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::key::TOKEN;
use super::wire::{Reply, carry_out, read};
use super::world::{Flight, World, Write};
use super::{Address, Fault};
use crate::config::ChannelKind;

const KIND: ChannelKind = ChannelKind::Wildberries;
const MOST_ITEMS: usize = 1_000;

pub(super) fn routes() -> Router<Arc<World>> {
    Router::new()
        .route("/api/v3/stocks/{warehouse}", put(push).post(stocks))
        .route("/api/v3/warehouses", get(warehouses))
        .route("/content/v2/get/cards/list", post(cards))
}

fn coded(status: StatusCode, code: &str, message: &str) -> Reply {
    Reply::json(status, &json!({ "code": code, "message": message, "data": null }))
}

fn problem(status: StatusCode, detail: &str) -> Reply {
    Reply::json(
        status,
        &json!({ "title": status.canonical_reason(), "detail": detail, "code": "c",
        "requestId": "r", "origin": "o", "status": status.as_u16() }),
    )
}

fn throttled(pause: Option<u64>) -> Reply {
    let reply = problem(StatusCode::TOO_MANY_REQUESTS, "too many requests");
    pause.map_or(reply.clone(), |pause| reply.with("x-ratelimit-retry", pause).with("x-ratelimit-reset", pause + 4))
}

fn bad_token() -> Reply {
    problem(StatusCode::UNAUTHORIZED, "token is not known")
}

fn has_token(headers: &HeaderMap) -> bool {
    headers.get("authorization").is_some_and(|there| there.as_bytes() == TOKEN.as_bytes())
}

async fn push(
    State(world): State<Arc<World>>,
    Path(warehouse): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answer = judged_push(&world, &warehouse, &headers, &body).await;
    if answer.status().is_client_error() {
        world.rates.wildberries_refused();
    }
    answer
}

async fn judged_push(world: &Arc<World>, warehouse: &str, headers: &HeaderMap, body: &[u8]) -> Response {
    let Some(writes) = writes(warehouse, body) else {
        return coded(StatusCode::BAD_REQUEST, "IncorrectRequestBody", "incorrect request body").send();
    };
    let flight = world.enter(KIND, &writes);
    if !has_token(headers) {
        return bad_token().send();
    }
    if world.pace.has_rates && !world.rates.wildberries_passes() {
        return throttled(Some(1)).send();
    }
    if !world.lock().has_warehouse(KIND, warehouse) {
        return coded(StatusCode::NOT_FOUND, "NotFound", "no such warehouse").send();
    }
    if let Some(refusal) = refusal(world, &flight, &writes) {
        return refusal.send();
    }
    carry_out(world, flight, writes, Reply::empty(StatusCode::NO_CONTENT), throttled).await
}

/// A field that is misspelt is not there, and what is not there is no error.
fn writes(warehouse: &str, body: &[u8]) -> Option<Vec<Write>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let rows = body["stocks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let write = |row: &Value| {
        let address = Address::new(KIND, warehouse, &row["chrtId"].as_u64()?.to_string());
        Some(Write { address, qty: row["amount"].as_i64()?, version: 0 })
    };
    (rows.len() <= MOST_ITEMS).then(|| rows.iter().filter_map(write).collect())
}

/// Why nothing of the call is taken.
fn refusal(world: &World, flight: &Flight, writes: &[Write]) -> Option<Reply> {
    match flight.fault {
        Some(Fault::Banned) => {
            let ban = "Обновление остатков заблокировано в связи с баном поставщика";
            return Some(coded(StatusCode::NOT_ACCEPTABLE, "StatusNotAcceptable", ban));
        }
        Some(Fault::Maintenance) => {
            return Some(coded(StatusCode::NOT_ACCEPTABLE, "WarehouseStocksUpdateBlock", "maintenance"));
        }
        Some(Fault::Unnamed) => {
            let conflict = json!([{ "code": "ItemPropertyConflict", "message": "conflict of properties" }]);
            return Some(Reply::json(StatusCode::CONFLICT, &conflict));
        }
        Some(Fault::Processing) => {
            let processing = json!([{ "code": "StoreIsProcessing", "message": "The store is processing" }]);
            return Some(Reply::json(StatusCode::CONFLICT, &processing));
        }
        _ => {}
    }
    let entries = conflicts(world, flight, writes);
    (!entries.is_empty()).then(|| Reply::json(StatusCode::CONFLICT, &Value::Array(entries)))
}

fn conflicts(world: &World, flight: &Flight, writes: &[Write]) -> Vec<Value> {
    let state = world.lock();
    let code = |at: usize, write: &Write| match flight.fault {
        Some(Fault::Refused(code)) if at == flight.of => Some(code),
        _ if !state.has_item(KIND, &write.address.item) => Some("NotFound"),
        _ if !(0..=100_000).contains(&write.qty) => Some("UploadDataLimit"),
        _ => None,
    };
    let entry = |(at, write): (usize, &Write)| {
        let chrt_id: u64 = write.address.item.parse().unwrap_or_default();
        let code = code(at, write)?;
        Some(json!({ "code": code, "message": code, "data": [{ "sku": "", "chrtId": chrt_id, "amount": write.qty }] }))
    };
    writes.iter().enumerate().filter_map(entry).collect()
}

async fn stocks(
    State(world): State<Arc<World>>,
    Path(warehouse): Path<String>,
    headers: HeaderMap,
    Json(asked): Json<Value>,
) -> Response {
    if !has_token(&headers) {
        return bad_token().send();
    }
    if world.pace.has_rates && !world.rates.wildberries_passes() {
        return throttled(Some(1)).send();
    }
    let (fault, reply) = {
        let mut state = world.lock();
        let row = |id: u64| {
            let amount = state.listed(&Address::new(KIND, &warehouse, &id.to_string()))?;
            Some(json!({ "chrtId": id, "amount": amount }))
        };
        let ids = asked["chrtIds"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let rows: Vec<_> = ids.filter_map(row).collect();
        let reply = if state.has_warehouse(KIND, &warehouse) {
            Reply::json(StatusCode::OK, &json!({ "stocks": rows }))
        } else {
            coded(StatusCode::NOT_FOUND, "NotFound", "no such warehouse")
        };
        (state.next_read_fault(KIND), reply)
    };
    read(fault, reply, throttled).await
}

async fn warehouses(State(world): State<Arc<World>>, headers: HeaderMap) -> Response {
    if !has_token(&headers) {
        return bad_token().send();
    }
    let warehouse = |id: String| {
        json!({ "id": id.parse::<u64>().unwrap_or_default(), "name": format!("warehouse {id}"), "officeId": 15,
            "cargoType": 1, "deliveryType": 1, "isDeleting": false, "isProcessing": false })
    };
    let list: Vec<_> = world.lock().warehouses(KIND).into_iter().map(warehouse).collect();
    Reply::json(StatusCode::OK, &Value::Array(list)).send()
}

/// In pages, a card an item, the cursor naming the last item of the page.
async fn cards(State(world): State<Arc<World>>, headers: HeaderMap, Json(asked): Json<Value>) -> Response {
    if !has_token(&headers) {
        return bad_token().send();
    }
    let cursor = &asked["settings"]["cursor"];
    let limit = cursor["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1).min(100);
    let after = cursor["nmID"].as_u64().unwrap_or_default();
    let items = world.lock().items(KIND);
    let mut sorted: Vec<_> = items.iter().map(|(id, code)| (id.parse::<u64>().unwrap_or_default(), code)).collect();
    sorted.sort_unstable();
    let page: Vec<_> = sorted.into_iter().filter(|(id, _)| *id > after).take(limit).collect();
    let last = page.last().map_or(after, |(id, _)| *id);
    let card = |(id, code): &(u64, &String)| {
        json!({ "nmID": id, "vendorCode": code, "title": format!("item {code}"),
            "sizes": [{ "chrtID": id, "techSize": "0", "skus": [] }] })
    };
    let cards: Vec<_> = page.iter().map(card).collect();
    let cursor = json!({ "updatedAt": "2026-12-01T00:00:00Z", "nmID": last, "total": cards.len() });
    Reply::json(StatusCode::OK, &json!({ "cards": cards, "cursor": cursor })).send()
}
