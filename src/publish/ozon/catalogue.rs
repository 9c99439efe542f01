//! What Ozon knows of us: products, warehouses, the key.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Ozon;
use crate::publish::{Card, Credentials, ExternalWarehouse, ReadFault};

/// The most rows of a page.
const PAGE: u32 = 1_000;
/// The most pages of a list: a seller of a million products.
const MOST_PAGES: usize = 1_000;
/// What a key must be allowed.
const NEEDED: [&str; 2] = ["/v2/products/stocks", "/v2/product/info/stocks-by-warehouse/fbs"];
/// States of a warehouse that takes no stock, as parts of the word: the whole list is not documented.
const TROUBLED: [&str; 4] = ["disabled", "blocked", "error", "archived"];

#[derive(Deserialize)]
struct Products {
    items: Vec<Product>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Product {
    offer_id: String,
    #[serde(default)]
    product_id: Value,
}

#[derive(Serialize)]
struct AskWarehouses<'a> {
    limit: u32,
    cursor: &'a str,
}

#[derive(Deserialize)]
struct Warehouses {
    #[serde(rename = "warehouses")]
    list: Vec<Warehouse>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    has_next: bool,
}

#[derive(Deserialize)]
struct Warehouse {
    #[serde(rename = "warehouse_id")]
    id: Value,
    #[serde(default)]
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    pause_at: Option<String>,
}

#[derive(Deserialize)]
struct Roles {
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    expires_at: Option<String>,
}

#[derive(Deserialize)]
struct Role {
    #[serde(default)]
    methods: Vec<String>,
}

impl Ozon {
    pub(super) async fn all_cards(&self) -> Result<Vec<Card>, ReadFault> {
        let (mut cards, mut cursor) = (Vec::new(), String::new());
        for _ in 0..MOST_PAGES {
            let ask = json!({ "filter": { "visibility": "ALL" }, "limit": PAGE, "cursor": cursor });
            let page: Products = self.read(&self.others, "/v4/product/info/stocks", &ask).await?;
            let is_last = page.items.is_empty();
            cards.extend(page.items.into_iter().map(card));
            match page.cursor {
                Some(next) if !is_last && !next.is_empty() && next != cursor => cursor = next,
                _ => return Ok(cards),
            }
        }
        Err(ReadFault::Failed("the list of products does not end".to_owned()))
    }

    pub(super) async fn all_warehouses(&self) -> Result<Vec<ExternalWarehouse>, ReadFault> {
        let (mut warehouses, mut cursor) = (Vec::new(), String::new());
        for _ in 0..MOST_PAGES {
            let ask = AskWarehouses { limit: 200, cursor: &cursor };
            let page: Warehouses = self.read(&self.others, "/v2/warehouse/list", &ask).await?;
            warehouses.extend(page.list.into_iter().map(warehouse));
            match page.cursor.filter(|_| page.has_next) {
                None => return Ok(warehouses),
                Some(next) if next.is_empty() || next == cursor => break,
                Some(next) => cursor = next,
            }
        }
        Err(ReadFault::Failed("the list of warehouses does not end".to_owned()))
    }

    pub(super) async fn roles(&self) -> Result<Credentials, ReadFault> {
        let roles: Roles = self.read(&self.others, "/v1/roles", &json!({})).await?;
        Ok(Credentials { expires_at: expiry(roles.expires_at.as_deref())?, trouble: missing_method(&roles.roles) })
    }
}

/// Ozon lists no title here: a person knows a product by its `offer_id`.
fn card(product: Product) -> Card {
    let title = if product.product_id.is_null() { String::new() } else { format!("product {}", product.product_id) };
    Card { external_id: product.offer_id.clone(), seller_code: product.offer_id, title }
}

fn warehouse(warehouse: Warehouse) -> ExternalWarehouse {
    let Warehouse { id, name, status, pause_at } = warehouse;
    let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    let word = status.to_lowercase();
    let is_troubled = TROUBLED.iter().any(|trouble| word.contains(trouble));
    let paused = pause_at.filter(|at| !at.is_empty()).map(|at| format!("paused at {at}"));
    ExternalWarehouse { id, name, trouble: is_troubled.then(|| format!("its status is {status}")).or(paused) }
}

fn expiry(text: Option<&str>) -> Result<Option<OffsetDateTime>, ReadFault> {
    let parse = |text| OffsetDateTime::parse(text, &Rfc3339);
    let cannot = |_| ReadFault::Failed(format!("expires_at is no time: {text:?}"));
    text.filter(|text| !text.is_empty()).map(parse).transpose().map_err(cannot)
}

/// A key whose roles list no methods is not known to lack one.
fn missing_method(roles: &[Role]) -> Option<String> {
    let mut methods = roles.iter().flat_map(|role| &role.methods).peekable();
    methods.peek()?;
    let methods: Vec<_> = methods.collect();
    let missing = NEEDED.into_iter().find(|needed| !methods.iter().any(|method| method.as_str() == *needed))?;
    Some(format!("the key has no role for {missing}"))
}
