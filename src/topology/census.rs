//! When streams and consumers were made, and how far they have come.

use async_nats::jetstream::Context;
use serde_json::Value;

use super::{ConsumerFile, OUTBOUND, Topology, TopologyError};
use crate::domain::Timestamp;
use crate::messages::parse_instant;
use crate::store::broker::Known;

/// The stream of figures.
const STOCK: &str = "STOCK";
/// The stream that has the last message of each subject of `STOCK`.
const LATEST: &str = "STOCK_LATEST";

impl Topology {
    /// Those of our streams and durable consumers that are there.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Unreachable`], [`TopologyError::Refused`].
    pub async fn census(&self, js: &Context) -> Result<Vec<Known>, TopologyError> {
        let mut known = Vec::new();
        // What hears STOCK may be made anew as often as it likes: nothing is lost by it.
        let hears = self.consumer_of(STOCK).map(ConsumerFile::id);
        for wanted in self.wanted().filter(|wanted| Some(wanted.id()) != hears) {
            let Some(info) = wanted.info(js).await? else { continue };
            known.extend(made_at(&info).map(|made_at| Known {
                name: wanted.id(),
                made_at,
                last_seq: last_seq(&info),
                oldest_at: oldest_at(&info),
            }));
        }
        Ok(known)
    }

    /// Whether the stream that is called so at the broker is one that the relay, directly or not, fills.
    pub fn is_told(&self, name: &str) -> bool {
        OUTBOUND.iter().chain(&[LATEST]).any(|family| self.stream_name(family) == name)
    }
}

fn made_at(info: &Value) -> Option<Timestamp> {
    info["created"].as_str().and_then(parse_instant)
}

/// 0 for a consumer.
fn last_seq(info: &Value) -> i64 {
    info["state"]["last_seq"].as_i64().unwrap_or(0)
}

fn oldest_at(info: &Value) -> Option<Timestamp> {
    let state = &info["state"];
    state["messages"].as_u64().filter(|messages| *messages > 0)?;
    state["first_ts"].as_str().and_then(parse_instant)
}
