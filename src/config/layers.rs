//! Where settings come from: defaults, file, environment, later ones winning.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use figment::error::Kind;
use figment::providers::{Format, Serialized, Toml};
use figment::util::nest;
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile};
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::problems::{ConfigError, Problems};
use super::shape::{Meaning, Shape};
use super::{Settings, secret, variables};

const DEFAULT_FILE: &str = "lastunit.toml";

/// All sources merged, and what was found wrong with them so far.
pub(super) struct Layers {
    figment: Figment,
    /// Secrets that stand in the environment, by key (`http.token`). They never enter the figment, whose errors show values.
    secrets: BTreeMap<String, SecretString>,
    problems: Problems,
}

impl Layers {
    /// # Errors
    /// Only where going on would be guessing: the file cannot be read or is no TOML.
    pub(super) fn read(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let shape = Shape::of_defaults();
        let mut layers = Self {
            figment: Figment::from(Serialized::defaults(Settings::default())),
            secrets: BTreeMap::new(),
            problems: Problems::default(),
        };
        if let Some(layer) = read_file(file)? {
            shape.find_unknown(&layer.keys, &layer.origin, &mut layers.problems);
            layers.merge(layer);
        }
        for (name, text) in variables::of_interest(environment) {
            layers.take_variable(&shape, &name, text);
        }
        Ok(layers)
    }

    fn merge(&mut self, layer: Layer) {
        self.figment = std::mem::take(&mut self.figment).merge(layer);
    }

    fn take_variable(&mut self, shape: &Shape, name: &str, text: OsString) {
        let Ok(text) = text.into_string() else {
            return self.problems.add(name, "is not UTF-8");
        };
        let Some(path) = variables::path_of(name) else {
            return self.problems.add(name, "names no setting: settings are LASTUNIT_<SECTION>__<KEY>");
        };
        let key = path.join(".");
        match shape.meaning_of(&path) {
            Meaning::Key(default) => self.merge(Layer {
                origin: format!("variable {name}"),
                keys: nested(&key, variables::value_of(&text, default)),
            }),
            Meaning::Secret => {
                // Its owner is there now, be it a channel of which nothing else is said.
                let owner = path[..path.len() - 1].join(".");
                self.merge(Layer { origin: format!("variable {name}"), keys: nested(&owner, Dict::new().into()) });
                self.secrets.insert(key, text.into());
            }
            Meaning::Section => self.problems.add(key, format_args!("is a section, not a key (variable {name})")),
            Meaning::Unknown => self.problems.add(key, format_args!("unknown key (variable {name})")),
        }
    }

    /// One section, or its defaults when it is wrong.
    pub(super) fn section<T: DeserializeOwned + Default>(&mut self, key: &str) -> T {
        self.table(key).unwrap_or_default()
    }

    /// The table at `key`. None when it is wrong: then the error is kept, and the others are read on.
    pub(super) fn table<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let found = self.figment.focus(key).extract();
        found
            .map_err(|errors| {
                for error in errors {
                    self.add_error(key, error);
                }
            })
            .ok()
    }

    fn add_error(&mut self, table: &str, mut error: figment::Error) {
        error.path.insert(0, table.to_owned());
        let what = match error.kind {
            Kind::MissingField(key) => {
                error.path.push(key.into_owned());
                "is missing".to_owned()
            }
            Kind::UnknownVariant(word, words) => {
                format!("{word:?} is not one of {}", words.join(", "))
            }
            kind => kind.to_string(),
        };
        let origin = error.metadata.map(|from| format!(" ({})", from.name));
        self.problems.add(error.path.join("."), format_args!("{what}{}", origin.unwrap_or_default()));
    }

    /// The names under `key` that are tables: channels, payment providers. A name that is none is a problem.
    pub(super) fn names(&mut self, key: &str) -> Vec<String> {
        let Ok(Value::Dict(_, tables)) = self.figment.find_value(key) else {
            return Vec::new();
        };
        let is_table = |value: &Value| matches!(value, Value::Dict(..));
        let (good, bad): (Vec<_>, Vec<_>) = tables
            .into_iter()
            .filter_map(|(name, value)| is_table(&value).then_some(name))
            .partition(|name| is_name(name));
        for name in bad {
            self.problems.add(format_args!("{key}.{name:?}"), "a name is 1 to 64 of A-Z, a-z, 0-9, _ and -");
        }
        good
    }

    /// Defaults of a table that only its content tells.
    pub(super) fn set_defaults(&mut self, key: &str, defaults: impl Serialize) {
        let defaults = Serialized::default(key, defaults);
        self.figment = std::mem::take(&mut self.figment).join(defaults);
    }

    /// The secret `key`: from its variable, else from the file that the setting `<key>_file` names.
    pub(super) fn secret(&mut self, key: &str, file: Option<&PathBuf>) -> Option<SecretString> {
        let found = match (self.secrets.remove(key), file) {
            (Some(secret), _) => secret::trimmed(&secret),
            (None, Some(file)) => secret::read(file),
            (None, None) => return None,
        };
        found.map_err(|what| self.problems.add(key, what)).ok()
    }

    pub(super) fn into_problems(self) -> Problems {
        self.problems
    }
}

/// `[A-Za-z0-9_-]{1,64}`: a single token of a subject.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// One source: keys, and what errors call it.
struct Layer {
    origin: String,
    keys: Dict,
}

impl figment::Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.origin.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.keys.clone()))
    }
}

fn nested(key: &str, value: Value) -> Dict {
    nest(key, value).into_dict().unwrap_or_default()
}

fn read_file(given: Option<&Path>) -> Result<Option<Layer>, ConfigError> {
    let path = given.unwrap_or(Path::new(DEFAULT_FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if given.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(ConfigError::about(path.display(), error)),
    };
    // The parser's own error quotes the line, which may hold a password.
    let keys = <Toml as Format>::from_str::<Dict>(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        ConfigError::about(path.display(), format_args!("line {line}: {}", error.message().replace('\n', ", ")))
    })?;
    Ok(Some(Layer { origin: path.display().to_string(), keys }))
}
