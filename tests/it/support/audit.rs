//! The invariants of the design, asked of the tables and the streams of a test.

use std::collections::HashMap;

use serde_json::Value;

use super::{Shop, Told};

impl Shop {
    /// Invariants 1 to 7. Panics with the first row that breaks one. Everything must be settled before.
    pub async fn audit(&self) {
        for (invariant, query) in INVARIANTS {
            let broken: Option<String> = sqlx::query_scalar(query).fetch_optional(&self.db).await.unwrap();
            assert_eq!(broken, None, "{invariant}");
        }
        self.audit_fates().await;
        self.audit_told("STOCK").await;
        self.audit_told("STOCK_LATEST").await;
    }

    /// Every message of the inbound streams has exactly one fate.
    async fn audit_fates(&self) {
        for stream in ["ORDERS", "INVENTORY"] {
            let messages = self.stream(stream).await;
            let text = |field: &'static str| {
                // PostgreSQL's text holds no NUL.
                let of = move |told: &Told| told.body[field].as_str().unwrap_or_default().replace('\0', "");
                messages.iter().map(of).collect::<Vec<_>>()
            };
            let other: Option<(String, String, i64)> = sqlx::query_as(FATES)
                .bind(messages.iter().map(|told| told.subject.clone()).collect::<Vec<_>>())
                .bind(text("event_id"))
                .bind(text("order_ref"))
                .bind(messages.iter().map(|told| told.raw.clone()).collect::<Vec<_>>())
                .fetch_optional(&self.db)
                .await
                .unwrap();
            assert_eq!(other, None, "a message of {stream} with another number of fates than one");
        }
    }

    /// The last event of each row carries its figures, and versions of a row only grow by first sight.
    async fn audit_told(&self, stream: &str) {
        let mut last: HashMap<(String, String), Value> = HashMap::new();
        for told in self.stream(stream).await {
            let text = |field: &str| told.body[field].as_str().unwrap().to_owned();
            last.insert((text("sku"), text("warehouse")), told.body);
        }
        let rows: Vec<(String, String, i64, i64, i64)> =
            sqlx::query_as("SELECT sku, warehouse, on_hand, reserved, version FROM stock")
                .fetch_all(&self.db)
                .await
                .unwrap();
        for (sku, warehouse, on_hand, reserved, version) in rows {
            let event = &last[&(sku.clone(), warehouse.clone())];
            let told = ["on_hand", "reserved", "available", "version"].map(|field| event[field].as_i64().unwrap());
            assert_eq!(told, [on_hand, reserved, on_hand - reserved, version], "last of {sku} {warehouse} in {stream}");
        }
    }
}

/// A message that is not either processed, or the creator of its order, or dead.
const FATES: &str = "
    SELECT subject, event_id, fates
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS message (subject, event_id, order_ref, body),
    LATERAL (
        SELECT (SELECT count(*) FROM processed_event p WHERE p.subject = message.subject AND p.event_id = message.event_id)
             + (SELECT count(*) FROM sales_order o
                WHERE 'order.created.' || o.channel = message.subject AND o.order_ref = message.order_ref
                  AND o.event_id = message.event_id)
             + (SELECT least(1, count(*)) FROM dead_letter d
                WHERE d.subject = message.subject AND d.body = message.body) AS fates
    ) AS found
    WHERE fates <> 1
    LIMIT 1";

const INVARIANTS: [(&str, &str); 7] = [
    (
        "1: 0 <= reserved <= on_hand",
        "SELECT sku || ' ' || warehouse FROM stock WHERE reserved < 0 OR reserved > on_hand LIMIT 1",
    ),
    (
        "2: reserved is what live reservations hold",
        "SELECT s.sku || ' ' || s.warehouse FROM stock s WHERE s.reserved <> (
            SELECT coalesce(sum(qty - shipped_qty), 0) FROM reservation r
            WHERE r.sku = s.sku AND r.warehouse = s.warehouse AND r.state IN ('held', 'confirmed')) LIMIT 1",
    ),
    (
        "2: reserved is what the journal sums to",
        "SELECT s.sku || ' ' || s.warehouse FROM stock s WHERE s.reserved <> (
            SELECT coalesce(sum(qty), 0) FROM reservation_event e
            WHERE e.sku = s.sku AND e.warehouse = s.warehouse) LIMIT 1",
    ),
    (
        "3: on_hand is what the movements sum to",
        "SELECT s.sku || ' ' || s.warehouse FROM stock s WHERE s.on_hand <> (
            SELECT coalesce(sum(delta), 0) FROM stock_movement m
            WHERE m.sku = s.sku AND m.warehouse = s.warehouse) LIMIT 1",
    ),
    (
        "4: a reservation's state is the last step's",
        "SELECT r.channel || ' ' || r.order_ref FROM reservation r WHERE r.state IS DISTINCT FROM (
            SELECT to_state FROM reservation_event e WHERE e.reservation_id = r.id ORDER BY e.id DESC LIMIT 1) LIMIT 1",
    ),
    (
        "4: every step begins where the one before ended",
        "SELECT reservation_id::text FROM (
            SELECT reservation_id, from_state, lag(to_state) OVER (PARTITION BY reservation_id ORDER BY id) AS before
            FROM reservation_event) AS step
         WHERE from_state IS DISTINCT FROM before LIMIT 1",
    ),
    (
        "an order's state is the first that any line has",
        "SELECT o.channel || ' ' || o.order_ref FROM sales_order o WHERE o.state NOT IN ('awaited', 'rejected')
         AND o.state IS DISTINCT FROM (
            SELECT state FROM reservation r WHERE r.channel = o.channel AND r.order_ref = o.order_ref
            ORDER BY array_position(ARRAY['held', 'confirmed', 'shipped', 'expired', 'released'], state) LIMIT 1) LIMIT 1",
    ),
];
