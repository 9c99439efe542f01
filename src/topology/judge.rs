//! What can be said against a topology without asking a broker.

use std::time::Duration;

use serde_json::Value;

use super::fields::{CONSUMER, Field, STREAM};
use super::files::SHIPPED;
use super::{Config, ConsumerFile, INBOUND, OUTBOUND, StreamFile, Topology, TopologyError, subject};

/// The least room of an inbound stream, in bytes.
const INBOUND_BYTES_MIN: i64 = 1 << 30;

impl Topology {
    /// Judges the files without a broker. `inbox_keep` is how long event ids are remembered: a message that outlived its id would be
    /// processed twice.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Judged`] with everything that was found.
    pub fn judge(&self, inbox_keep: Duration) -> Result<(), TopologyError> {
        let mut findings = Vec::new();
        for stream in &self.streams {
            let found = match stream.family.as_str() {
                family if INBOUND.contains(&family) => inbound(stream, inbox_keep),
                family if OUTBOUND.contains(&family) => outbound(stream),
                _ => latest(stream),
            };
            findings
                .extend(found.into_iter().chain(self.unbound(stream)).map(|said| format!("{}: {said}", stream.file)));
        }
        for consumer in &self.consumers {
            let found = durable(consumer).into_iter();
            findings.extend(found.map(|said| format!("{}: {said}", consumer.file)));
        }
        findings.extend(self.overlaps());
        if findings.is_empty() { Ok(()) } else { Err(TopologyError::Judged(findings)) }
    }

    /// The subjects of the contract that the stream's file leaves out.
    fn unbound(&self, stream: &StreamFile) -> Vec<String> {
        let shipped = SHIPPED
            .iter()
            .find(|(name, _)| name.strip_suffix(".stream.json") == Some(&stream.family))
            .and_then(|(_, text)| serde_json::from_str::<Value>(text).ok())
            .unwrap_or_default();
        let needed = shipped["subjects"].as_array().cloned().unwrap_or_default();
        needed
            .iter()
            .filter_map(Value::as_str)
            .map(|subject| self.published(subject))
            .filter(|subject| !stream.subjects.contains(subject))
            .map(|subject| format!("subjects must have {subject}"))
            .collect()
    }

    /// Two streams cannot bind one subject.
    fn overlaps(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for (at, left) in self.streams.iter().enumerate() {
            for right in &self.streams[at + 1..] {
                let pairs = left.subjects.iter().flat_map(|one| right.subjects.iter().map(move |other| (one, other)));
                findings.extend(
                    pairs
                        .filter(|(one, other)| subject::overlap(one, other))
                        .map(|(one, other)| format!("{}: {one} overlaps {other} of {}", left.file, right.file)),
                );
            }
        }
        findings
    }
}

fn inbound(stream: &StreamFile, inbox_keep: Duration) -> Vec<String> {
    let config = &stream.config;
    let max_age = nanos(number(config, "max_age"));
    let mut findings = outbound(stream);
    if max_age.is_zero() {
        findings.push("max_age must be finite".to_owned());
    }
    if max_age >= inbox_keep {
        findings.push(format!(
            "max_age is {} s and must be below inbox.keep_s, {} s",
            max_age.as_secs(),
            inbox_keep.as_secs()
        ));
    }
    if number(config, "max_bytes") < INBOUND_BYTES_MIN {
        findings.push(format!("max_bytes must be at least {INBOUND_BYTES_MIN}"));
    }
    if number(config, "max_msgs") > 0 {
        findings.push("max_msgs must be -1".to_owned());
    }
    if number(config, "max_msgs_per_subject") > 0 {
        findings.push("max_msgs_per_subject must be -1".to_owned());
    }
    findings
}

/// What holds of outbound streams, and of inbound ones too: a full stream is an error to its publisher and never a silent loss.
fn outbound(stream: &StreamFile) -> Vec<String> {
    [("retention", "limits"), ("discard", "new")]
        .into_iter()
        .filter(|(key, must)| word(&stream.config, STREAM, key) != Some(must))
        .map(|(key, must)| format!("{key} must be {must}"))
        .collect()
}

