//! Subjects and names, with and without the prefix.

/// The longest a subject token of ours may be.
const TOKEN_MAX: usize = 64;

/// Whether `text` can be one token of a subject.
pub(super) fn is_token(text: &str) -> bool {
    (1..=TOKEN_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// A stream's name under a prefix. Names may not contain a dot.
pub(super) fn stream_name(prefix: &str, family: &str) -> String {
    if prefix.is_empty() { family.to_owned() } else { format!("{prefix}_{family}") }
}

/// A subject under a prefix.
pub(super) fn published(prefix: &str, subject: &str) -> String {
    if prefix.is_empty() { subject.to_owned() } else { format!("{prefix}.{subject}") }
}

/// Whether some subject matches both patterns.
pub(super) fn overlap(left: &str, right: &str) -> bool {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        match (left.next(), right.next()) {
            (Some(">"), Some(_)) | (Some(_), Some(">")) | (None, None) => return true,
            (None, _) | (_, None) => return false,
            (Some(one), Some(other)) => {
                if one != other && one != "*" && other != "*" {
                    return false;
                }
            }
        }
    }
}

/// Whether every subject that `narrow` matches is matched by `wide` too.
pub(super) fn covers(wide: &str, narrow: &str) -> bool {
    let (mut wide, mut narrow) = (wide.split('.'), narrow.split('.'));
    loop {
        match (wide.next(), narrow.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some("*"), Some(token)) if token != ">" => {}
            (Some(one), Some(other)) if one == other => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_pattern_covers_a_narrower_one() {
        for (wide, narrow) in
            [("a.>", "a.b.c"), ("a.>", "a.>"), ("a.>", "a.*"), ("a.*", "a.b"), ("a.*.>", "a.b.>"), ("a", "a")]
        {
            assert!(covers(wide, narrow), "{wide} {narrow}");
        }
        for (wide, narrow) in
            [("a.b.>", "a.>"), ("a.*", "a.>"), ("a.*", "a"), ("a.b", "a.*"), ("a", "a.b"), ("a.>", "a")]
        {
            assert!(!covers(wide, narrow), "{wide} {narrow}");
        }
    }

    #[test]
    fn patterns_overlap_where_a_subject_matches_both() {
        for (left, right) in
            [("order.>", "order.created.web"), ("order.*.web", "order.created.*"), (">", "dead.>"), ("a.b", "a.b")]
        {
            assert!(overlap(left, right), "{left} {right}");
            assert!(overlap(right, left), "{right} {left}");
        }
        for (left, right) in [("order.>", "order"), ("order.>", "orders.>"), ("order.*", "order.created.web")] {
            assert!(!overlap(left, right), "{left} {right}");
            assert!(!overlap(right, left), "{right} {left}");
        }
    }

    #[test]
    fn a_token_has_no_dot_and_no_wildcard() {
        assert!(is_token("shop-1_a"));
        for bad in ["", "a.b", "*", ">", "a b", "ä", &"a".repeat(65)] {
            assert!(!is_token(bad), "{bad}");
        }
    }
}
