//! All that is wrong with the settings, gathered so that it is said at once.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;

/// Settings that are unknown, of a wrong type, or out of bounds: one sentence each, which names the key.
#[derive(Debug, thiserror::Error)]
pub struct ConfigError {
    problems: Vec<String>,
}

impl ConfigError {
    pub(super) fn about(key: impl Display, what: impl Display) -> Self {
        Self { problems: vec![format!("{key}: {what}")] }
    }

    /// The sentences, in the order of the sections.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [one] => write!(f, "configuration: {one}"),
            many => {
                write!(f, "configuration: {} problems", many.len())?;
                many.iter().try_for_each(|one| write!(f, "\n  {one}"))
            }
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Problems(Vec<String>);

impl Problems {
    /// A sentence about `key`. It must not contain the value of anything that may be secret.
    pub(super) fn add(&mut self, key: impl Display, what: impl Display) {
        self.0.push(format!("{key}: {what}"));
    }

    pub(super) fn within<T>(&mut self, key: impl Display, value: T, bounds: RangeInclusive<T>)
    where
        T: Copy + PartialOrd + Display,
    {
        if !bounds.contains(&value) {
            let (min, max) = bounds.into_inner();
            self.add(key, format_args!("{value} is not between {min} and {max}"));
        }
    }

    /// The value, unless something is wrong.
    pub(super) fn or<T>(self, value: T) -> Result<T, ConfigError> {
        if self.0.is_empty() { Ok(value) } else { Err(ConfigError { problems: self.0 }) }
    }
}
