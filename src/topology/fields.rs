//! The keys of a stream's and of a consumer's configuration, and what each means to us: its type, what the broker does where it is
//! not given, and whether it may be changed.

use serde_json::{Value, json};

/// One key of a configuration.
#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub rule: Rule,
    pub unsaid: Unsaid,
}

/// What a value is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    Word(&'static [&'static str]),
    Flag,
    Whole,
    Texts,
    Wholes,
    /// An object with these keys, or with any.
    Object(&'static [&'static str]),
    Labels,
    Objects(&'static [&'static str]),
}

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// It names the object, or matters only when it is made: never compared.
    Identity,
    /// It may be changed at any time.
    Free,
    /// A limit, nothing or less meaning none. A lower one loses messages.
    Limit,
    /// A list without order. A shorter one loses messages.
    Set,
    /// It stays what it was when the object was made.
    Fixed,
    /// Where a consumer began. Fixed too, but one that was rewound to an instant is none the worse.
    Begin,
}

/// What counts where a file does not name the key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unsaid {
    /// Whatever the broker has.
    Anything,
    Nothing,
    Number(i64),
    Word(&'static str),
}

impl Unsaid {
    /// The value that counts, or none where any does.
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Anything => None,
            Self::Nothing => Some(Value::Null),
            Self::Number(number) => Some(json!(number)),
            Self::Word(word) => Some(json!(word)),
        }
    }

    /// The word that counts, where it is one.
    pub(super) fn word(self) -> Option<&'static str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Anything | Self::Nothing | Self::Number(_) => None,
        }
    }
}

const fn field(name: &'static str, kind: Kind, rule: Rule, unsaid: Unsaid) -> Field {
    Field { name, kind, rule, unsaid }
}

use Kind::{Flag, Labels, Object, Objects, Text, Texts, Whole, Wholes};
use Rule::{Begin, Fixed, Free, Identity, Limit, Set};
use Unsaid::{Anything, Nothing, Number};

const SOURCE: &[&str] =
    &["name", "opt_start_seq", "opt_start_time", "filter_subject", "external", "subject_transforms", "consumer"];
const TRANSFORM: &[&str] = &["src", "dest"];
const NO_LIMIT: Unsaid = Number(-1);

/// A stream's keys.
pub(super) const STREAM: &[Field] = &[
    field("name", Text, Identity, Anything),
    field("description", Text, Free, Anything),
    field("subjects", Texts, Set, Nothing),
    field("sources", Objects(SOURCE), Set, Nothing),
    field("mirror", Object(SOURCE), Fixed, Nothing),
    field("retention", Kind::Word(&["limits", "interest", "workqueue"]), Fixed, Unsaid::Word("limits")),
    field("storage", Kind::Word(&["file", "memory"]), Fixed, Unsaid::Word("file")),
    field("discard", Kind::Word(&["old", "new"]), Free, Unsaid::Word("old")),
    field("discard_new_per_subject", Flag, Free, Nothing),
    field("max_bytes", Whole, Limit, NO_LIMIT),
    field("max_age", Whole, Limit, Number(0)),
    field("max_msgs", Whole, Limit, NO_LIMIT),
    field("max_msgs_per_subject", Whole, Limit, NO_LIMIT),
    field("max_msg_size", Whole, Limit, NO_LIMIT),
    field("max_consumers", Whole, Fixed, NO_LIMIT),
    field("num_replicas", Whole, Limit, Anything),
    field("duplicate_window", Whole, Free, Anything),
    field("no_ack", Flag, Free, Nothing),
    field("sealed", Flag, Fixed, Nothing),
    field("subject_transform", Object(TRANSFORM), Free, Nothing),
    field("allow_direct", Flag, Free, Anything),
    field("mirror_direct", Flag, Free, Anything),
    field("allow_rollup_hdrs", Flag, Free, Anything),
    field("deny_delete", Flag, Free, Anything),
    field("deny_purge", Flag, Free, Anything),
    field("republish", Object(&["src", "dest", "headers_only"]), Free, Anything),
    field("placement", Object(&["cluster", "tags", "preferred"]), Free, Anything),
    field("metadata", Labels, Free, Anything),
    field("compression", Text, Free, Anything),
    field("consumer_limits", Object(&["inactive_threshold", "max_ack_pending"]), Free, Anything),
    field("first_seq", Whole, Identity, Anything),
    field("allow_msg_ttl", Flag, Free, Anything),
    field("subject_delete_marker_ttl", Whole, Free, Anything),
    field("allow_atomic", Flag, Free, Anything),
    field("allow_batched", Flag, Free, Anything),
    field("allow_msg_counter", Flag, Free, Anything),
    field("allow_msg_schedules", Flag, Free, Anything),
    field("persist_mode", Text, Free, Anything),
];

