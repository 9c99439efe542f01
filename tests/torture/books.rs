//! What was asked and what was told, read on from where it was read before: no stream is read twice.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use crate::support::{Heard, Shop, Told};

/// Payments as gateways told them, and what the world was told of them.
#[derive(Default)]
struct Money {
    /// For each payment that succeeded: the events that said so, with the orders they named.
    succeeded: HashMap<String, Vec<(String, String)>>,
    /// Orders that were confirmed when they were made: they pay at the door, or paid elsewhere.
    paid_elsewhere: HashSet<String>,
    /// Events that created orders.
    creations: HashSet<String>,
    /// Events that confirmed an order.
    confirmed: HashSet<String>,
    /// How often each payment was required back, by reason.
    required: HashMap<String, BTreeMap<String, u64>>,
    /// Payments about which a person was asked.
    asked: HashSet<String>,
}

/// Parcels as warehouses told them, and which of them left.
#[derive(Default)]
struct Parcels {
    /// The parcel of each event that said that one left.
    said: HashMap<String, String>,
    /// For each parcel the event that shipped it.
    shipped: HashMap<String, String>,
}

/// The books of one run.
#[derive(Default)]
pub struct Books {
    /// Events whose answer has not been seen.
    owed: HashSet<String>,
    /// For each event the id of its answer.
    answers: HashMap<String, String>,
    /// What was told, by its id: what is told again is told once.
    told: HashSet<String>,
    /// Each order as it was told last, by channel and reference.
    orders: HashMap<String, Value>,
    money: Money,
    parcels: Parcels,
    /// The last message of each subject of STOCK.
    figures: HashMap<String, Told>,
    /// What each inbound stream held.
    heard: HashMap<&'static str, Heard>,
    /// How far each stream was read.
    read: HashMap<&'static str, u64>,
}

impl Books {
    /// An answer is owed from now on.
    pub fn owe(&mut self, event: String) {
        self.owed.insert(event);
    }

