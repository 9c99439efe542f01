//! The environment's names and texts.

use std::ffi::OsString;

use figment::value::Value;

const PREFIX: &str = "LASTUNIT_";
/// What other tools call two of the settings. The names with our prefix win over them.
const KNOWN_ELSEWHERE: [(&str, [&str; 2]); 2] = [("DATABASE_URL", ["database", "url"]), ("NATS_URL", ["nats", "url"])];

/// The variables that are meant for us, the weaker ones first.
pub(super) fn of_interest(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(String, OsString)> {
    let mut ours: Vec<_> = environment
        .into_iter()
        .filter_map(|(name, text)| Some((name.into_string().ok()?, text)))
        .filter(|(name, text)| {
            let known = KNOWN_ELSEWHERE.iter().any(|(known, _)| known == name);
            (known && !text.is_empty()) || (name.starts_with(PREFIX) && !is_service_link(name))
        })
        .collect();
    ours.sort_by_cached_key(|(name, _)| (name.starts_with(PREFIX), name.clone()));
    ours
}

/// Kubernetes tells every pod of a service named `lastunit` with variables that look like ours.
fn is_service_link(name: &str) -> bool {
    ["LASTUNIT_SERVICE_HOST", "LASTUNIT_PORT"].contains(&name)
        || name.starts_with("LASTUNIT_SERVICE_PORT")
        || name.starts_with("LASTUNIT_PORT_")
}

/// The path of keys a variable means: `LASTUNIT_HOLD__MIN_S` is hold, `min_s`. None without a section.
pub(super) fn path_of(name: &str) -> Option<Vec<String>> {
    if let Some((_, path)) = KNOWN_ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return Some(path.iter().map(ToString::to_string).collect());
    }
    let (section, keys) = name.strip_prefix(PREFIX)?.split_once("__")?;
    let levels = std::iter::once(section).chain(keys.split("__"));
    let path: Vec<_> = levels.map(str::to_ascii_lowercase).collect();
    let is_level = |level: &String| !level.is_empty() && !level.contains('.');
    path.iter().all(is_level).then_some(path)
}

/// A text read as what the default is. Lists are written as in TOML, or with commas.
pub(super) fn value_of(text: &str, default: &Value) -> Value {
    match default {
        Value::String(..) | Value::Empty(..) => Value::from(text),
        Value::Array(..) if !text.trim_start().starts_with('[') => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::from(items.map(Value::from).collect::<Vec<_>>())
        }
        _ => match text.parse() {
            Ok(value) => value,
            Err(never) => match never {},
        },
    }
}
