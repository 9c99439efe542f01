//! What became of events, by what the world was told.

use std::collections::{HashMap, HashSet};

use super::{Shop, Told};

impl Shop {
    /// Every one of these events was answered exactly once on RESERVATIONS, or its message stands in DEAD: never neither, never both. What was
    /// told again under its own id counts once. Returns how often each thing was told.
    pub async fn assert_answered_once(&self, ids: &[String]) -> HashMap<String, usize> {
        let mut fates: HashMap<String, HashSet<String>> = HashMap::new();
        let mut tally: HashMap<String, usize> = HashMap::new();
        let mut note = |event: Option<&str>, what: &str, told: &Told| {
            let Some(event) = event else { return };
            if fates.entry(event.to_owned()).or_default().insert(told.id()) {
                *tally.entry(what.to_owned()).or_default() += 1;
            }
        };
        for told in self.stream("RESERVATIONS").await {
            note(told.body["in_reply_to"].as_str(), told.what(), &told);
        }
        for told in self.stream("DEAD").await {
            note(told.body["event_id"].as_str(), "dead", &told);
        }
        let wrong: Vec<_> = ids.iter().filter(|id| fates.get(*id).map_or(0, HashSet::len) != 1).collect();
        assert!(
            wrong.is_empty(),
            "{} of {} events were not answered exactly once, such as {:?}",
            wrong.len(),
            ids.len(),
            wrong.iter().take(5).map(|id| (id, fates.get(*id))).collect::<Vec<_>>()
        );
        tally
    }

    /// What a stream holds, each event as it was first told.
    pub async fn first_told(&self, stream: &str) -> Vec<Told> {
        let mut seen = HashSet::new();
        let mut told = self.stream(stream).await;
        told.retain(|told| seen.insert(told.id()));
        told
    }

    /// Each row's versions were first told in their order.
    pub async fn assert_told_in_order(&self) {
        let mut versions: HashMap<String, i64> = HashMap::new();
        for told in self.first_told("STOCK").await {
            let version = told.body["version"].as_i64().unwrap();
            let before = versions.insert(told.subject.clone(), version);
            assert!(before.is_none_or(|before| before < version), "{}: {version} after {before:?}", told.subject);
        }
    }
}

impl Told {
    /// The id under which it is told, however often.
    pub fn id(&self) -> String {
        self.header("Nats-Msg-Id").unwrap_or_default().to_owned()
    }
}
