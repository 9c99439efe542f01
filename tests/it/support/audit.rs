//! The invariants of the design, asked of the tables and the streams of a test.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Shop, Told};

/// Which event a message is, in whatever envelope.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Event {
    subject: String,
    id: String,
    order_ref: String,
}

impl Event {
    fn of(message: &Told) -> Self {
        let header = |name: &str| {
            let mut all = message.headers.iter();
            let found = all.find(|(spelled, _)| spelled.to_string().eq_ignore_ascii_case(name));
            found.map(|(_, values)| values[0].to_string())
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let is_structured = message.body.get("specversion").is_some();
        let id = if is_structured { text(&message.body["id"]) } else { header("ce-id") };
        let id = id.or_else(|| text(&message.body["event_id"])).or_else(|| header("nats-msg-id"));
        let body = if is_structured { &message.body["data"] } else { &message.body };
        Self {
            subject: message.subject.clone(),
            id: id.unwrap_or_default(),
            order_ref: text(&body["order_ref"]).unwrap_or_default(),
        }
    }
}

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

    /// Every message of the inbound streams has exactly one fate: it is a dead letter, or its event was taken. An event of which all messages are
    /// dead letters was not taken.
    async fn audit_fates(&self) {
        for stream in ["ORDERS", "INVENTORY"] {
            let messages = self.stream(stream).await;
            let dead = self.dead_sequences(stream).await;
            let events: Vec<Event> = messages.iter().map(Event::of).collect();
            let taken = self.taken(&events).await;
            let mut fates: HashMap<Event, (bool, bool)> = HashMap::new();
            for ((message, event), taken) in messages.iter().zip(events).zip(taken) {
                let dead = dead.contains(&i64::try_from(message.sequence).unwrap());
                assert!(dead || taken, "{event:?} has no fate");
                let (all_dead, _) = fates.entry(event).or_insert((true, taken));
                *all_dead &= dead;
            }
            let both = fates.into_iter().find(|(_, fates)| *fates == (true, true));
            assert_eq!(both, None, "two fates");
        }
    }

    /// The places in the stream of what became dead letters and still is.
    async fn dead_sequences(&self, stream: &str) -> HashSet<i64> {
        let sequences: Vec<i64> =
            sqlx::query_scalar("SELECT sequence FROM dead_letter WHERE stream = $1 AND resolved_at IS NULL")
                .bind(stream)
                .fetch_all(&self.db)
                .await
                .unwrap();
        sequences.into_iter().collect()
    }

    /// For each event whether it was processed, or created its order.
    async fn taken(&self, events: &[Event]) -> Vec<bool> {
        // PostgreSQL's text holds no NUL.
        let texts = |of: fn(&Event) -> &str| events.iter().map(|event| of(event).replace('\0', "")).collect::<Vec<_>>();
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM processed_event p WHERE p.subject = e.subject AND p.event_id = e.id)
                 OR EXISTS (SELECT FROM sales_order o WHERE 'order.created.' || o.channel = e.subject
                            AND o.event_id = e.id AND o.order_ref = e.order_ref)
             FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS e (subject, id, order_ref, place)
             ORDER BY e.place",
        )
        .bind(texts(|event| &event.subject))
        .bind(texts(|event| &event.id))
        .bind(texts(|event| &event.order_ref))
        .fetch_all(&self.db)
        .await
        .unwrap()
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