/// The last message of each subject, kept for ever.
fn latest(stream: &StreamFile) -> Vec<String> {
    let mut findings = Vec::new();
    if number(&stream.config, "max_msgs_per_subject") != 1 {
        findings.push("max_msgs_per_subject must be 1".to_owned());
    }
    if number(&stream.config, "max_age") > 0 {
        findings.push("max_age must be 0".to_owned());
    }
    if word(&stream.config, STREAM, "retention") != Some("limits") {
        findings.push("retention must be limits".to_owned());
    }
    findings
}

fn durable(consumer: &ConsumerFile) -> Vec<String> {
    let mut findings = Vec::new();
    if word(&consumer.raw, CONSUMER, "ack_policy") != Some("explicit") {
        findings.push("ack_policy must be explicit".to_owned());
    }
    // We count failed decisions ourselves; a broker that gives up loses the message without a word.
    if number(&consumer.raw, "max_deliver") > 0 {
        findings.push("max_deliver must be -1".to_owned());
    }
    if number(&consumer.raw, "inactive_threshold") > 0 {
        findings.push("inactive_threshold would end the consumer while we are away".to_owned());
    }
    findings
}

/// A number, 0 where the file does not say.
fn number(config: &Config, key: &str) -> i64 {
    config.get(key).and_then(Value::as_i64).unwrap_or(0)
}

fn nanos(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

/// A word, or what counts where the file does not say it.
fn word<'a>(config: &'a Config, fields: &[Field], key: &str) -> Option<&'a str> {
    let unsaid = || {
        let field = fields.iter().find(|field| field.name == key)?;
        field.unsaid.word()
    };
    config.get(key).and_then(Value::as_str).or_else(unsaid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEEP: Duration = Duration::from_hours(30 * 24);

    fn said_of(family: &str, key: &str, value: Value) -> String {
        let mut topology = Topology::load(None, "").expect("valid");
        let stream = topology.streams.iter_mut().find(|stream| stream.family == family);
        stream.expect("known").config.insert(key.to_owned(), value);
        match topology.judge(KEEP) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_shipped_files_will_do() {
        for prefix in ["", "shop1"] {
            let topology = Topology::load(None, prefix).expect("valid");
            topology.judge(KEEP).expect("fine");
        }
    }

    #[test]
    fn the_shipped_streams_fit_into_16_gib() {
        let topology = Topology::load(None, "").expect("valid");
        let sizes = topology.streams.iter().map(|stream| number(&stream.config, "max_bytes"));
        assert!(sizes.clone().all(|bytes| bytes > 0));
        assert!(sizes.sum::<i64>() <= 16 << 30);
    }

    #[test]
    fn an_inbound_stream_never_loses_a_message_in_silence() {
        for (key, value) in [
            ("max_age", json!(0)),
            ("max_age", json!(2_592_000_000_000_000_i64)),
            ("max_bytes", json!(1_073_741_823)),
            ("max_bytes", json!(-1)),
            ("max_msgs", json!(1000)),
            ("discard", json!("old")),
            ("retention", json!("workqueue")),
        ] {
            let said = said_of("INVENTORY", key, value);
            assert!(said.contains("INVENTORY.stream.json") && said.contains(key), "{said}");
        }
        assert_eq!(said_of("ORDERS", "duplicate_window", json!(100_000_000)), "");
    }

    #[test]
    fn the_inbox_outlives_the_streams() {
        let topology = Topology::load(None, "").expect("valid");
        let week = Duration::from_hours(7 * 24);
        topology.judge(week).expect_err("a week is as long as the streams keep");
        topology.judge(week + Duration::from_secs(1)).expect("longer");
    }

    #[test]
    fn each_subject_of_the_contract_is_bound_once() {
        let mut topology = Topology::load(None, "").expect("valid");
        topology.streams[1].subjects = vec!["order.paid".to_owned()];
        let said = topology.judge(KEEP).expect_err("wrong").to_string();
        assert!(said.contains("subjects must have payment.>"), "{said}");
        assert!(said.contains("order.> overlaps order.paid"), "{said}");
    }
}
