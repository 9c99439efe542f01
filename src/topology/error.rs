//! Why the topology cannot be had as the files say.

use async_nats::jetstream;

/// Why the topology cannot be had as the files say. All but [`TopologyError::Unreachable`] and [`TopologyError::Refused`] are for a person to
/// put right: waiting does not help.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// A file that cannot be read, or says what is no configuration.
    #[error("{file}: {detail}")]
    File {
        /// The file.
        file: String,
        /// What is wrong, with the key.
        detail: String,
    },
    /// The prefix cannot stand in front of a stream's name.
    #[error("streams.prefix `{0}` is no subject token: 1 to 64 of A-Z a-z 0-9 _ -")]
    Prefix(String),
    /// The files are valid, but what they describe would lose messages or not work. One sentence a finding.
    #[error("the stream files will not do: {}", .0.join("; "))]
    Judged(Vec<String>),
    /// The broker has an object of that name, or a stream with those subjects, that another program shaped.
    #[error("{}", .0.join("; "))]
    Shaped(Vec<String>),
    /// Doing what the files say would take room, age or subjects from a stream that has them.
    #[error("would shrink: {}; nothing was changed, --allow-shrink permits it", .0.join("; "))]
    Shrinks(Vec<String>),
    /// The server took a configuration and kept another: it is too old for a key.
    #[error("{object}: nats-server {version} does not do what was asked: {fields}")]
    Ignored {
        /// The stream or consumer.
        object: String,
        /// The server's version.
        version: String,
        /// The fields that came back otherwise.
        fields: String,
    },
    /// The server answered that it will not.
    #[error("{object}: the server refuses: {error}")]
    Refused {
        /// The stream or consumer.
        object: String,
        /// Its answer.
        error: jetstream::Error,
    },
    /// The server does not answer, or has no streams at all. Trying again may help.
    #[error("JetStream does not answer: {0}")]
    Unreachable(String),
}
