//! Shipments and returns, through the streams.

mod early;
mod elsewhere;
mod returns;
mod shipments;

use serde_json::{Value, json};

use super::{PATIENCE, Stage, plain};
use crate::support::{Figures, Shop, Told, wait_until};

/// A shipment of units for an order of `web`.
fn parcel(event_id: &str, shipment_ref: &str, order_ref: &str, lines: &[(&str, i64)]) -> Value {
    let lines: Vec<Value> = lines.iter().map(|(sku, qty)| json!({ "sku": sku, "qty": qty })).collect();
    json!({ "event_id": event_id, "shipment_ref": shipment_ref, "channel": "web", "order_ref": order_ref, "lines": lines })
}

/// Units of an order of `web` that come back.
fn returned(event_id: &str, order_ref: &str, lines: &[(&str, i64, &str)]) -> Value {
    let line = |(sku, qty, condition): &(&str, i64, &str)| json!({ "sku": sku, "qty": qty, "condition": condition });
    let lines: Vec<Value> = lines.iter().map(line).collect();
    json!({ "event_id": event_id, "channel": "web", "order_ref": order_ref, "lines": lines })
}

/// A line of an answer: SKU, warehouse, units, of which so many were shipped and so many of those came back.
fn line(sku: &str, warehouse: &str, (qty, shipped, back): (i64, i64, i64), state: &str) -> Value {
    json!({ "sku": sku, "warehouse": warehouse, "qty": qty, "shipped_qty": shipped, "returned_qty": back, "state": state })
}

fn lines(told: &Told) -> &Value {
    &told.body["lines"]
}

impl Stage {
    /// With units of A and B in `main`, and an order of three A and one B from there that is confirmed at once.
    async fn with_a_confirmed_order() -> Self {
        let stage = Self::open().await;
        let shop = &stage.shop;
        shop.count_many(&[("A", 5), ("B", 2)], "main").await;
        shop.ask("order.created.web", Shop::confirmed("e1", "1", &[("A", 3), ("B", 1)])).await;
        stage
    }
}

impl Shop {
    /// A new order out of `main` that nobody has to pay first.
    fn confirmed(event_id: &str, order_ref: &str, lines: &[(&str, i64)]) -> Value {
        let lines: Vec<Value> =
            lines.iter().map(|(sku, qty)| json!({ "sku": sku, "qty": qty, "warehouse": "main" })).collect();
        json!({ "event_id": event_id, "order_ref": order_ref, "payment": "on_delivery", "lines": lines })
    }

    /// On hand and reserved.
    async fn shelf(&self, sku: &str, warehouse: &str) -> (i64, i64) {
        let Figures { on_hand, reserved, .. } = self.figures(sku, warehouse).await.unwrap();
        (on_hand, reserved)
    }

    /// The movements of those kinds: SKU, warehouse, units, event.
    async fn moved(&self, kind: &str) -> Vec<(String, String, i64, String)> {
        sqlx::query_as("SELECT sku, warehouse, delta, event_id FROM stock_movement WHERE kind = $1 ORDER BY id")
            .bind(kind)
            .fetch_all(&self.db)
            .await
            .unwrap()
    }

    /// Waits until so many messages wait.
    async fn waiting(&self, count: i64) {
        wait_until(&format!("{count} messages to wait"), PATIENCE, async || {
            self.number("SELECT count(*) FROM waiting_message").await == count
        })
        .await;
    }

    /// The kinds of reviews that were opened, in order.
    async fn reviews_opened(&self) -> Vec<String> {
        let told = self.stream("RESERVATIONS").await;
        let reviews = told.iter().filter_map(|told| told.subject.strip_prefix("review.opened."));
        reviews.map(str::to_owned).collect()
    }
}
