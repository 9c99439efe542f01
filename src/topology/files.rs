//! The files: compiled in, overridden by a directory, parsed strictly, the prefix applied.

use std::fs;
use std::path::{Path, PathBuf};

use async_nats::jetstream::consumer::{self, FromConsumer, pull};
use async_nats::jetstream::stream;
use serde_json::Value;

use super::fields::{CONSUMER, Field, STREAM};
use super::{Config, ConsumerFile, StreamFile, Topology, TopologyError, subject};

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../streams/", $name)))),+]
    };
}

/// The files the program is built with: names and texts. A stream stands before those that source it, and before its consumer.
pub(super) const SHIPPED: &[(&str, &str)] = shipped![
    "ORDERS.stream.json",
    "PAYMENTS.stream.json",
    "SHIPMENTS.stream.json",
    "INVENTORY.stream.json",
    "STOCK.stream.json",
    "STOCK_LATEST.stream.json",
    "RESERVATIONS.stream.json",
    "DEAD.stream.json",
    "ORDERS.lastunit-orders.consumer.json",
    "PAYMENTS.lastunit-payments.consumer.json",
    "INVENTORY.lastunit-inventory.consumer.json",
    "SHIPMENTS.lastunit-shipments.consumer.json",
    "STOCK.lastunit-publisher.consumer.json",
];

/// A file that was found, not yet understood.
#[derive(Debug)]
struct Found {
    path: String,
    /// Of its stream, from the file's name.
    family: String,
    /// Of a consumer, from the file's name; none for a stream.
    durable: Option<String>,
    text: String,
}

/// See [`Topology::load`].
pub(super) fn load(dir: Option<&Path>, prefix: &str) -> Result<Topology, TopologyError> {
    if !prefix.is_empty() && !subject::is_token(prefix) {
        return Err(TopologyError::Prefix(prefix.to_owned()));
    }
    let mut topology = Topology { streams: Vec::new(), consumers: Vec::new(), prefix: prefix.to_owned() };
    for found in gather(dir)? {
        match &found.durable {
            None => topology.streams.push(read_stream(&found, prefix)?),
            Some(durable) => topology.consumers.push(read_consumer(&found, durable, prefix)?),
        }
    }
    Ok(topology)
}

/// The shipped files, each replaced by the one of `dir` that is about the same.
fn gather(dir: Option<&Path>) -> Result<Vec<Found>, TopologyError> {
    let mut all =
        SHIPPED.iter().map(|(name, text)| found(name, name, (*text).to_owned())).collect::<Result<Vec<_>, _>>()?;
    let mut replaced = vec![false; all.len()];
    for path in dir.map(json_files).transpose()?.unwrap_or_default() {
        let label = path.display().to_string();
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let own = found(&label, &name, text)?;
        let same = |other: &Found| other.family == own.family && other.durable.is_some() == own.durable.is_some();
        match all.iter().position(same) {
            None => return Err(wrong(&label, "is about none of our streams or consumers")),
            Some(at) if replaced[at] => {
                return Err(wrong(&label, "is about the same as another file"));
            }
            Some(at) => {
                all[at] = own;
                replaced[at] = true;
            }
        }
    }
    Ok(all)
}

fn json_files(dir: &Path) -> Result<Vec<PathBuf>, TopologyError> {
    let entries = fs::read_dir(dir).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut paths = entries
        .map_err(|error| unreadable(dir, &error))?
        .into_iter()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect::<Vec<_>>();
    paths.sort();
    Ok(paths)
}

/// Understands a file's name.
fn found(path: &str, name: &str, text: String) -> Result<Found, TopologyError> {
    let parts = name.split('.').collect::<Vec<_>>();
    let (family, durable) = match parts[..] {
        [stream, "stream", "json"] => (stream, None),
        [stream, durable, "consumer", "json"] => (stream, Some(durable.to_owned())),
        _ => {
            return Err(wrong(path, "is named neither <STREAM>.stream.json nor <STREAM>.<durable>.consumer.json"));
        }
    };
    Ok(Found { path: path.to_owned(), family: family.to_owned(), durable, text })
}

fn read_stream(found: &Found, prefix: &str) -> Result<StreamFile, TopologyError> {
    let mut config = parse(found, STREAM)?;
    expect(found, &config, "name", &found.family)?;
    prefix_stream(&mut config, prefix);
    let typed = typed::<stream::Config>(found, &config)?;
    Ok(StreamFile {
        file: found.path.clone(),
        family: found.family.clone(),
        name: typed.name,
        subjects: typed.subjects,
        config,
    })
}

