//! What differs between a configuration as it shall be and as it is, and what that means. Pure.

use serde::Serialize;
use serde_json::Value;

use super::Config;
use super::fields::{Field, Kind, Rule, Unsaid};
use super::subject;

/// One stream or consumer that is not as its file says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// `ORDERS`, or `ORDERS/lastunit-orders`.
    pub id: String,
    /// Stream or consumer.
    pub kind: Object,
    /// How it stands.
    #[serde(flatten)]
    pub state: State,
}

/// What a topology is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Object {
    /// A stream.
    Stream,
    /// A durable consumer.
    Consumer,
}

/// How an object differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// It is not there.
    Missing,
    /// It is there, and these of its fields are otherwise.
    Differs {
        /// In the order of the broker's documentation.
        fields: Vec<FieldDifference>,
    },
    /// It cannot be: another stream binds its subjects.
    Overlaps {
        /// The subject it would bind.
        subject: String,
        /// The stream that binds it.
        by: String,
    },
}

/// One field that is not as its file says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldDifference {
    /// Its key.
    pub field: &'static str,
    /// As it is; null where it is not set.
    pub have: Value,
    /// As it shall be.
    pub want: Value,
    /// What changing it would mean.
    pub nature: Nature,
}

/// What changing a field would mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// Nothing is lost.
    Applies,
    /// Messages may be lost: it wants a permission.
    Shrinks,
    /// It cannot be done: the object was made otherwise.
    Fixed,
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Consumer => "consumer",
        })
    }
}

impl std::fmt::Display for FieldDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { field, have, want, .. } = self;
        write!(f, "{field} is {have}, shall be {want}")
    }
}

impl Difference {
    /// The fields that differ; none of an object that is missing.
    pub fn fields(&self) -> &[FieldDifference] {
        match &self.state {
            State::Differs { fields } => fields,
            State::Missing | State::Overlaps { .. } => &[],
        }
    }
}

/// The fields in which `have` is not what `want` asks for.
pub(super) fn compare(fields: &[Field], want: &Config, have: &Config) -> Vec<FieldDifference> {
    fields.iter().filter_map(|field| field.difference(want, have)).collect()
}

/// `have` with the differing fields as they shall be. What shrinks is left as it is unless it `may_shrink`.
pub(super) fn changed(have: &Config, differences: &[FieldDifference], may_shrink: bool) -> Config {
    let mut config = have.clone();
    for difference in differences {
        let shrinks = difference.nature == Nature::Shrinks;
        let value = match (&difference.have, &difference.want) {
            (Value::Array(have), Value::Array(want)) if shrinks && !may_shrink => union(have, want),
            (have, _) if shrinks && !may_shrink => have.clone(),
            (_, want) => want.clone(),
        };
        config.insert(difference.field.to_owned(), value);
    }
    // The broker's own notes are not for us to write.
    if let Some(Value::Object(metadata)) = config.get_mut("metadata") {
        metadata.retain(|key, _| !key.starts_with("_nats."));
    }
    config.retain(|_, value| !value.is_null());
    config
}

impl Field {
    fn difference(&self, want: &Config, have: &Config) -> Option<FieldDifference> {
        if self.rule == Rule::Identity {
            return None;
        }
        let want = self.wanted(want)?;
        let have = match have.get(self.name) {
            Some(have) => have.clone(),
            None => self.unsaid.value().unwrap_or_default(),
        };
        let nature = self.nature(&want, &have)?;
        Some(FieldDifference { field: self.name, have, want, nature })
    }

    /// What shall be, none where anything may. A number 0 is the broker's way of saying nothing.
    fn wanted(&self, want: &Config) -> Option<Value> {
        let said = want.get(self.name);
        said.filter(|value| value.as_i64() != Some(0)).cloned().or_else(|| self.unsaid.value())
    }