/// A consumer's keys. Those of push consumers are compared, so that one in our place is noticed, and refused in a file.
pub(super) const CONSUMER: &[Field] = &[
    field("durable_name", Text, Identity, Anything),
    field("name", Text, Identity, Anything),
    field("description", Text, Free, Anything),
    field("deliver_subject", Text, Fixed, Nothing),
    field("deliver_group", Text, Fixed, Nothing),
    field("flow_control", Flag, Fixed, Nothing),
    field("idle_heartbeat", Whole, Fixed, Nothing),
    field("deliver_policy", Text, Begin, Unsaid::Word("all")),
    field("opt_start_seq", Whole, Fixed, Nothing),
    field("opt_start_time", Text, Identity, Anything),
    field("ack_policy", Kind::Word(&["explicit", "all", "none"]), Fixed, Unsaid::Word("none")),
    field("replay_policy", Text, Fixed, Unsaid::Word("instant")),
    field("filter_subject", Text, Free, Nothing),
    field("filter_subjects", Texts, Free, Nothing),
    field("ack_wait", Whole, Free, Anything),
    field("max_deliver", Whole, Free, NO_LIMIT),
    field("backoff", Wholes, Free, Nothing),
    field("max_ack_pending", Whole, Free, Anything),
    field("max_waiting", Whole, Fixed, Anything),
    field("max_batch", Whole, Free, Nothing),
    field("max_bytes", Whole, Free, Nothing),
    field("max_expires", Whole, Free, Nothing),
    field("inactive_threshold", Whole, Free, Nothing),
    field("headers_only", Flag, Free, Nothing),
    field("rate_limit_bps", Whole, Free, Nothing),
    field("sample_freq", Text, Free, Anything),
    field("num_replicas", Whole, Free, Anything),
    field("mem_storage", Flag, Free, Nothing),
    field("metadata", Labels, Free, Anything),
    field("priority_groups", Texts, Free, Nothing),
    field("priority_policy", Text, Free, Anything),
    field("priority_timeout", Whole, Free, Anything),
    field("pause_until", Text, Free, Anything),
];

impl Kind {
    /// What is wrong with `value`, if anything: the end of a sentence that begins with the key.
    pub(super) fn complaint(self, value: &Value) -> Option<String> {
        let fits = match self {
            Self::Text => value.is_string(),
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Flag => value.is_boolean(),
            Self::Whole => is_whole(value),
            Self::Texts => all(value, Value::is_string),
            Self::Wholes => all(value, is_whole),
            Self::Labels => value.as_object().is_some_and(|labels| labels.values().all(Value::is_string)),
            Self::Object(keys) => return object_complaint(value, keys),
            Self::Objects(keys) => match value.as_array() {
                Some(items) => return items.iter().find_map(|item| object_complaint(item, keys)),
                None => false,
            },
        };
        (!fits).then(|| format!("must be {}, not {value}", self.words()))
    }

    fn words(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Flag => "true or false".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Wholes => "a list of whole numbers".to_owned(),
            Self::Labels => "an object of texts".to_owned(),
            Self::Object(_) => "an object".to_owned(),
            Self::Objects(_) => "a list of objects".to_owned(),
        }
    }
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

fn all(value: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(fits))
}

fn object_complaint(value: &Value, keys: &[&str]) -> Option<String> {
    let Some(object) = value.as_object() else {
        return Some(format!("must be an object, not {value}"));
    };
    let unknown = object.keys().find(|key| !keys.contains(&key.as_str()))?;
    Some(format!("has no key `{unknown}`"))
}
