//! What became of a file.

use serde::Serialize;

/// What to do with the good rows of a file that has bad ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadRows {
    /// Nothing: a file is taken whole or not at all.
    Refuse,
    /// Take them.
    Skip,
}

/// A row that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BadRow {
    /// Its line in the file, the header's being 1.
    pub line: usize,
    /// Why, as a sentence for a person.
    pub reason: String,
}

/// What became of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Rows that changed something.
    pub taken: usize,
    /// Rows that say what was so before.
    pub unchanged: usize,
    /// Rows that were not taken, by line.
    pub bad: Vec<BadRow>,
}

impl Report {
    /// Whether the rows at hand may be taken, as far as is known by now.
    pub(super) fn allows(&self, bad_rows: BadRows) -> bool {
        self.bad.is_empty() || bad_rows == BadRows::Skip
    }

    /// Says that a row cannot be taken.
    pub(super) fn refuse(&mut self, line: usize, reason: impl Into<String>) {
        self.bad.push(BadRow { line, reason: reason.into() });
    }
}
