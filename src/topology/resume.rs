//! A stream that is made again while another one still sources it.
//!
//! Who sources a stream remembers the last sequence it had, and asks a stream that begins at 1 again for what comes after that: everything
//! told meanwhile would be missing (seen with 2.9.10 and 2.14.0, for up to ten seconds and for as many messages as the old stream had). So the
//! new stream begins where the old one ended, and the sourcing is begun anew at once.

use async_nats::jetstream::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::compare::changed;
use super::wire::{Wanted, ask};
use super::{Config, StreamFile, Topology, TopologyError};

/// The header that tells where a sourced message came from: stream, sequence, and from 2.10 on more.
const SOURCE_HEADER: &str = "Nats-Stream-Source:";

/// Creates a stream, continued where one of its name ended as far as those that source it know.
pub(super) async fn create(js: &Context, topology: &Topology, stream: &StreamFile) -> Result<(), TopologyError> {
    let mut config = stream.config.clone();
    let mut sourcing = Vec::new();
    let readers = topology.streams.iter();
    for reader in readers.filter(|reader| sources(&reader.config, &stream.name)) {
        let Some(have) = Wanted::Stream(reader).look(js).await? else {
            continue;
        };
        if let Some(last) = last_sourced(js, reader, &stream.name).await? {
            tracing::warn!(
                stream = stream.name,
                last,
                "made again; its messages are gone, {} goes on after the last one it had",
                reader.name
            );
            // Known from 2.10 on; before that, to begin the sourcing anew is enough.
            config.insert("first_seq".to_owned(), json!(last + 1));
            sourcing.push((reader, as_sourcing(reader, &have)));
        }
    }
    Wanted::Stream(stream).write(js, "CREATE", &config).await?;
    for (reader, have) in sourcing {
        source_anew(js, reader, have).await?;
    }
    Ok(())
}

/// Begins the sourcing of `reader` anew: it goes on after the last message it has.
pub(super) async fn restart(js: &Context, reader: &StreamFile) -> Result<(), TopologyError> {
    match Wanted::Stream(reader).look(js).await? {
        Some(have) => source_anew(js, reader, as_sourcing(reader, &have)).await,
        None => Ok(()),
    }
}

/// The configuration `reader` has, but sourcing as its file says: another copy may be between the two steps of [`source_anew`].
fn as_sourcing(reader: &StreamFile, have: &Config) -> Config {
    let mut config = changed(have, &[], false);
    for key in ["sources", "subjects"] {
        match reader.config.get(key) {
            Some(said) => config.insert(key.to_owned(), said.clone()),
            None => config.remove(key),
        };
    }
    config
}

/// Ends the sourcing and begins it again: a server looks for a stream that is back only every ten seconds or so.
async fn source_anew(js: &Context, reader: &StreamFile, config: Config) -> Result<(), TopologyError> {
    let mut without = config.clone();
    without.remove("sources");
    // Not compared with what comes back: another copy may be at the same.
    let update = format!("STREAM.UPDATE.{}", reader.name);
    ask(js, &reader.name, update, &json!(without)).await?;
    let wanted = Wanted::Stream(reader);
    wanted.write(js, "UPDATE", &config).await
}

fn sources(config: &Config, name: &str) -> bool {
    let sources = config.get("sources").and_then(Value::as_array);
    sources.is_some_and(|sources| sources.iter().any(|source| source["name"] == name))
}

/// The sequence in `name` of the last message that `reader` has from it.
pub(super) async fn last_sourced(js: &Context, reader: &StreamFile, name: &str) -> Result<Option<u64>, TopologyError> {
    let info = format!("STREAM.INFO.{}", reader.name);
    let info = ask(js, &reader.name, info, &json!({})).await?;
    let last = json!({ "seq": info["state"]["last_seq"] });
    let get = format!("STREAM.MSG.GET.{}", reader.name);
    match ask(js, &reader.name, get, &last).await {
        Ok(answer) => Ok(sequence(answer["message"]["hdrs"].as_str(), name)),
        // No message, no memory.
        Err(TopologyError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn sequence(headers: Option<&str>, name: &str) -> Option<u64> {
    let headers = String::from_utf8(STANDARD.decode(headers?).ok()?).ok()?;
    let source = headers.lines().find_map(|line| line.strip_prefix(SOURCE_HEADER))?;
    let mut words = source.split_whitespace();
    (words.next()? == name).then_some(())?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_read_from_both_forms_of_the_header() {
        for header in ["STOCK 5", "STOCK 5 > > stock.changed.main.A"] {
            let headers = STANDARD.encode(format!("NATS/1.0\r\nNats-Stream-Source: {header}\r\n\r\n"));
            assert_eq!(sequence(Some(&headers), "STOCK"), Some(5));
            assert_eq!(sequence(Some(&headers), "OTHER"), None);
        }
        assert_eq!(sequence(None, "STOCK"), None);
    }
}
