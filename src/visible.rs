//! What others wrote, for a person's eyes.
//!
//! A subject, a header, a body are whatever a producer sent. On a terminal a control character in them is a command: it paints over what was printed
//! before, renames the window, begins a line that looks like one of ours. So it is shown and not sent.

use std::borrow::Cow;

/// The text as one line: what a terminal would act upon, or show in another order than it stands, is written as `\u{1b}`.
pub fn line(text: &str) -> Cow<'_, str> {
    show(text, acts)
}

/// The same over several lines: ends of lines and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    show(text, |c| acts(c) && !matches!(c, '\n' | '\t'))
}

/// The same as JSON, which has an escape of its own. `document` is well-formed: such characters stand in strings only, but for the ends of lines.
pub fn json(document: &str) -> Cow<'_, str> {
    // Each of them is one unit of UTF-16.
    escape(document, |c| acts(c) && c != '\n', |c, to| to.extend([format!("\\u{:04x}", u32::from(c))]))
}

fn show(text: &str, is_hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    escape(text, is_hidden, |c, to| to.extend(c.escape_unicode()))
}

fn escape(text: &str, is_hidden: impl Fn(char) -> bool, write: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            write(c, &mut shown);
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Controls, and what ends a line or turns the direction of reading.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_upon_is_shown() {
        let cases = [
            ("order.created.web", "order.created.web"),
            ("два слова ☕ \\ \"", "два слова ☕ \\ \""),
            ("\u{1b}]0;mine\u{7}", "\\u{1b}]0;mine\\u{7}"),
            ("a\u{9b}31mb\u{7f}", "a\\u{9b}31mb\\u{7f}"),
            ("a\r\nreason: b", "a\\u{d}\\u{a}reason: b"),
            ("\u{202e}gnp.exe\u{2069}", "\\u{202e}gnp.exe\\u{2069}"),
            ("a\u{2028}b", "a\\u{2028}b"),
        ];
        for (sent, shown) in cases {
            assert_eq!(line(sent), shown);
        }
        assert_eq!(text("{\n\t\"a\": \"\u{1b}[2J\"\r\n}"), "{\n\t\"a\": \"\\u{1b}[2J\"\\u{d}\n}");
    }

    #[test]
    fn json_stays_the_same_document() {
        let sent = serde_json::json!({ "subject": "a\u{1b}\u{9b}31m\u{7f}\u{202e}\n☕", "id": 1 });
        let printed = format!("{sent:#}");
        let shown = json(&printed);
        assert!(shown.contains("a\\u001b\\u009b31m\\u007f\\u202e\\n☕"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), sent);
    }
}
