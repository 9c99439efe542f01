//! A page for people, which no marketplace has: what is shown, and a hand to change it with.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::{get, post};
use reqwest::Url;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error, StrDeserializer};
use serde_json::json;

use super::Address;
use super::wire::Reply;
use super::world::World;
use crate::config::ChannelKind;
use crate::domain::Qty;

/// What is shown: by marketplace, warehouse and item, as the marketplace calls them.
pub type Picture = BTreeMap<ChannelKind, BTreeMap<String, BTreeMap<String, Qty>>>;

pub(super) fn routes() -> Router<Arc<World>> {
    Router::new().route("/", get(look)).route("/hand", post(hand))
}

async fn look(State(world): State<Arc<World>>) -> Response {
    let picture = json!(world.lock().picture());
    Reply::json(StatusCode::OK, &json!({ "simulated": true, "shown": picture })).send()
}

/// `POST /hand?kind=ozon&warehouse=…&item=…&qty=…`: somebody sets in the cabinet what is shown there.
async fn hand(State(world): State<Arc<World>>, uri: Uri) -> Response {
    let refused = |status, why: &str| Reply::json(status, &json!({ "error": why })).send();
    let Some((address, qty)) = asked(&uri) else {
        return refused(StatusCode::BAD_REQUEST, "POST /hand?kind=ozon|wildberries|webhook&warehouse=…&item=…&qty=…");
    };
    let mut state = world.lock();
    let Some(was) = state.shown(&address) else {
        return refused(StatusCode::NOT_FOUND, "nothing was ever shown there");
    };
    state.set(&address, qty);
    Reply::json(StatusCode::OK, &json!({ "was": was, "shows": qty })).send()
}

fn asked(uri: &Uri) -> Option<(Address, Qty)> {
    let url = Url::parse(&format!("http://localhost{uri}")).ok()?;
    let query: BTreeMap<_, _> = url.query_pairs().collect();
    let word: StrDeserializer<'_, Error> = query.get("kind")?.as_ref().into_deserializer();
    let kind = ChannelKind::deserialize(word).ok()?;
    let qty = query.get("qty")?.parse().ok().filter(|qty: &Qty| *qty >= 0)?;
    Some((Address::new(kind, query.get("warehouse")?, query.get("item")?), qty))
}