    /// What going from `have` to `want` means; none where they are the same.
    fn nature(&self, want: &Value, have: &Value) -> Option<Nature> {
        match self.rule {
            Rule::Identity => None,
            Rule::Free => (!self.same(want, have)).then_some(Nature::Applies),
            Rule::Fixed => (!self.same(want, have)).then_some(Nature::Fixed),
            Rule::Begin => (!self.same(want, have) && have != "by_start_time").then_some(Nature::Fixed),
            Rule::Limit => match limit(want).cmp(&limit(have)) {
                std::cmp::Ordering::Less => Some(Nature::Shrinks),
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Greater => Some(Nature::Applies),
            },
            Rule::Set => {
                let (want, have) = (list(want), list(have));
                if !have.iter().all(|one| has(want, one) || is_covered(want, one)) {
                    Some(Nature::Shrinks)
                } else if !want.iter().all(|one| has(have, one)) {
                    Some(Nature::Applies)
                } else {
                    None
                }
            }
        }
    }

    fn same(&self, want: &Value, have: &Value) -> bool {
        match self.kind {
            Kind::Labels | Kind::Object(_) => holds(want, have),
            Kind::Whole if matches!(self.unsaid, Unsaid::Number(-1)) => limit(want) == limit(have),
            _ => want == have || (is_nothing(want) && is_nothing(have)),
        }
    }
}

