//! Standard output and standard error, as commands use them.
//!
//! Whoever reads may stop: `lastunit dead-letters list | head -1`. That ends no command in a panic, and none that changes something in the
//! middle of it.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use super::Stop;
use crate::visible;

/// Standard output did not take what was to be printed.
#[derive(Debug, thiserror::Error)]
#[error("standard output")]
struct Unprinted(#[source] io::Error);

/// Prints a line for a person.
pub(super) fn line(text: impl Display) -> anyhow::Result<()> {
    bytes(format!("{}\n", visible::line(&text.to_string())).as_bytes())
}

/// Prints lines that the program wrote itself.
pub(super) fn text(text: impl Display) -> anyhow::Result<()> {
    bytes(format!("{}\n", visible::text(text.to_string().trim_end())).as_bytes())
}

/// Prints one JSON document.
pub(super) fn document(document: &impl Serialize) -> anyhow::Result<()> {
    bytes(format!("{}\n", json(document)?).as_bytes())
}

/// A JSON document as it is printed.
pub(super) fn json(document: &impl Serialize) -> anyhow::Result<String> {
    Ok(visible::json(&serde_json::to_string_pretty(document)?).into_owned())
}

/// Prints what somebody sent as it is; on a terminal, which would act upon some of it, as it can be seen.
pub(super) fn sent(body: &[u8]) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        return text(String::from_utf8_lossy(body));
    }
    bytes(body)
}

/// Prints bytes, and hands them on at once: a reader need not wait for the next ones.
pub(super) fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(bytes).and_then(|()| stdout.flush());
    Ok(printed.map_err(Unprinted)?)
}

/// How a command fails whose output could not be written to standard output.
pub(super) fn unprinted(error: io::Error) -> anyhow::Error {
    Unprinted(error).into()
}

/// Says something on standard error. Nothing depends on whether it is read.
pub(super) fn note(text: impl Display) {
    drop(writeln!(io::stderr().lock(), "{}", visible::text(&text.to_string())));
}

/// Whether a command ended because nobody reads what it prints any more: who stopped reading need not be told.
pub(super) fn is_unread(stop: &Stop) -> bool {
    let Stop::Failed(error) = stop else { return false };
    error.downcast_ref::<Unprinted>().is_some_and(|Unprinted(error)| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Rows as they come: lines, or one JSON array.
pub(super) struct List {
    json: bool,
    any: bool,
}

impl List {
    pub(super) fn begin(json: bool) -> Self {
        Self { json, any: false }
    }

    pub(super) fn add(&mut self, row: &impl Serialize, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let before = if self.any { ",\n" } else { "[\n" };
        self.any = true;
        if self.json { bytes(format!("{before}{}", json(row)?).as_bytes()) } else { line(text()) }
    }

    /// The same where a row is several lines for a person.
    pub(super) fn add_lines(&mut self, row: &impl Serialize, lines: impl FnOnce() -> String) -> anyhow::Result<()> {
        if self.json {
            return self.add(row, String::new);
        }
        self.any = true;
        text(lines())
    }

    /// Ends it; without any row a person is told so.
    pub(super) fn end(self, none: Option<&str>) -> anyhow::Result<()> {
        match (self.json, self.any) {
            (true, true) => bytes(b"\n]\n"),
            (true, false) => bytes(b"[]\n"),
            (false, true) => Ok(()),
            (false, false) => none.map_or(Ok(()), line),
        }
    }

    /// Ends it, with a last line for a person.
    pub(super) fn sum_up(self, sum: impl Display) -> anyhow::Result<()> {
        if self.json { self.end(None) } else { line(sum) }
    }
}
