//! Settings: built-in defaults, then a TOML file, then the environment.
//!
//! One file and one struct a section, so that a task is handed the section it needs and sees no other's secrets.
//! `layers` reads the sources, `shape` knows the keys, `secret` keeps what nobody may see, and `problems`
//! gathers everything that is wrong before anything is said.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;

mod audit;
mod batch;
mod channels;
mod database;
mod dead_letters;
mod dev;
mod hold;
mod http;
mod inbox;
mod layers;
mod log;
mod nats;
mod orders;
mod outbox;
mod payments;
mod problems;
mod publisher;
mod replies;
mod secret;
mod shape;
mod startup;
mod streams;
mod sweeper;
mod variables;
mod waiting;

#[cfg(test)]
mod tests;

pub use audit::Audit;
pub use batch::Batch;
pub use channels::{Absent, ChannelKind, ChannelSettings};
pub use database::Database;
pub use dead_letters::DeadLetters;
pub use dev::Dev;
pub use hold::Hold;
pub use http::Http;
pub use inbox::Inbox;
pub use log::{Log, LogFormat};
pub use nats::Nats;
pub use orders::Orders;
pub use outbox::Outbox;
pub use payments::{OnFailure, Payments, Provider};
pub use problems::ConfigError;
pub use publisher::Publisher;
pub use replies::Replies;
pub use startup::Startup;
pub use streams::Streams;
pub use sweeper::Sweeper;
pub use waiting::Waiting;

use layers::Layers;
use problems::Problems;

/// The longest span a setting may name: ten years in seconds. Longer ones are typing errors, and would leave the range
/// of a timestamp.
const MAX_SPAN_S: u64 = 315_360_000;

/// All settings of the program. Neither `Debug` nor `Serialize` shows a secret.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Settings {
    /// Where the database is and how it is used.
    pub database: Database,
    /// Where NATS is.
    pub nats: Nats,
    /// How streams are named and whether they are applied.
    pub streams: Streams,
    /// How long a start waits for its servers.
    pub startup: Startup,
    /// How long a hold lives.
    pub hold: Hold,
    /// Whether new orders are taken.
    pub orders: Orders,
    /// What payments do to holds, and who signs them.
    pub payments: Payments,
    /// What came before its order.
    pub waiting: Waiting,
    /// The timer that looks for what is overdue.
    pub sweeper: Sweeper,
    /// The audit that `run` makes by itself.
    pub audit: Audit,
    /// How much one transaction takes.
    pub batch: Batch,
    /// How long what was told is kept.
    pub outbox: Outbox,
    /// What channels were told.
    pub publisher: Publisher,
    /// How long event ids are remembered.
    pub inbox: Inbox,
    /// How long resolved dead letters are kept.
    pub dead_letters: DeadLetters,
    /// Where replies may be sent.
    pub replies: Replies,
    /// Health, metrics, console.
    pub http: Http,
    /// The sales channels by name, `[A-Za-z0-9_-]{1,64}`.
    pub channels: BTreeMap<String, ChannelSettings>,
    /// What is logged and how.
    pub log: Log,
    /// Which servers `dev` starts.
    pub dev: Dev,
}

impl Settings {
    /// Reads the settings from the file (`lastunit.toml` of the working directory, if there is one, when none is given)
    /// and the environment, and judges them.
    ///
    /// # Errors
    /// Everything that is wrong at once: a file that cannot be read, unknown keys, wrong types, values out of bounds,
    /// secrets that cannot be read.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        Self::load_from(file, std::env::vars_os())
    }

    fn load_from(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let mut layers = Layers::read(file, variables)?;
        let settings = Self {
            database: Database::read(&mut layers),
            nats: Nats::read(&mut layers),
            streams: layers.section("streams"),
            startup: layers.section("startup"),
            hold: layers.section("hold"),
            orders: layers.section("orders"),
            payments: Payments::read(&mut layers),
            waiting: layers.section("waiting"),
            sweeper: layers.section("sweeper"),
            audit: layers.section("audit"),
            batch: layers.section("batch"),
            outbox: layers.section("outbox"),
            publisher: layers.section("publisher"),
            inbox: layers.section("inbox"),
            dead_letters: layers.section("dead_letters"),
            replies: layers.section("replies"),
            http: Http::read(&mut layers),
            channels: channels::read(&mut layers),
            log: layers.section("log"),
            dev: layers.section("dev"),
        };
        let mut problems = layers.into_problems();
        settings.find(&mut problems);
        problems.or(settings)
    }

    /// Judges all that can be judged without a connection.
    ///
    /// # Errors
    /// Every value that is out of bounds, each naming its key.
    pub fn judge(&self) -> Result<(), ConfigError> {
        let mut problems = Problems::default();
        self.find(&mut problems);
        problems.or(())
    }

    fn find(&self, problems: &mut Problems) {
        self.database.judge(problems);
        self.nats.judge(problems);
        self.streams.judge(problems);
        self.startup.judge(problems);
        self.hold.judge(problems);
        self.payments.judge(problems);
        self.waiting.judge(problems);
        self.sweeper.judge(problems);
        self.audit.judge(problems);
        self.batch.judge(problems);
        self.outbox.judge(problems);
        self.publisher.judge(problems);
        self.inbox.judge(problems);
        self.dead_letters.judge(problems);
        self.replies.judge(problems);
        self.http.judge(problems);
        for (name, channel) in &self.channels {
            channel.judge(name, problems);
        }
        self.log.judge(problems);
    }
}
