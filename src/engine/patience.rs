//! How often deciding a message has failed, by our own count: the broker's counts outages too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::batch::Item;

/// After so many failures a message is decided in a batch of its own.
pub(super) const ISOLATE_AFTER: u32 = 5;
/// After so many it is given up and becomes a dead letter.
pub(super) const GIVE_UP_AFTER: u32 = 30;

/// Failed decisions by stream and sequence.
#[derive(Debug, Default)]
pub(super) struct Patience(Mutex<HashMap<(Arc<str>, i64), u32>>);

impl Patience {
    /// Counts a failure and returns how many there were.
    pub fn failed(&self, item: &Item) -> u32 {
        let Some(key) = key(item) else { return 0 };
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(key).or_default();
        *count += 1;
        *count
    }

    /// How many failures there were.
    pub fn failures(&self, item: &Item) -> u32 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.is_empty() { 0 } else { key(item).and_then(|key| counts.get(&key).copied()).unwrap_or(0) }
    }

    /// Forgets a message that was decided.
    pub fn succeeded(&self, items: &[&Item]) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !counts.is_empty() {
            for key in items.iter().filter_map(|item| key(item)) {
                counts.remove(&key);
            }
        }
    }
}

fn key(item: &Item) -> Option<(Arc<str>, i64)> {
    item.message.as_ref().map(|message| (message.stream.clone(), message.sequence))
}
