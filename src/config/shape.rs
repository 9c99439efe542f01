//! Which keys there are, and which of them are text: read off the serialized defaults, so that no list of keys stands
//! beside the structs. Unknown keys are found with it, and a variable's text stays text where text is wanted.

use figment::providers::Serialized;
use figment::value::{Dict, Value};
use figment::{Figment, Provider as _};
use serde::Serialize;

use super::problems::Problems;
use super::{ChannelKind, ChannelSettings, Provider, Settings};

/// Stands for any name: of a channel, of a payment provider.
const ANY: &str = "*";

/// Keys with `_file` that name a file for a library to read: there is no variable that could hold what is in it.
const FILES: [&str; 3] = ["ca", "cert", "key"];

pub(super) struct Shape(Dict);

/// What a path of keys means.
pub(super) enum Meaning<'a> {
    /// A setting, with its default.
    Key(&'a Value),
    /// A secret that only the environment may hold; the file names a file with `<key>_file`.
    Secret,
    Section,
    Unknown,
}

impl Shape {
    pub(super) fn of_defaults() -> Self {
        let mut root = dict_of(Settings::default());
        let channel = dict_of(ChannelSettings::of(ChannelKind::Webhook));
        let provider = dict_of(Provider::default());
        for (section, table) in [("channels", channel), ("payments", provider)] {
            if let Some(Value::Dict(_, names)) = root.get_mut(section) {
                names.insert(ANY.into(), table.into());
            }
        }
        Self(root)
    }

    pub(super) fn meaning_of(&self, path: &[String]) -> Meaning<'_> {
        let Some((last, owners)) = path.split_last() else {
            return Meaning::Unknown;
        };
        let mut table = &self.0;
        for owner in owners {
            match child(table, owner) {
                Some(Value::Dict(_, next)) => table = next,
                _ => return Meaning::Unknown,
            }
        }
        match child(table, last) {
            Some(Value::Dict(..)) => Meaning::Section,
            Some(default) => Meaning::Key(default),
            None if is_secret(table, last) => Meaning::Secret,
            None => Meaning::Unknown,
        }
    }

    /// Every key of a file that means nothing.
    pub(super) fn find_unknown(&self, keys: &Dict, origin: &str, problems: &mut Problems) {
        find_unknown(&self.0, keys, "", &mut |key, what| {
            problems.add(key, format_args!("{what} ({origin})"));
        });
    }
}

fn find_unknown(shape: &Dict, keys: &Dict, owner: &str, found: &mut impl FnMut(&str, &str)) {
    for (name, value) in keys {
        let key = format!("{owner}{name}");
        match (child(shape, name), value) {
            (Some(Value::Dict(_, shape)), Value::Dict(_, keys)) => {
                find_unknown(shape, keys, &format!("{key}."), found);
            }
            (Some(Value::Dict(..)), _) if shape.contains_key(name) => {
                found(&key, "is a section, not a key");
            }
            (Some(default), _) if !matches!(default, Value::Dict(..)) => {}
            _ if is_secret(shape, name) => found(
                &key,
                "unknown key: a secret stands in the file that the key with _file names, or in the environment",
            ),
            _ => found(&key, "unknown key"),
        }
    }
}

fn child<'a>(table: &'a Dict, name: &str) -> Option<&'a Value> {
    table.get(name).or_else(|| table.get(ANY))
}

fn is_secret(table: &Dict, name: &str) -> bool {
    !FILES.contains(&name) && table.contains_key(&format!("{name}_file"))
}

fn dict_of(defaults: impl Serialize) -> Dict {
    let layer = Serialized::defaults(defaults);
    // Structs of plain fields serialize; were one not to, every key would be unknown and every test would say so.
    layer.data().ok().and_then(|mut profiles| profiles.remove(Figment::new().profile())).unwrap_or_default()
}
