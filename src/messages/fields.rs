//! Typed access to a body, with the field's path in every complaint: `lines[2].qty must be …, but is -1`.

use std::fmt;
use std::ops::RangeInclusive;

use super::json::{Entry, Value, quote, quote_text};
use crate::domain::{NameFault, Reason, Refusal};

/// Where a value stands. Built from borrowed steps, and written out only for a complaint.
#[derive(Clone, Copy)]
enum Path<'p> {
    /// The whole: the body, which has no name of its own, or the member of an envelope that carries it.
    Root(&'static str),
    Key(&'p Path<'p>, &'static str),
    Item(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root("") => f.write_str("the body"),
            Self::Root(name) | Self::Key(Self::Root(""), name) => f.write_str(name),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Item(parent, place) => write!(f, "{parent}[{place}]"),
        }
    }
}

/// A value at its place.
#[derive(Clone, Copy)]
pub(super) struct Field<'v, 'p> {
    value: &'v Value<'v>,
    path: Path<'p>,
}

/// An object at its place.
#[derive(Clone, Copy)]
pub(super) struct Object<'v, 'p> {
    entries: &'v [Entry<'v>],
    path: Path<'p>,
}

impl<'v, 'p> Field<'v, 'p> {
    /// The whole value, under the name of the envelope's member that carries it; no name for the body itself.
    pub(super) fn root(name: &'static str, value: &'v Value<'v>) -> Self {
        Self { value, path: Path::Root(name) }
    }

    /// The value itself.
    pub(super) fn value(&self) -> &'v Value<'v> {
        self.value
    }

    /// The complaint that it is not what it must be.
    pub(super) fn invalid(&self, must: impl fmt::Display) -> Refusal {
        Refusal::new(Reason::InvalidField, format!("{} {must}, but is {}", self.path, quote(self.value)))
    }

    /// Where one of its items stands, for a complaint.
    pub(super) fn item_path(&self, place: usize) -> impl fmt::Display {
        Path::Item(&self.path, place)
    }

    /// Takes it as an object.
    pub(super) fn into_object(self) -> Result<Object<'v, 'p>, Refusal> {
        match self.value {
            Value::Object(entries) => Ok(Object { entries, path: self.path }),
            _ => Err(self.invalid("must be an object")),
        }
    }

    /// Takes it as a list of `bounds` items.
    pub(super) fn items(
        &self,
        bounds: RangeInclusive<usize>,
    ) -> Result<impl ExactSizeIterator<Item = Field<'v, '_>>, Refusal> {
        let Value::List(items) = self.value else {
            return Err(self.invalid("must be a list"));
        };
        if !bounds.contains(&items.len()) {
            let (path, least, most) = (&self.path, bounds.start(), bounds.end());
            return Err(Refusal::new(
                Reason::InvalidField,
                format!("{path} must have {least} to {most} items, but has {}", items.len()),
            ));
        }
        Ok(items.iter().enumerate().map(|(place, value)| Field { value, path: Path::Item(&self.path, place) }))
    }

    /// Takes it as a text.
    pub(super) fn text(&self) -> Result<&'v str, Refusal> {
        match self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.invalid("must be a string")),
        }
    }

    /// Takes it as a name that `judge` accepts, such as `Sku::new`.
    pub(super) fn name<N>(&self, judge: fn(&str) -> Result<N, NameFault>) -> Result<N, Refusal> {
        judge(self.text()?).map_err(|fault| self.invalid(fault))
    }

    /// Takes it as words for people: at most 500 bytes, no control characters.
    pub(super) fn words(&self) -> Result<&'v str, Refusal> {
        let text = self.text()?;
        if text.len() > 500 {
            return Err(self.invalid("must be at most 500 bytes long"));
        }
        if text.contains(char::is_control) {
            return Err(self.invalid("must not contain control characters"));
        }
        Ok(text)
    }

    /// Takes it as a whole number within bounds. Only a JSON integer is one: `1.0` and `1e3` are not.
    pub(super) fn whole(&self, bounds: RangeInclusive<i64>) -> Result<i64, Refusal> {
        let number = match self.value {
            Value::Natural(number) => i64::try_from(*number).ok(),
            Value::Negative(number) => Some(*number),
            _ => None,
        };
        number.filter(|number| bounds.contains(number)).ok_or_else(|| {
            let (least, most) = (bounds.start(), bounds.end());
            self.invalid(format_args!("must be a whole number from {least} to {most}"))
        })
    }

    /// Takes it as a whole number of at least 1; one that is too large to be kept is as good as the largest.
    pub(super) fn at_least_one(&self) -> Result<u64, Refusal> {
        /// Numbers from here on are not kept exactly, and are whole however they are spelled.
        const BEYOND: f64 = 18_446_744_073_709_551_616.0;
        match self.value {
            Value::Natural(number) if *number >= 1 => Ok(*number),
            Value::Inexact(number) if *number >= BEYOND => Ok(u64::MAX),
            _ => Err(self.invalid("must be a whole number of at least 1")),
        }
    }
}

impl<'v> Object<'v, '_> {
    /// The member of that name. One that is null is as good as none.
    pub(super) fn get(&self, key: &'static str) -> Option<Field<'v, '_>> {
        let (_, value) = self.entries.iter().find(|(name, _)| name == key)?;
        (*value != Value::Null).then_some(Field { value, path: Path::Key(&self.path, key) })
    }

    /// The member of that name, without which nothing can be done.
    pub(super) fn require(&self, key: &'static str) -> Result<Field<'v, '_>, Refusal> {
        self.get(key)
            .ok_or_else(|| Refusal::new(Reason::InvalidField, format!("{} is missing", Path::Key(&self.path, key))))
    }

    /// Judges a member that repeats the subject's token: permissions go by the subject, so the body may not say otherwise.
    pub(super) fn judge_repeated_token(&self, key: &'static str, token: &str) -> Result<(), Refusal> {
        let Some(field) = self.get(key) else {
            return Ok(());
        };
        let named = field.text()?;
        if named == token {
            return Ok(());
        }
        let (path, named) = (&field.path, quote_text(named));
        Err(Refusal::new(Reason::SubjectMismatch, format!("{path} is {named}, but the subject says \"{token}\"")))
    }

    /// The complaint about the object as a whole.
    pub(super) fn invalid(&self, fault: impl fmt::Display) -> Refusal {
        Refusal::new(Reason::InvalidField, format!("{} {fault}", self.path))
    }
}
