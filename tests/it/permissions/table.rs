//! What was tried and what the server said, as the documents show it.

use std::fmt::{self, Display};
use std::fs;
use std::path::Path;

/// What a server said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Allowed,
    Refused,
}

impl Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowed => "allowed",
            Self::Refused => "**refused**",
        })
    }
}

/// One attempt: who, what, what should be said, what was.
pub struct Attempt {
    pub role: &'static str,
    pub tried: String,
    pub expected: Answer,
    pub answer: Answer,
}

/// Prints the attempts, and fails where an answer was not the expected one or the documents say otherwise.
pub fn conclude(attempts: &[Attempt]) {
    let row = |one: &Attempt| format!("| {} | {} | {} |", one.role, one.tried, one.answer);
    let rows: Vec<String> = attempts.iter().map(row).collect();
    println!("{}", rows.join("\n"));
    let wrong: Vec<String> = attempts.iter().filter(|one| one.answer != one.expected).map(row).collect();
    assert!(wrong.is_empty(), "otherwise than it should be:\n{}", wrong.join("\n"));
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/permissions.md")).unwrap();
    assert!(document.contains(&rows.join("\n")), "docs/permissions.md does not have this table");
}
