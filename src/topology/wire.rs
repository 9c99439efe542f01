//! The broker's own interface, as far as streams and consumers are alike in it.
//!
//! Configurations travel as they stand in the files: a typed one would add keys that a file does not say.

use async_nats::jetstream::response::Response;
use async_nats::jetstream::{Context, ErrorCode};
use serde_json::{Value, json};

use super::compare::{Object, compare};
use super::fields::{CONSUMER, Field, STREAM};
use super::{Config, ConsumerFile, StreamFile, TopologyError};

/// The broker's word for "not now".
const UNAVAILABLE: usize = 503;

/// A stream or a consumer, as far as the broker's interface treats them alike.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    Stream(&'a StreamFile),
    Consumer(&'a ConsumerFile),
}

impl<'a> Wanted<'a> {
    pub(super) fn id(self) -> String {
        match self {
            Self::Stream(stream) => stream.name.clone(),
            Self::Consumer(consumer) => consumer.id(),
        }
    }

    pub(super) fn kind(self) -> Object {
        match self {
            Self::Stream(_) => Object::Stream,
            Self::Consumer(_) => Object::Consumer,
        }
    }

    pub(super) fn fields(self) -> &'static [Field] {
        match self {
            Self::Stream(_) => STREAM,
            Self::Consumer(_) => CONSUMER,
        }
    }

    pub(super) fn config(self) -> &'a Config {
        match self {
            Self::Stream(stream) => &stream.config,
            Self::Consumer(consumer) => &consumer.raw,
        }
    }

    /// The configuration the broker has; none where the object, or its stream, is not there.
    pub(super) async fn look(self, js: &Context) -> Result<Option<Config>, TopologyError> {
        Ok(self.info(js).await?.map(config_of))
    }

    /// Everything the broker says of it; none where the object, or its stream, is not there.
    pub(super) async fn info(self, js: &Context) -> Result<Option<Value>, TopologyError> {
        let request = match self {
            Self::Stream(stream) => format!("STREAM.INFO.{}", stream.name),
            Self::Consumer(consumer) => {
                format!("CONSUMER.INFO.{}.{}", consumer.stream, consumer.durable)
            }
        };
        match ask(js, &self.id(), request, &json!({})).await {
            Ok(answer) => Ok(Some(answer)),
            Err(TopologyError::Refused { error, .. })
                if [ErrorCode::STREAM_NOT_FOUND, ErrorCode::CONSUMER_NOT_FOUND].contains(&error.error_code()) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Sends a configuration and checks that it is the one that now counts: nats-server 2.9 takes keys it does not know.
    pub(super) async fn write(self, js: &Context, verb: &str, config: &Config) -> Result<(), TopologyError> {
        let (request, body) = match self {
            Self::Stream(stream) => (format!("STREAM.{verb}.{}", stream.name), json!(config)),
            // The one request that every server since 2.2 takes, for making and for changing.
            Self::Consumer(consumer) => (
                format!("CONSUMER.DURABLE.CREATE.{}.{}", consumer.stream, consumer.durable),
                json!({ "stream_name": consumer.stream, "config": config }),
            ),
        };
        let answer = ask(js, &self.id(), request, &body).await?;
        let ignored = compare(self.fields(), config, &config_of(answer));
        if ignored.is_empty() {
            return Ok(());
        }
        Err(TopologyError::Ignored {
            object: format!("{} {}", self.kind(), self.id()),
            version: js.client().server_info().version,
            fields: ignored.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        })
    }
}

/// Every stream's name and subjects.
pub(super) async fn list(js: &Context) -> Result<Vec<(String, Vec<String>)>, TopologyError> {
    let mut all = Vec::new();
    loop {
        let page = json!({ "offset": all.len() });
        let answer = ask(js, "streams", "STREAM.LIST".to_owned(), &page).await?;
        let streams = answer["streams"].as_array().cloned().unwrap_or_default();
        all.extend(streams.iter().map(|stream| {
            let config = &stream["config"];
            let subjects = config["subjects"].as_array().cloned().unwrap_or_default();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&config["name"]), subjects.iter().map(text).collect())
        }));
        let total = answer["total"].as_u64().unwrap_or(0);
        if streams.is_empty() || all.len() as u64 >= total {
            return Ok(all);
        }
    }
}

fn config_of(mut answer: Value) -> Config {
    let Value::Object(mut config) = answer["config"].take() else {
        return Config::new();
    };
    // What a server gives a stream without subjects and sources.
    if config.get("subjects") == Some(&json!([config.get("name")])) {
        config.remove("subjects");
    }
    config
}

/// One request to the broker's own interface.
pub(super) async fn ask(js: &Context, object: &str, request: String, body: &Value) -> Result<Value, TopologyError> {
    let answer = js
        .request::<_, _, Response<Value>>(request, body)
        .await
        .map_err(|error| TopologyError::Unreachable(error.to_string()))?;
    match answer {
        Response::Ok(answer) => Ok(answer),
        Response::Err { error } if error.code() == UNAVAILABLE => Err(TopologyError::Unreachable(error.to_string())),
        Response::Err { error } => Err(TopologyError::Refused { object: object.to_owned(), error }),
    }
}