fn read_consumer(found: &Found, durable: &str, prefix: &str) -> Result<ConsumerFile, TopologyError> {
    let mut raw = parse(found, CONSUMER)?;
    expect(found, &raw, "durable_name", durable)?;
    if raw.contains_key("filter_subjects") {
        // nats-server 2.9 takes it, ignores it, and delivers everything.
        return Err(wrong(&found.path, "`filter_subjects` is not understood by every server; use `filter_subject`"));
    }
    prefix_key(&mut raw, "filter_subject", |subject| subject::published(prefix, subject));
    let typed = typed::<consumer::Config>(found, &raw)?;
    let config = pull::Config::try_from_consumer_config(typed)
        .map_err(|error| wrong(&found.path, &format!("`deliver_subject`: {error}")))?;
    Ok(ConsumerFile {
        file: found.path.clone(),
        family: found.family.clone(),
        stream: subject::stream_name(prefix, &found.family),
        durable: durable.to_owned(),
        config,
        raw,
    })
}

/// The file's configuration, each key known and of its type.
fn parse(found: &Found, fields: &[Field]) -> Result<Config, TopologyError> {
    let config = serde_json::from_str::<Config>(&found.text).map_err(|error| wrong(&found.path, &error.to_string()))?;
    for (key, value) in &config {
        let field = fields
            .iter()
            .find(|field| field.name == key)
            .ok_or_else(|| wrong(&found.path, &format!("unknown key `{key}`")))?;
        if let Some(complaint) = field.kind.complaint(value) {
            return Err(wrong(&found.path, &format!("`{key}` {complaint}")));
        }
    }
    Ok(config)
}

/// The same configuration as the client library understands it: the last check of words and ranges.
fn typed<T: serde::de::DeserializeOwned>(found: &Found, config: &Config) -> Result<T, TopologyError> {
    serde_json::from_value(Value::Object(config.clone())).map_err(|error| wrong(&found.path, &error.to_string()))
}

/// A file's name and its content must name the same object.
fn expect(found: &Found, config: &Config, key: &str, named: &str) -> Result<(), TopologyError> {
    match config.get(key).and_then(Value::as_str) {
        Some(value) if value == named => Ok(()),
        value => Err(wrong(&found.path, &format!("`{key}` is {value:?}, the file's name says {named:?}"))),
    }
}

fn prefix_stream(config: &mut Config, prefix: &str) {
    let name = |name: &str| subject::stream_name(prefix, name);
    let published = |subject: &str| subject::published(prefix, subject);
    prefix_key(config, "name", name);
    for subject in items(config.get_mut("subjects")) {
        prefix_text(subject, published);
    }
    let sources = items(config.get_mut("sources")).iter_mut();
    for source in sources.filter_map(Value::as_object_mut) {
        prefix_key(source, "name", name);
        prefix_key(source, "filter_subject", published);
    }
}

fn prefix_key(config: &mut Config, key: &str, prefixed: impl Fn(&str) -> String) {
    if let Some(value) = config.get_mut(key) {
        prefix_text(value, prefixed);
    }
}

fn prefix_text(value: &mut Value, prefixed: impl Fn(&str) -> String) {
    if let Value::String(text) = value {
        *text = prefixed(text);
    }
}