    /// Checks what has come since. Everything must be settled.
    ///
    /// # Panics
    /// With what was found.
    pub async fn check(&mut self, shop: &Shop) {
        let found: Vec<String> = shop.findings().await.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{found:#?}");
        for stream in ["ORDERS", "PAYMENTS", "INVENTORY", "SHIPMENTS"] {
            let messages = self.news(shop, stream).await;
            shop.audit_fates(stream, self.heard.entry(stream).or_default(), &messages).await;
            for message in &messages {
                self.money.hear(message);
                self.parcels.hear(message);
            }
        }
        let waiting = self.check_answers(shop).await;
        self.money.check(&waiting);
        self.check_slots();
        self.check_shelves(shop).await;
        for told in self.news(shop, "STOCK").await {
            self.figures.insert(told.subject.clone(), told);
        }
        shop.audit_told("STOCK", self.figures.values().cloned().collect()).await;
        shop.audit_told("STOCK_LATEST", shop.stream("STOCK_LATEST").await).await;
    }

    /// Every event was answered exactly once, or stands in DEAD, or waits for its order. Returns the events that wait.
    async fn check_answers(&mut self, shop: &Shop) -> HashSet<String> {
        for told in self.news(shop, "RESERVATIONS").await {
            if !self.told.insert(told.id()) {
                continue;
            }
            self.money.read(&told);
            self.parcels.read(&told);
            if told.subject.starts_with("reservation.") {
                self.orders.insert(order_of(&told.body), told.body.clone());
            }
            let Some(event) = told.body["in_reply_to"].as_str() else { continue };
            let before = self.answers.insert(event.to_owned(), told.id());
            assert!(before.is_none_or(|before| before == told.id()), "{event} was answered twice: {}", told.body);
        }
        let mut dead: HashSet<String> = HashSet::new();
        for told in self.news(shop, "DEAD").await {
            let event = event_of(&told);
            if told.subject.starts_with("dead.payment.") {
                self.money.forget(event.as_deref());
            }
            dead.extend(event);
        }
        let both = dead.iter().find(|event| self.owed.contains(*event) && self.answers.contains_key(*event));
        assert_eq!(both, None, "was answered and is dead");
        let waiting: Vec<String> =
            sqlx::query_scalar("SELECT event_id FROM waiting_message").fetch_all(&shop.db).await.unwrap();
        let waiting: HashSet<String> = waiting.into_iter().collect();
        self.owed.retain(|event| !dead.contains(event) && !self.answers.contains_key(event));
        let silent: Vec<_> = self.owed.iter().filter(|event| !waiting.contains(*event)).take(5).collect();
        assert!(silent.is_empty(), "never answered: {silent:?}");
        waiting
    }

    /// No two periods of a resource that are promised overlap, by what the world was told of orders.
    fn check_slots(&self) {
        let mut promised: Vec<(String, String, String, &String)> = Vec::new();
        for (order, body) in &self.orders {
            for line in body["lines"].as_array().into_iter().flatten() {
                let text = |field: &str| line[field].as_str().map(str::to_owned);
                let is_promised = line["state"] == "held" || line["state"] == "confirmed";
                if let (Some(resource), Some(from), Some(to), true) =
                    (text("resource"), text("from"), text("to"), is_promised)
                {
                    promised.push((resource, from, to, order));
                }
            }
        }
        promised.sort();
        for pair in promised.windows(2) {
            let [(resource, _, end, first), (other, begin, _, second)] = pair else { continue };
            // All instants are told in one form, so that they compare as text.
            assert!(resource != other || end <= begin, "{resource}: {first} until {end} and {second} from {begin}");
        }
    }

    /// No shelf ever gave more than it had, and what left shelves is what the world was told of orders.
    async fn check_shelves(&self, shop: &Shop) {
        let overdrawn = "SELECT count(*) FROM (
                SELECT sum(delta) OVER (PARTITION BY sku, warehouse ORDER BY id) AS left_there FROM stock_movement
            ) AS step WHERE left_there < 0";
        assert_eq!(shop.number(overdrawn).await, 0, "a shelf gave more than it had");
        let left: Vec<(String, i64)> =
            sqlx::query_as("SELECT sku, -sum(delta)::bigint FROM stock_movement WHERE kind = 'shipped' GROUP BY sku")
                .fetch_all(&shop.db)
                .await
                .unwrap();
        let mut shipped: BTreeMap<String, i64> = BTreeMap::new();
        for line in self.orders.values().flat_map(|body| body["lines"].as_array().into_iter().flatten()) {
            if let (Some(sku), Some(units @ 1..)) = (line["sku"].as_str(), line["shipped_qty"].as_i64()) {
                *shipped.entry(sku.to_owned()).or_default() += units;
            }
        }
        assert_eq!(left.into_iter().collect::<BTreeMap<_, _>>(), shipped, "what left shelves, and what was told");
    }

    async fn news(&mut self, shop: &Shop, stream: &'static str) -> Vec<Told> {
        let read = self.read.entry(stream).or_default();
        let news = shop.stream_after(stream, *read).await;
        if let Some(last) = news.last() {
            *read = last.sequence;
        }
        news
    }
}

impl Money {
    /// What was said to the program.
    fn hear(&mut self, message: &Told) {
        let Some(event) = message.body["event_id"].as_str().map(str::to_owned) else { return };
        if message.subject.starts_with("order.created.") {
            self.creations.insert(event);
        } else if let Some(provider) = message.subject.strip_prefix("payment.succeeded.") {
            let payment = payment_of(provider, &message.body);
            self.succeeded.entry(payment).or_default().push((event, order_of(&message.body)));
        }
    }

    /// What the program told the world, for the first time.
    fn read(&mut self, told: &Told) {
        let body = &told.body;
        if let Some(provider) = told.subject.strip_prefix("refund.required.") {
            let reasons = self.required.entry(payment_of(provider, body)).or_default();
            *reasons.entry(body["reason"].as_str().unwrap().to_owned()).or_default() += 1;
        } else if told.subject.starts_with("review.opened.") {
            let subject = &body["subject"];
            if let Some(provider) = subject["provider"].as_str() {
                self.asked.insert(payment_of(provider, subject));
            }
        } else if told.what() == "confirmed"
            && body["duplicate"] == false
            && let Some(event) = body["in_reply_to"].as_str()
        {
            if self.creations.contains(event) {
                self.paid_elsewhere.insert(order_of(body));
            }
            self.confirmed.insert(event.to_owned());
        }
    }

