//! The subjects on which the world is told.

use super::percent;
use crate::domain::{Sku, StockKey, Warehouse};

/// A SKU as a subject token: every byte outside `[A-Za-z0-9_-]` as `%XX`, upper-case hex.
pub fn sku_token(sku: &Sku) -> String {
    percent::encode(sku.as_str())
}

/// The SKU of a token that [`sku_token`] made; none for any other, so that a row has one subject and a subject one row.
pub fn parse_sku_token(token: &str) -> Option<Sku> {
    let sku = Sku::new(&percent::decode(token)?).ok()?;
    (sku_token(&sku) == token).then_some(sku)
}

/// Where the figures of a stock row are told.
pub fn stock_subject(key: &StockKey) -> String {
    format!("stock.changed.{}.{}", key.warehouse, sku_token(&key.sku))
}

/// The stock row whose figures are told on a subject.
pub fn parse_stock_subject(subject: &str) -> Option<StockKey> {
    let (warehouse, token) = subject.strip_prefix("stock.changed.")?.split_once('.')?;
    Some(StockKey { sku: parse_sku_token(token)?, warehouse: Warehouse::new(warehouse).ok()? })
}

/// The longest subject that is told whole, in bytes. The broker reads no longer control line than 4096 and cuts the connection over one.
const LONGEST_TOLD: usize = 2_000;

/// Where the dead letter of a message stands. One whose subject is too long to be published stands under its beginning.
pub fn dead_subject(subject: &str) -> String {
    if subject.len() <= LONGEST_TOLD {
        return format!("dead.{subject}");
    }
    let told = subject.floor_char_boundary(LONGEST_TOLD);
    format!("dead.{}", subject[..told].trim_end_matches('.'))
}

/// The `CloudEvents` type of what is told on a subject: the subject without its variable tail, such as `lastunit.stock.changed`.
pub fn ce_type(subject: &str) -> String {
    let tail = subject.match_indices('.').nth(1).map_or(subject.len(), |(dot, _)| dot);
    format!("lastunit.{}", &subject[..tail])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_too_long_to_be_told_stands_under_its_beginning() {
        assert_eq!(dead_subject("order.created.web"), "dead.order.created.web");
        assert_eq!(dead_subject(&"я".repeat(2_000)), format!("dead.{}", "я".repeat(1_000)));
        assert_eq!(dead_subject(&"a.".repeat(2_000)), format!("dead.{}a", "a.".repeat(999)));
    }

    #[test]
    fn odd_skus_go_through_a_subject_and_back() {
        let longest = "я".repeat(100);
        let cases = [
            ("TROPA.", "TROPA%2E"),
            ("007", "007"),
            ("*", "%2A"),
            (">", "%3E"),
            ("two words", "two%20words"),
            ("100%", "100%25"),
            ("%2E", "%252E"),
            ("back\\slash", "back%5Cslash"),
            ("☕", "%E2%98%95"),
            ("caf\u{e9}", "caf%C3%A9"),
            ("cafe\u{301}", "cafe%CC%81"),
            (&longest, &"%D1%8F".repeat(100)),
        ];
        for (text, token) in cases {
            let key = StockKey { sku: Sku::new(text).expect(text), warehouse: Warehouse::new("main").expect("token") };
            let subject = stock_subject(&key);
            assert_eq!(subject, format!("stock.changed.main.{token}"));
            assert_eq!(parse_stock_subject(&subject), Some(key));
        }
    }

    #[test]
    fn only_subjects_of_ours_are_rows() {
        for subject in [
            "stock.changed.main",
            "stock.changed.main.",
            "stock.changed..a",
            "stock.changed.main.a.b",
            "stock.changed.main.%2e",
            "stock.changed.main.%41",
            "stock.changed.main.%20a",
            "stock.changed.ma in.a",
            "reservation.held.web",
        ] {
            assert_eq!(parse_stock_subject(subject), None, "{subject}");
        }
    }

    #[test]
    fn a_type_is_a_subject_without_its_tail() {
        let cases = [
            ("stock.changed.main.a%2Eb", "lastunit.stock.changed"),
            ("reservation.held.web", "lastunit.reservation.held"),
            ("review.opened.oversold", "lastunit.review.opened"),
            ("short", "lastunit.short"),
        ];
        for (subject, kind) in cases {
            assert_eq!(ce_type(subject), kind);
        }
    }
}
