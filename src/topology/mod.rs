//! Streams and durable consumers: what the files say, what the broker has, and how the one becomes the other.
//!
//! # Files
//!
//! `streams/` holds one JSON file an object, exactly what the `nats` tool takes:
//!
//! | file | read by |
//! |---|---|
//! | `<STREAM>.stream.json` | `nats stream add --config <STREAM>.stream.json` |
//! | `<STREAM>.<durable>.consumer.json` | `nats consumer add <STREAM> --config <STREAM>.<durable>.consumer.json` |
//!
//! A consumer's configuration does not name its stream, so the file's name does. Durations are nanoseconds, sizes bytes, as in the
//! broker's own interface. The files are compiled into the program; a directory named in the settings overrides those it has, stream by
//! stream and consumer by consumer.
//!
//! # What a file does not say
//!
//! What changes the fate of a message (limits, retention, filters …) is then the broker's default; everything else is left as
//! it is found. The file `fields.rs` is the list.

mod apply;
mod census;
mod compare;
mod error;
mod fields;
mod files;
mod judge;
mod resume;
mod rewind;
mod sourcing;
mod subject;
mod wire;

use std::path::Path;

use async_nats::jetstream::consumer::pull;
use serde_json::{Map, Value};

use crate::config::Streams;

pub use apply::{Action, Change};
pub use compare::{Difference, FieldDifference, Nature, Object, State};
pub use error::TopologyError;
pub use sourcing::Lag;

/// The streams messages come in through. A producer's message stays in them until its age ends it, processed or not.
pub const INBOUND: [&str; 4] = ["ORDERS", "PAYMENTS", "SHIPMENTS", "INVENTORY"];

/// The streams the relay writes to.
pub const OUTBOUND: [&str; 3] = ["STOCK", "RESERVATIONS", "DEAD"];

/// One object's configuration, in the broker's own words.
type Config = Map<String, Value>;

/// All streams and durable consumers of the program, as they shall be.
#[derive(Debug, Clone)]
pub struct Topology {
    /// In the order in which they are made: a stream stands before those that source it.
    pub streams: Vec<StreamFile>,
    /// At most one a stream.
    pub consumers: Vec<ConsumerFile>,
    prefix: String,
}

/// A stream as its file describes it, the prefix applied.
#[derive(Debug, Clone)]
pub struct StreamFile {
    /// Where it was read.
    pub file: String,
    /// Its name in the contract: `ORDERS`.
    pub family: String,
    /// Its name at the broker: `ORDERS`, or `shop1_ORDERS` with the prefix `shop1`.
    pub name: String,
    /// What it binds, as published: `order.>`, or `shop1.order.>`. Empty where it sources another stream.
    pub subjects: Vec<String>,
    config: Config,
}

/// A durable pull consumer as its file describes it, the prefix applied.
#[derive(Debug, Clone)]
pub struct ConsumerFile {
    /// Where it was read.
    pub file: String,
    /// Its stream's name in the contract: `ORDERS`.
    pub family: String,
    /// Its stream's name at the broker.
    pub stream: String,
    /// Its own name.
    pub durable: String,
    /// `ack_wait`, `max_ack_pending`, the filter and the rest, typed.
    pub config: pull::Config,
    raw: Config,
}

impl ConsumerFile {
    /// What it is called beside streams: `ORDERS/lastunit-orders`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.stream, self.durable)
    }
}

impl Topology {
    /// Reads the files: the compiled ones, overridden by those of `dir`. With a `prefix`, `shop1`, streams are named `shop1_ORDERS` and
    /// subjects `shop1.order.>`; an empty one changes nothing.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, a key that does not exist, a value of a wrong type: each names the file and the key. A prefix that
    /// is no subject token.
    pub fn load(dir: Option<&Path>, prefix: &str) -> Result<Self, TopologyError> {
        files::load(dir, prefix)
    }

    /// What the settings ask for.
    ///
    /// # Errors
    ///
    /// As [`Topology::load`].
    pub fn of(settings: &Streams) -> Result<Self, TopologyError> {
        Ok(Self::load(settings.dir.as_deref(), &settings.prefix)?.replicated(settings.replicas))
    }

    /// The same on so many nodes of a cluster; on as many as the files say where it is 0. Consumers stand where their streams do.
    fn replicated(mut self, replicas: u8) -> Self {
        for stream in self.streams.iter_mut().filter(|_| replicas > 0) {
            stream.config.insert("num_replicas".to_owned(), replicas.into());
        }
        self
    }

    /// The stream of that family: `ORDERS`.
    pub fn stream(&self, family: &str) -> Option<&StreamFile> {
        self.streams.iter().find(|stream| stream.family == family)
    }

    /// The durable consumer of that family's stream, if it has one.
    pub fn consumer_of(&self, family: &str) -> Option<&ConsumerFile> {
        self.consumers.iter().find(|consumer| consumer.family == family)
    }

    /// The durable consumers of messages that are decided. What hears `STOCK` is not among them: it takes whatever comes, and again.
    pub fn deciding(&self) -> impl Iterator<Item = &ConsumerFile> {
        self.consumers.iter().filter(|consumer| INBOUND.contains(&consumer.family.as_str()))
    }

    /// What the stream of that family is called at the broker.
    pub fn stream_name(&self, family: &str) -> String {
        subject::stream_name(&self.prefix, family)
    }

    /// The subject under which `subject` of the contract is published.
    pub fn published(&self, subject: &str) -> String {
        subject::published(&self.prefix, subject)
    }

    /// The subject of the contract that `published` stands for; none where it lacks the prefix.
    pub fn contracted<'a>(&self, published: &'a str) -> Option<&'a str> {
        if self.prefix.is_empty() {
            return Some(published);
        }
        published.strip_prefix(&self.prefix)?.strip_prefix('.')
    }
}
