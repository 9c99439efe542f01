//! What was asked and what was told, read on from where it was read before: no stream is read twice.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::support::{Shop, Told};

/// The books of one run.
#[derive(Default)]
pub struct Books {
    /// Events whose answer has not been seen.
    owed: HashSet<String>,
    /// For each event the id of its answer.
    answers: HashMap<String, String>,
    /// The last message of each subject of STOCK.
    figures: HashMap<String, Told>,
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
        for stream in ["ORDERS", "INVENTORY"] {
            let messages = self.news(shop, stream).await;
            shop.audit_fates(stream, &messages).await;
        }
        self.check_answers(shop).await;
        for told in self.news(shop, "STOCK").await {
            self.figures.insert(told.subject.clone(), told);
        }
        shop.audit_told("STOCK", self.figures.values().cloned().collect()).await;
        shop.audit_told("STOCK_LATEST", shop.stream("STOCK_LATEST").await).await;
    }

    /// Every event was answered exactly once, or stands in DEAD, or waits for its order.
    async fn check_answers(&mut self, shop: &Shop) {
        for told in self.news(shop, "RESERVATIONS").await {
            let Some(event) = told.body["in_reply_to"].as_str() else { continue };
            let before = self.answers.insert(event.to_owned(), told.id());
            assert!(before.is_none_or(|before| before == told.id()), "{event} was answered twice: {}", told.body);
        }
        let mut dead: HashSet<String> = HashSet::new();
        for told in self.news(shop, "DEAD").await {
            dead.extend(event_of(&told));
        }
        let both = dead.iter().find(|event| self.owed.contains(*event) && self.answers.contains_key(*event));
        assert_eq!(both, None, "was answered and is dead");
        let waiting: Vec<String> =
            sqlx::query_scalar("SELECT event_id FROM waiting_message").fetch_all(&shop.db).await.unwrap();
        let waiting: HashSet<String> = waiting.into_iter().collect();
        self.owed.retain(|event| !dead.contains(event) && !self.answers.contains_key(event));
        let silent: Vec<_> = self.owed.iter().filter(|event| !waiting.contains(*event)).take(5).collect();
        assert!(silent.is_empty(), "never answered: {silent:?}");
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

/// The event of a dead letter: its body's, or the one under which it was published.
fn event_of(dead: &Told) -> Option<String> {
    if let Some(id) = dead.body["event_id"].as_str() {
        return Some(id.to_owned());
    }
    let original: Value = serde_json::from_str(dead.header("Lastunit-Original-Headers")?).ok()?;
    Some(original["Nats-Msg-Id"][0].as_str()?.to_owned())
}
