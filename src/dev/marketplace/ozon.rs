//! Ozon, as its documentation and clients have it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::key::{API_KEY, CLIENT_ID, EXPIRES_AT};
use super::wire::{Reply, carry_out, read};
use super::world::{self, Refused, World, Write};
use super::{Address, Fault};
use crate::config::ChannelKind;

const KIND: ChannelKind = ChannelKind::Ozon;
const MOST_PAIRS: usize = 100;

pub(super) fn routes() -> Router<Arc<World>> {
    Router::new()
        .route("/v2/products/stocks", post(push))
        .route("/v2/product/info/stocks-by-warehouse/fbs", post(stocks))
        .route("/v4/product/info/stocks", post(products))
        .route("/v2/warehouse/list", post(warehouses))
        .route("/v1/roles", post(roles))
}

fn rpc(status: StatusCode, code: u32, message: &str) -> Reply {
    Reply::json(status, &json!({ "code": code, "message": message, "details": [] }))
}

fn throttled(pause: Option<u64>) -> Reply {
    let reply = rpc(StatusCode::TOO_MANY_REQUESTS, 8, "You have reached request rate limit per second");
    pause.map_or(reply.clone(), |pause| reply.with("retry-after", pause))
}

fn bad_key() -> Reply {
    rpc(StatusCode::FORBIDDEN, 7, "Invalid Api-Key, please contact support")
}

fn invalid() -> Reply {
    let message =
        "Request validation error: invalid ProductsStocksRequest.Stocks[0]: embedded message failed validation";
    rpc(StatusCode::BAD_REQUEST, 3, message)
}

fn has_key(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|there| there.as_bytes() == value.as_bytes());
    is("client-id", CLIENT_ID) && is("api-key", API_KEY)
}

async fn push(State(world): State<Arc<World>>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(writes) = writes(&body) else { return invalid().send() };
    let flight = world.enter(KIND, &writes);
    if !has_key(&headers) {
        return bad_key().send();
    }
    if world.pace.has_rates && !world.rates.ozon_passes() {
        return throttled(None).send();
    }
    match &flight.fault {
        Some(Fault::Banned) => return bad_key().send(),
        Some(Fault::Maintenance) => return rpc(StatusCode::BAD_REQUEST, 14, "Circle is open").send(),
        Some(Fault::Unnamed) => return invalid().send(),
        Some(Fault::Processing) => return rpc(StatusCode::CONFLICT, 10, "the warehouse is being changed").send(),
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
    carry_out(&world, flight, taken, Reply::json(StatusCode::OK, &json!({ "result": rows })), throttled).await
}

fn writes(body: &[u8]) -> Option<Vec<Write>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let pairs = body["stocks"].as_array().filter(|pairs| (1..=MOST_PAIRS).contains(&pairs.len()))?;
    let write = |pair: &Value| {
        let (item, qty) = (pair["offer_id"].as_str()?, pair["stock"].as_i64().filter(|qty| *qty >= 0)?);
        let address = Address::new(KIND, &pair["warehouse_id"].as_i64()?.to_string(), item);
        Some(Write { address, qty, version: 0 })
    };
    pairs.iter().map(write).collect()
}

/// What is wrong with an item is said beside it.
fn judge(world: &World, writes: &[Write]) -> Refused {
    let state = world.lock();
    let of = |write: &Write| {
        if !state.has_warehouse(KIND, &write.address.warehouse) {
            Some("WAREHOUSE_NOT_FOUND")
        } else if !state.has_item(KIND, &write.address.item) {
            Some("NOT_FOUND_ERROR")
        } else if write.qty >= 1_000_000 {
            Some("STOCK_TOO_BIG")
        } else if state.is_recent(&write.address, world.pace.ozon_interval) || world::State::has_twice(writes) {
            Some("TOO_MANY_REQUESTS")
        } else {
            None
        }
    };
    writes.iter().enumerate().filter_map(|(at, write)| Some((at, of(write)?))).collect()
}

fn row(write: &Write, refused: Option<&&'static str>) -> Value {
    let warehouse: i64 = write.address.warehouse.parse().unwrap_or_default();
    let errors: Vec<_> = refused.iter().map(|code| json!({ "code": code, "message": code })).collect();
    let product = if errors.is_empty() { 313_455_276 } else { 0 };
    json!({ "warehouse_id": warehouse, "product_id": product, "offer_id": write.address.item,
        "updated": errors.is_empty(), "errors": errors })
}

async fn stocks(State(world): State<Arc<World>>, headers: HeaderMap, Json(asked): Json<Value>) -> Response {
    if !has_key(&headers) {
        return bad_key().send();
    }
    let (fault, rows) = {
        let mut state = world.lock();
        let mut rows = Vec::new();
        for offer in asked["offer_id"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            for warehouse in state.warehouses(KIND) {
                let number: i64 = warehouse.parse().unwrap_or_default();
                if let Some(qty) = state.listed(&Address::new(KIND, &warehouse, offer)) {
                    rows.push(json!({ "sku": 1, "offer_id": offer, "product_id": 1, "warehouse_id": number,
                        "warehouse_name": warehouse, "present": qty + 2, "reserved": 2, "free_stock": qty }));
                }
            }
        }
        (state.next_read_fault(KIND), rows)
    };
    // Pages, each naming the place of the next as its cursor.
    let start: usize = asked["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or_default();
    let limit = asked["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1);
    let end = rows.len().min(start.saturating_add(limit));
    let page = json!({ "products": rows.get(start..end).unwrap_or_default(), "cursor": end.to_string(),
        "has_next": end < rows.len() });
    read(fault, Reply::json(StatusCode::OK, &page), throttled).await
}

async fn products(State(world): State<Arc<World>>, headers: HeaderMap, Json(asked): Json<Value>) -> Response {
    if !has_key(&headers) {
        return bad_key().send();
    }
    let items = world.lock().items(KIND);
    let limit = asked["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1);
    let after = asked["cursor"].as_str().unwrap_or_default();
    let page: Vec<_> = items.keys().filter(|offer| offer.as_str() > after).take(limit).collect();
    let cursor = page.last().map_or("", |last| last.as_str());
    let rows: Vec<_> = page.iter().map(|offer| json!({ "product_id": 1, "offer_id": offer, "stocks": [] })).collect();
    Reply::json(StatusCode::OK, &json!({ "items": rows, "cursor": cursor, "total": items.len() })).send()
}

async fn warehouses(State(world): State<Arc<World>>, headers: HeaderMap) -> Response {
    if !has_key(&headers) {
        return bad_key().send();
    }
    let warehouse = |id: String| {
        json!({ "warehouse_id": id.parse::<i64>().unwrap_or_default(), "name": format!("warehouse {id}"),
            "status": "created", "is_rfbs": false, "pause_at": null })
    };
    let list: Vec<_> = world.lock().warehouses(KIND).into_iter().map(warehouse).collect();
    Reply::json(StatusCode::OK, &json!({ "warehouses": list, "cursor": "", "has_next": false })).send()
}

async fn roles(headers: HeaderMap) -> Response {
    if !has_key(&headers) {
        return bad_key().send();
    }
    let methods = ["/v2/products/stocks", "/v2/product/info/stocks-by-warehouse/fbs", "/v4/product/info/stocks"];
    let roles = json!({ "roles": [{ "name": "Admin", "methods": methods }], "expires_at": EXPIRES_AT });
    Reply::json(StatusCode::OK, &roles).send()
}
