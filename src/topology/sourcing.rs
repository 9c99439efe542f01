//! Whether a stream that sources another keeps up with it.
//!
//! The broker does that by itself, but nats-server 2.9 can stop at a message that it takes for a duplicate, and then says nothing of it.

use async_nats::jetstream::Context;
use serde_json::{Value, json};

use super::resume::{last_sourced, restart};
use super::wire::ask;
use super::{StreamFile, Topology, TopologyError};

/// How far a stream is with what it sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lag {
    /// The stream that sources, by its name at the broker.
    pub stream: String,
    /// The one it sources.
    pub source: String,
    /// The last sequence the source has.
    pub last: u64,
    /// The last of them that the stream has; 0 without any.
    pub sourced: u64,
}

impl Lag {
    /// How many messages are missing.
    pub fn behind(&self) -> u64 {
        self.last.saturating_sub(self.sourced)
    }
}

impl Topology {
    /// How far each stream is that sources another of ours. A source that holds no message is left out: there is nothing to have of it.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Unreachable`], [`TopologyError::Refused`].
    pub async fn lags(&self, js: &Context) -> Result<Vec<Lag>, TopologyError> {
        let mut lags = Vec::new();
        for reader in &self.streams {
            for source in self.sources_of(reader) {
                // The reader first: what it has cannot be ahead of what the source is found to have.
                let sourced = last_sourced(js, reader, &source.name).await?.unwrap_or(0);
                let info = ask(js, &source.name, format!("STREAM.INFO.{}", source.name), &json!({})).await?;
                let number = |field: &str| info["state"][field].as_u64().unwrap_or(0);
                if number("messages") > 0 {
                    let (stream, source, last) = (reader.name.clone(), source.name.clone(), number("last_seq"));
                    lags.push(Lag { stream, source, last, sourced });
                }
            }
        }
        Ok(lags)
    }

    /// Begins the sourcing of a stream anew: it goes on after the last message it has, and nothing is lost.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Unreachable`], [`TopologyError::Refused`], [`TopologyError::Ignored`].
    pub async fn source_anew(&self, js: &Context, stream: &str) -> Result<(), TopologyError> {
        match self.streams.iter().find(|one| one.name == stream) {
            Some(reader) => restart(js, reader).await,
            None => Ok(()),
        }
    }

    fn sources_of<'a>(&'a self, reader: &'a StreamFile) -> impl Iterator<Item = &'a StreamFile> {
        let sources = reader.config.get("sources").and_then(Value::as_array).into_iter().flatten();
        sources.filter_map(|source| self.streams.iter().find(|one| source["name"] == one.name))
    }
}