/// A limit that can be compared: nothing or less means none.
fn limit(value: &Value) -> i128 {
    match value.as_i64() {
        Some(number) if number > 0 => number.into(),
        _ => value.as_u64().filter(|number| *number > 0).map_or(i128::MAX, Into::into),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn union(have: &[Value], want: &[Value]) -> Value {
    // The broker refuses subjects of one stream that overlap.
    let kept: Vec<&Value> = have.iter().filter(|one| has(want, one) || !is_covered(want, one)).collect();
    let new = want.iter().filter(|one| !has(have, one));
    kept.into_iter().chain(new).cloned().collect()
}

/// Whether a wider subject among `items` takes all that `one` takes: then giving `one` up loses nothing.
fn is_covered(items: &[Value], one: &Value) -> bool {
    let Some(one) = one.as_str() else { return false };
    items.iter().filter_map(Value::as_str).any(|wide| subject::covers(wide, one))
}

/// Whether `items` have `one`, sources being told apart by all they say.
fn has(items: &[Value], one: &Value) -> bool {
    items.iter().any(|item| holds(item, one) && holds(one, item))
}

/// Whether `have` has everything that `want` says. Servers add to objects what they know more.
fn holds(want: &Value, have: &Value) -> bool {
    match want {
        Value::Object(said) => said.iter().all(|(key, value)| holds(value, have.get(key).unwrap_or(&Value::Null))),
        _ => want == have || (is_nothing(want) && is_nothing(have)),
    }
}

/// The ways a server says "not set".
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(_) => value.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fields::{CONSUMER, STREAM};
    use super::*;

    fn config(value: Value) -> Config {
        match value {
            Value::Object(config) => config,
            other => panic!("{other} is no object"),
        }
    }

    fn natures(want: Value, have: Value) -> Vec<(&'static str, Nature)> {
        compare(STREAM, &config(want), &config(have))
            .into_iter()
            .map(|difference| (difference.field, difference.nature))
            .collect()
    }

    #[test]
    fn what_a_server_adds_is_no_difference() {
        let want =
            json!({ "name": "A", "subjects": ["a.>"], "retention": "limits", "storage": "file", "max_msgs": -1 });
        let have = json!({ "name": "A", "subjects": ["a.>"], "retention": "limits", "storage": "file", "max_msgs": -1,
            "max_age": 0, "max_bytes": -1, "max_msgs_per_subject": -1, "max_msg_size": -1, "max_consumers": -1, "discard": "old",
            "num_replicas": 3, "sealed": false, "compression": "none", "consumer_limits": {}, "allow_direct": true,
            "metadata": { "_nats.level": "4" }, "from_the_future": 7 });
        assert_eq!(natures(want, have), []);
    }

    #[test]
    fn a_lower_limit_shrinks_and_a_higher_one_does_not() {
        for (want, have, nature) in
            [(10, 20, Nature::Shrinks), (10, -1, Nature::Shrinks), (20, 10, Nature::Applies), (-1, 10, Nature::Applies)]
        {
            for key in ["max_bytes", "max_age", "max_msgs", "max_msgs_per_subject"] {
                let found = natures(json!({ key: want }), json!({ key: have }));
                assert_eq!(found.len(), 1, "{key} {want} {have}");
                assert_eq!(found[0].1, nature, "{key} {want} {have}");
            }
        }
        assert_eq!(natures(json!({ "max_msgs": -1 }), json!({ "max_msgs": 0 })), []);
    }

    #[test]
    fn fewer_subjects_shrink() {
        let subjects = |subjects: Value| json!({ "subjects": subjects });
        let of = |want, have| natures(subjects(want), subjects(have));
        assert_eq!(of(json!(["a", "b"]), json!(["b", "a"])), []);
        assert_eq!(of(json!(["a", "b"]), json!(["a"])), [("subjects", Nature::Applies)]);
        assert_eq!(of(json!(["a"]), json!(["a", "b"])), [("subjects", Nature::Shrinks)]);
        assert_eq!(of(json!(["a"]), json!(["b"])), [("subjects", Nature::Shrinks)]);
        assert_eq!(of(json!(["a.>"]), json!(["a.b.>"])), [("subjects", Nature::Applies)]);
        assert_eq!(of(json!(["a.b.>"]), json!(["a.>"])), [("subjects", Nature::Shrinks)]);
    }

    #[test]
    fn a_stream_of_another_shape_is_fixed() {
        for (key, have) in [
            ("retention", json!("workqueue")),
            ("storage", json!("memory")),
            ("mirror", json!({ "name": "B" })),
            ("sealed", json!(true)),
            ("max_consumers", json!(1)),
        ] {
            assert_eq!(natures(json!({}), json!({ key: have })), [(key, Nature::Fixed)]);
        }
    }

    #[test]
    fn what_changes_a_messages_fate_is_compared_though_unsaid() {
        let want = config(json!({ "durable_name": "a", "ack_policy": "explicit", "filter_subject": "a.>" }));
        for (key, have) in [
            ("deliver_subject", json!("push.me")),
            ("filter_subjects", json!(["a.b", "a.c"])),
            ("headers_only", json!(true)),
            ("max_deliver", json!(3)),
        ] {
            let mut other = want.clone();
            other.insert(key.to_owned(), have);
            let found = compare(CONSUMER, &want, &other);
            assert_eq!(found.len(), 1, "{key}");
            assert_eq!(found[0].field, key);
        }
    }

    #[test]
    fn a_consumer_that_was_rewound_is_no_other() {
        let want = config(json!({ "durable_name": "a", "ack_policy": "explicit", "deliver_policy": "all" }));
        let begun = |policy: &str| {
            let mut have = want.clone();
            have.insert("deliver_policy".to_owned(), policy.into());
            have.insert("opt_start_time".to_owned(), "2027-01-01T10:00:00Z".into());
            compare(CONSUMER, &want, &have).into_iter().map(|found| (found.field, found.nature)).collect::<Vec<_>>()
        };
        assert_eq!(begun("by_start_time"), []);
        assert_eq!(begun("all"), []);
        // These skipped what was there before.
        assert_eq!(begun("new"), [("deliver_policy", Nature::Fixed)]);
        assert_eq!(begun("last"), [("deliver_policy", Nature::Fixed)]);
    }

    #[test]
    fn a_change_keeps_what_the_file_does_not_say() {
        let have =
            config(json!({ "name": "A", "max_bytes": 20, "subjects": ["a", "x"], "num_replicas": 3, "max_age": 5,
            "metadata": { "_nats.level": "4", "team": "b" } }));
        let want = config(json!({ "name": "A", "max_bytes": 10, "subjects": ["a", "b"], "max_age": 9 }));
        let differences = compare(STREAM, &want, &have);
        let left = changed(&have, &differences, false);
        assert_eq!(left["max_bytes"], 20);
        assert_eq!(left["subjects"], json!(["a", "x", "b"]));
        assert_eq!(left["max_age"], 9);
        assert_eq!(left["num_replicas"], 3);
        assert_eq!(left["metadata"], json!({ "team": "b" }));
        let shrunk = changed(&have, &differences, true);
        assert_eq!(shrunk["max_bytes"], 10);
        assert_eq!(shrunk["subjects"], json!(["a", "b"]));
    }
}
