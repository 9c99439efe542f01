//! Load: producers that say everything until the broker has it.

use std::time::Duration;

use async_nats::jetstream;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::Shop;

/// A subject and a body.
pub type Said = (String, Value);

/// How many messages are published together.
const TOGETHER: usize = 50;
/// How many where it goes on for long.
const FEW: usize = 5;
/// How often.
const EVERY: Duration = Duration::from_millis(20);
/// How long the broker may take to acknowledge before a message is published again.
const ACKNOWLEDGE_WITHIN: Duration = Duration::from_secs(1);

/// Orders of one unit for each of the SKUs in turn, endlessly. Order `n` has the event id `<name>-<n>`.
pub fn buyers(name: &str, skus: &[&str]) -> impl Iterator<Item = Said> + Send + use<> {
    let name = name.to_owned();
    let skus: Vec<String> = skus.iter().map(|sku| (*sku).to_owned()).collect();
    (0..).map(move |n| {
        let lines = json!([{ "sku": skus[n % skus.len()], "qty": 1 }]);
        let body = json!({ "event_id": format!("{name}-{n}"), "order_ref": format!("{name}-{n}"), "lines": lines });
        ("order.created.web".to_owned(), body)
    })
}

/// Publishing that goes on beside the test.
pub struct Load {
    task: JoinHandle<Vec<String>>,
    stop: CancellationToken,
}

impl Load {
    /// Waits until everything is published, and returns the event ids.
    pub async fn all(self) -> Vec<String> {
        self.task.await.unwrap()
    }

    /// Publishes no more, and returns the event ids of what was.
    pub async fn end(self) -> Vec<String> {
        self.stop.cancel();
        self.all().await
    }
}

impl Shop {
    /// Publishes at a bounded rate, as a producer should: what the broker has not acknowledged is said again with the same event id.
    pub fn load(&self, messages: impl IntoIterator<Item = Said, IntoIter: Send> + Send + 'static) -> Load {
        self.load_by(TOGETHER, messages)
    }

    /// The same, a tenth as fast.
    pub fn trickle(&self, messages: impl IntoIterator<Item = Said, IntoIter: Send> + Send + 'static) -> Load {
        self.load_by(FEW, messages)
    }

    fn load_by(
        &self,
        together: usize,
        messages: impl IntoIterator<Item = Said, IntoIter: Send> + Send + 'static,
    ) -> Load {
        let js = jetstream::ContextBuilder::new().timeout(ACKNOWLEDGE_WITHIN).build(self.js.client());
        let stop = CancellationToken::new();
        let task = tokio::spawn(publish(js, together, messages.into_iter(), stop.clone()));
        Load { task, stop }
    }
}

async fn publish(
    js: jetstream::Context,
    together: usize,
    mut messages: impl Iterator<Item = Said>,
    stop: CancellationToken,
) -> Vec<String> {
    let mut ids = Vec::new();
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !stop.is_cancelled() {
        let mut untaken: Vec<Said> = messages.by_ref().take(together).collect();
        if untaken.is_empty() {
            break;
        }
        ids.extend(untaken.iter().filter_map(|(_, body)| body["event_id"].as_str()).map(str::to_owned));
        while !untaken.is_empty() {
            ticks.tick().await;
            untaken = publish_once(&js, untaken).await;
        }
    }
    ids
}

/// Publishes, and returns what was not acknowledged.
async fn publish_once(js: &jetstream::Context, messages: Vec<Said>) -> Vec<Said> {
    let mut sent = Vec::with_capacity(messages.len());
    for (subject, body) in messages {
        let ack = js.publish(subject.clone(), body.to_string().into()).await;
        sent.push(((subject, body), ack));
    }
    let mut untaken = Vec::new();
    for (message, ack) in sent {
        let taken = match ack {
            Ok(ack) => ack.await.is_ok(),
            Err(_) => false,
        };
        if !taken {
            untaken.push(message);
        }
    }
    untaken
}
