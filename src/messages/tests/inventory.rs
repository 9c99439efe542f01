//! Inventory: received, written off, counted, transferred.

use super::{assert_invalid, kind, moved};
use crate::domain::{CountLine, Digest, Kind, Sku};

#[test]
fn units_come_and_go_by_document() {
    let fields = r#""document_ref":"PO-17","reason":"spring","warehouse":"main",
        "lines":[{"sku":"b","qty":10},{"sku":"a","qty":1},{"sku":"b","qty":5}]"#;
    let lines = vec![moved("b", 15), moved("a", 1)];
    for subject in ["inventory.received.main", "inventory.written_off.main"] {
        let (warehouse, document, moved) = match kind(subject, fields) {
            Ok(Kind::Receive(receipt)) => (receipt.warehouse, receipt.document, receipt.lines),
            Ok(Kind::WriteOff(off)) => (off.warehouse, off.document, off.lines),
            other => panic!("{other:?}"),
        };
        let document = document.expect("a document");
        assert_eq!(warehouse.as_str(), "main");
        assert_eq!(document.document_ref.as_str(), "PO-17");
        assert_eq!(document.digest, Digest::of_moved(&lines));
        assert_eq!(moved, lines);
    }
    let bad = |fields: &str| kind("inventory.received.main", fields);
    assert!(bad(r#""lines":[{"sku":"a","qty":1}]"#).is_ok());
    assert_invalid(bad(r#""document_ref":"","lines":[{"sku":"a","qty":1}]"#), "document_ref must");
    assert_invalid(bad(r#""reason":"\u0007","lines":[{"sku":"a","qty":1}]"#), "reason must");
    assert_invalid(bad(r#""lines":[{"resource":"r"}]"#), "lines[0].sku is missing");
    assert_invalid(bad(r#""lines":[{"sku":"a","qty":1000000},{"sku":"a","qty":1}]"#), "lines[1]");
}

#[test]
fn a_count_says_one_figure_a_sku() {
    let counted = |lines: &str| match kind("inventory.counted.main", &format!("\"lines\":[{lines}]"))? {
        Kind::Count(count) => Ok(count.lines),
        other => panic!("{other:?}"),
    };
    let figure = |on_hand| CountLine { sku: Sku::new("a").expect("sku"), on_hand };
    assert_eq!(counted(r#"{"sku":"a","on_hand":0}"#), Ok(vec![figure(0)]));
    assert_eq!(counted(r#"{"sku":"a","on_hand":1000000000}"#), Ok(vec![figure(1_000_000_000)]));
    assert_eq!(counted(r#"{"sku":"a","on_hand":7},{"sku":"a","on_hand":7}"#), Ok(vec![figure(7)]));
    assert_invalid(
        counted(r#"{"sku":"a","on_hand":7},{"sku":"a","on_hand":8}"#),
        "lines[1].on_hand must be 7, as another line of the same sku says, but is 8",
    );
    for bad in ["-1", "1000000001", "7.0", "\"7\""] {
        assert_invalid(
            counted(&format!("{{\"sku\":\"a\",\"on_hand\":{bad}}}")),
            "lines[0].on_hand must be a whole number from 0 to 1000000000",
        );
    }
}

#[test]
fn a_transfer_goes_to_another_warehouse() {
    let to =
        |to: &str| kind("inventory.transferred.main", &format!("\"to\":{to},\"lines\":[{{\"sku\":\"a\",\"qty\":2}}]"));
    let Ok(Kind::Transfer(transfer)) = to("\"far\"") else { panic!("a transfer") };
    assert_eq!(transfer.warehouse.as_str(), "main");
    assert_eq!(transfer.to.as_str(), "far");
    assert_eq!(transfer.lines, [moved("a", 2)]);
    assert_invalid(to("\"main\""), "to must be another warehouse than the subject's");
    assert_invalid(to("\"a.b\""), "to must be 1 to 64 of");
    assert_invalid(to("null"), "to is missing");
}