fn items(value: Option<&mut Value>) -> &mut [Value] {
    value.and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

fn unreadable(path: &Path, error: &std::io::Error) -> TopologyError {
    wrong(&path.display().to_string(), &format!("cannot be read: {error}"))
}

fn wrong(file: &str, detail: &str) -> TopologyError {
    TopologyError::File { file: file.to_owned(), detail: detail.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads the shipped files overridden by one.
    fn with(name: &str, text: &str) -> Result<Topology, TopologyError> {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(name), text).expect("a file");
        load(Some(dir.path()), "")
    }

    fn shipped(name: &str) -> &'static str {
        SHIPPED.iter().find(|(file, _)| *file == name).expect(name).1
    }

    fn complaint(name: &str, from: &str, to: &str) -> String {
        let text = shipped(name);
        assert!(text.contains(from), "{text}");
        with(name, &text.replace(from, to)).expect_err(to).to_string()
    }

    #[test]
    fn a_typo_is_named_with_its_file_and_key() {
        for (name, from, to, key) in [
            ("ORDERS.stream.json", "\"max_bytes\"", "\"max_byte\"", "`max_byte`"),
            ("ORDERS.stream.json", "\"limits\"", "\"limit\"", "`retention`"),
            ("ORDERS.stream.json", "-1,", "\"-1\",", "`max_msgs`"),
            ("STOCK_LATEST.stream.json", "\"name\": \"STOCK\"", "\"nam\": \"STOCK\"", "`nam`"),
            ("ORDERS.lastunit-orders.consumer.json", "\"ack_wait\"", "\"ackwait\"", "`ackwait`"),
            ("ORDERS.lastunit-orders.consumer.json", "\"all\"", "\"al\"", "`al`"),
            (
                "ORDERS.lastunit-orders.consumer.json",
                "\"filter_subject\": \"order.>\"",
                "\"filter_subjects\": [\"order.>\"]",
                "`filter_subjects`",
            ),
            ("ORDERS.stream.json", "\"ORDERS\"", "\"ORDER\"", "`name`"),
        ] {
            let said = complaint(name, from, to);
            assert!(said.contains(name) && said.contains(key), "{said}");
        }
        let said = complaint("ORDERS.stream.json", "{", "[").clone();
        assert!(said.contains("line 1"), "{said}");
    }

    #[test]
    fn a_file_that_is_none_of_ours_is_refused() {
        for name in ["ORDER.stream.json", "DEAD.x.consumer.json", "orders.json"] {
            let said = with(name, "{}").expect_err(name).to_string();
            assert!(said.contains(name), "{said}");
        }
        let missing = load(Some(Path::new("/nowhere/at/all")), "").expect_err("no directory");
        assert!(missing.to_string().contains("/nowhere/at/all"), "{missing}");
    }

    #[test]
    fn a_directory_overrides_what_it_has() {
        let text = shipped("ORDERS.lastunit-orders.consumer.json")
            .replace("lastunit-orders", "mine")
            .replace("15000000000", "1000000000");
        let topology = with("ORDERS.mine.consumer.json", &text).expect("valid");
        let orders = topology.consumer_of("ORDERS").expect("orders");
        assert_eq!(orders.durable, "mine");
        assert_eq!(orders.config.ack_wait, std::time::Duration::from_secs(1));
        assert_eq!(topology.consumers.len(), load(None, "").expect("valid").consumers.len());
        assert_eq!(topology.streams.len(), 8);
    }

    #[test]
    fn the_prefix_stands_before_names_and_subjects() {
        let topology = load(None, "shop1").expect("valid");
        let orders = topology.stream("ORDERS").expect("orders");
        assert_eq!(orders.name, "shop1_ORDERS");
        assert_eq!(orders.subjects, ["shop1.order.>"]);
        let latest = topology.stream("STOCK_LATEST").expect("latest");
        assert_eq!(latest.config["sources"][0]["name"], "shop1_STOCK");
        let consumer = topology.consumer_of("ORDERS").expect("orders");
        assert_eq!(consumer.stream, "shop1_ORDERS");
        assert_eq!(consumer.config.filter_subject, "shop1.order.>");
        assert_eq!(topology.published("dead.x"), "shop1.dead.x");
        assert_eq!(topology.contracted("shop1.order.a"), Some("order.a"));
        assert_eq!(topology.contracted("shop10.order.a"), None);
        assert!(matches!(load(None, "a.b"), Err(TopologyError::Prefix(_))));
    }

    /// The client library's types are the published interface: what they keep of a file is what a server is told.
    #[test]
    fn shipped_files_survive_the_client_librarys_types() {
        let topology = load(None, "").expect("valid");
        for stream in &topology.streams {
            let typed: stream::Config = serde_json::from_value(Value::Object(stream.config.clone())).expect("typed");
            kept(&stream.file, &stream.config, &serde_json::to_value(typed).expect("JSON"));
        }
        for consumer in &topology.consumers {
            let typed: consumer::Config = serde_json::from_value(Value::Object(consumer.raw.clone())).expect("typed");
            kept(&consumer.file, &consumer.raw, &serde_json::to_value(typed).expect("JSON"));
        }
    }

    fn kept(file: &str, config: &Config, typed: &Value) {
        for (key, value) in config {
            assert_eq!(typed.get(key), Some(value), "{file}: {key}");
        }
    }

    #[test]
    fn shipped_is_the_directory() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams");
        let files = json_files(&dir).expect("readable");
        assert_eq!(files.len(), SHIPPED.len());
        load(Some(&dir), "").expect("the same files");
    }
}
