//! What Wildberries knows of us: cards and warehouses.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Wildberries;
use crate::publish::adapter::below;
use crate::publish::{Card, ExternalWarehouse, ReadFault};

/// The most cards of a page.
const PAGE: usize = 100;
/// The most pages of the list: a seller of a million cards.
const MOST_PAGES: usize = 10_000;

#[derive(Deserialize)]
struct Page {
    cards: Vec<Product>,
    #[serde(default)]
    cursor: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Product {
    #[serde(default)]
    vendor_code: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    sizes: Vec<Size>,
}

/// What is sold is a size.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Size {
    /// With a capital D here, and nowhere else.
    #[serde(rename = "chrtID")]
    chrt_id: u64,
    #[serde(default)]
    tech_size: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Warehouse {
    id: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    is_deleting: bool,
    #[serde(default)]
    is_processing: bool,
}

impl Wildberries {
    pub(super) async fn all_cards(&self) -> Result<Vec<Card>, ReadFault> {
        let (mut cards, mut cursor) = (Vec::new(), json!({ "limit": PAGE }));
        for _ in 0..MOST_PAGES {
            // withPhoto -1: with and without.
            let ask = json!({ "settings": { "cursor": cursor, "filter": { "withPhoto": -1 } } });
            let url = below(&self.content, "/content/v2/get/cards/list");
            let page: Page = self.read(&self.cards, self.transport.client().post(url).json(&ask)).await?;
            let is_last = page.cards.len() < PAGE;
            cards.extend(page.cards.iter().flat_map(cards_of));
            let next = json!({ "limit": PAGE, "updatedAt": page.cursor["updatedAt"], "nmID": page.cursor["nmID"] });
            if is_last {
                return Ok(cards);
            }
            if next == cursor {
                break;
            }
            cursor = next;
        }
        Err(ReadFault::Failed("the list of cards does not end".to_owned()))
    }

    pub(super) async fn all_warehouses(&self) -> Result<Vec<ExternalWarehouse>, ReadFault> {
        let request = self.transport.client().get(below(&self.marketplace, "/api/v3/warehouses"));
        let warehouses: Vec<Warehouse> = self.read(&self.warehouses, request).await?;
        Ok(warehouses.into_iter().map(warehouse).collect())
    }
}

/// A card with several sizes is several items, which the seller's code alone does not tell apart.
fn cards_of(product: &Product) -> Vec<Card> {
    let is_one = product.sizes.len() == 1;
    let card = |size: &Size| {
        let seller_code =
            if is_one { product.vendor_code.clone() } else { format!("{}-{}", product.vendor_code, size.tech_size) };
        let title = if is_one { product.title.clone() } else { format!("{}, {}", product.title, size.tech_size) };
        Card { external_id: size.chrt_id.to_string(), seller_code, title }
    };
    product.sizes.iter().map(card).collect()
}

fn warehouse(warehouse: Warehouse) -> ExternalWarehouse {
    let trouble = match warehouse {
        Warehouse { is_deleting: true, .. } => Some("it is being deleted"),
        Warehouse { is_processing: true, .. } => Some("it is being changed, and takes no stock meanwhile"),
        _ => None,
    };
    ExternalWarehouse { id: warehouse.id.to_string(), name: warehouse.name, trouble: trouble.map(str::to_owned) }
}
