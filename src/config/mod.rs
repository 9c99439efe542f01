//! Settings: built-in defaults, then a TOML file, then the environment.

use std::path::Path;

/// All settings of the program.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The broker.
    pub nats: Nats,
    /// The topology's files.
    pub streams: Streams,
    /// The memory of event ids.
    pub inbox: Inbox,
}

/// The broker.
#[derive(Debug, Clone)]
pub struct Nats {
    /// Where it listens.
    pub url: String,
}

/// The topology's files.
#[derive(Debug, Clone)]
pub struct Streams {
    /// A directory that overrides the compiled files.
    pub dir: Option<std::path::PathBuf>,
    /// Stands before the names of streams and before subjects; empty for none.
    pub prefix: String,
}

/// The memory of event ids.
#[derive(Debug, Clone)]
pub struct Inbox {
    /// How long event ids are remembered, in seconds.
    pub keep_s: u64,
}

/// A setting that is unknown, of the wrong type, or out of bounds.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl Settings {
    /// Reads the settings.
    pub fn load(_file: Option<&Path>) -> Result<Self, ConfigError> {
        // Stands in for the settings until they are read.
        let said = |key: &str| std::env::var(key).ok();
        Ok(Self {
            nats: Nats {
                url: said("NATS_URL").unwrap_or_else(|| "nats://127.0.0.1:4222".to_owned()),
            },
            streams: Streams {
                dir: said("LASTUNIT_STREAMS__DIR").map(Into::into),
                prefix: said("LASTUNIT_STREAMS__PREFIX").unwrap_or_default(),
            },
            inbox: Inbox { keep_s: 2_592_000 },
        })
    }
}