    /// An event that became a dead letter says nothing.
    fn forget(&mut self, event: Option<&str>) {
        for said in self.succeeded.values_mut() {
            said.retain(|(said, _)| Some(said.as_str()) != event);
        }
    }

    /// Every payment that succeeded confirmed its order, or is required back, or a person was asked; never two of them for one cause.
    fn check(&self, waiting: &HashSet<String>) {
        let mut silent: HashMap<&String, &String> = HashMap::new();
        for (payment, said) in &self.succeeded {
            let confirmed: HashSet<&String> =
                said.iter().map(|(event, _)| event).filter(|event| self.confirmed.contains(*event)).collect();
            let required = self.required.get(payment).cloned().unwrap_or_default();
            let fate = format!("{payment}, said by {said:?}: confirmed by {confirmed:?}, required back {required:?}");
            assert!(confirmed.len() <= 1, "{fate}");
            let useless = |reason: &str| ["expired_and_sold_out", "order_rejected", "already_paid"].contains(&reason);
            let useless = required.keys().filter(|reason| useless(reason)).count();
            assert!(useless + confirmed.len() <= 1, "{fate}");
            let whole: u64 =
                required.iter().filter(|(reason, _)| *reason != "partially_cancelled").map(|(_, n)| n).sum();
            assert!(whole <= 1, "all of it was required back {whole} times: {fate}");
            let answered = !confirmed.is_empty() || !required.is_empty() || self.asked.contains(payment);
            let is_over = said.iter().all(|(event, _)| waiting.contains(event));
            if answered || is_over {
                continue;
            }
            let order = &said[0].1;
            assert!(self.paid_elsewhere.contains(order), "has no fate: {fate}");
            let other = silent.insert(order, payment);
            assert_eq!(other, None, "both are silent, and only one can be the first of {order}: {fate}");
        }
    }
}

impl Parcels {
    /// What was said to the program.
    fn hear(&mut self, message: &Told) {
        let Some(warehouse) = message.subject.strip_prefix("shipment.dispatched.") else { return };
        if let (Some(event), Some(parcel)) = (message.body["event_id"].as_str(), message.body["shipment_ref"].as_str())
        {
            let parcel = format!("{warehouse} {} {parcel}", order_of(&message.body));
            self.said.insert(event.to_owned(), parcel);
        }
    }

    /// What the program told the world, for the first time. Under how many events a parcel is said, it leaves once.
    fn read(&mut self, told: &Told) {
        if told.what() != "shipped" || told.body["duplicate"] != false {
            return;
        }
        let event = told.body["in_reply_to"].as_str().unwrap();
        let parcel = self.said[event].clone();
        let before = self.shipped.insert(parcel.clone(), event.to_owned());
        assert_eq!(before, None, "parcel {parcel} left by an event before {event}");
    }
}

/// A payment's name in the books.
fn payment_of(provider: &str, body: &Value) -> String {
    format!("{provider} {}", body["payment_id"].as_str().unwrap_or_default())
}

/// An order's name in the books.
fn order_of(body: &Value) -> String {
    format!("{} {}", body["channel"].as_str().unwrap_or_default(), body["order_ref"].as_str().unwrap_or_default())
}

/// The event of a dead letter: its body's, or the one under which it was published.
fn event_of(dead: &Told) -> Option<String> {
    if let Some(id) = dead.body["event_id"].as_str() {
        return Some(id.to_owned());
    }
    let original: Value = serde_json::from_str(dead.header("Lastunit-Original-Headers")?).ok()?;
    Some(original["Nats-Msg-Id"][0].as_str()?.to_owned())
}
