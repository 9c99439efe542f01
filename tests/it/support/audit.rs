//! The invariants of the design, asked by the program's own audit, and of `STOCK` besides.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lastunit::audit::{self, Broker};
use lastunit::domain::Finding;
use lastunit::store::pool;
use lastunit::topology::Topology;
use serde_json::Value;

use super::{Shop, Told};

/// Which event a message is, in whatever envelope.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Event {
    subject: String,
    id: String,
    order_ref: String,
}

/// The messages of an inbound stream, as far as it was read: the places of each event.
#[derive(Default)]
pub struct Heard(HashMap<Event, Vec<i64>>);

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
    /// Invariants 1 to 7. Panics with what breaks one. Everything must be settled before: only then has every message been acknowledged.
    pub async fn audit(&self) {
        let found: Vec<String> = self.findings().await.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{found:#?}");
        self.audit_told("STOCK", self.stream("STOCK").await).await;
    }

    /// What the audit finds.
    pub async fn findings(&self) -> Vec<Finding> {
        let broker = Broker { jetstream: self.js.clone(), topology: Arc::new(Topology::load(None, "").unwrap()) };
        let mut session = pool::session(&self.database).await.unwrap();
        let mut found = Vec::new();
        let mut take = |finding: &Finding| {
            found.push(finding.clone());
            Ok(())
        };
        let report = audit::run(&mut session, &self.database, Ok(&broker), &mut take).await.unwrap();
        assert_eq!(report.unchecked, None);
        found
    }

    /// Every message of an inbound stream, of which these are new, has exactly one fate: it is a dead letter, or its event was taken. One that came again
    /// while the first waited, which was refused in the end, shares the fate of that, however long after. (That it came before that end is for the
    /// program's own audit.) An event of which all messages are dead letters was not taken.
    pub async fn audit_fates(&self, stream: &str, heard: &mut Heard, news: &[Told]) {
        for message in news {
            heard.0.entry(Event::of(message)).or_default().push(i64::try_from(message.sequence).unwrap());
        }
        let dead = self.dead_sequences(stream).await;
        let events: Vec<&Event> = heard.0.keys().collect();
        let taken = self.taken(&events).await;
        for (event, taken) in events.into_iter().zip(taken) {
            let dead = heard.0[event].iter().map(|sequence| dead.contains(sequence));
            let (one_dead, all_dead) = dead.fold((false, true), |(one, all), dead| (one || dead, all && dead));
            if !(taken || one_dead) || (taken && all_dead) {
                let fate = if taken { "was taken and is dead" } else { "has no fate" };
                panic!("{event:?} at {:?} of {stream} {fate}: {:?}", heard.0[event], self.story_of(event).await);
            }
        }
    }

    /// All that the tables say of an event, for a person to find out how it came about.
    async fn story_of(&self, event: &Event) -> Vec<String> {
        let rows = "SELECT 'processed ' || p::text FROM processed_event p WHERE subject = $1 AND event_id = $2
            UNION ALL SELECT concat_ws(' ', 'dead', stream, sequence, received_at, subject, reason, detail, opened_at,
                                       encode(body, 'escape')) FROM dead_letter
                      WHERE position(convert_to('\"' || $2 || '\"', 'UTF8') IN body) > 0
            UNION ALL SELECT 'order ' || o::text FROM sales_order o WHERE order_ref = $3
            UNION ALL SELECT 'step ' || e::text FROM reservation_event e JOIN reservation r ON r.id = e.reservation_id
                      WHERE r.order_ref = $3";
        let (subject, id, order_ref) = (&event.subject, &event.id, &event.order_ref);
        sqlx::query_scalar(rows).bind(subject).bind(id).bind(order_ref).fetch_all(&self.db).await.unwrap()
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
    async fn taken(&self, events: &[&Event]) -> Vec<bool> {
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

    /// The last event of each row carries its figures.
    pub async fn audit_told(&self, stream: &str, all: Vec<Told>) {
        let mut last: HashMap<(String, String), Value> = HashMap::new();
        for told in all {
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
