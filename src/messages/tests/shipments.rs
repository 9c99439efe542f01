//! Shipments: dispatched, returned.

use super::{assert_invalid, assert_refused, kind, moved};
use crate::domain::{Condition, Digest, Kind, Reason, ReturnedLine, Sku};

const ORDER: &str = r#""channel":"web","order_ref":"1001""#;

#[test]
fn a_parcel_names_its_order_and_what_is_in_it() {
    let dispatched = |fields: &str| kind("shipment.dispatched.main", &format!("{ORDER},{fields}"));
    let parcel = r#""shipment_ref":"S-1","warehouse":"main","lines":[{"sku":"b","qty":1},{"sku":"a","qty":2},{"sku":"b","qty":4}]"#;
    let Ok(Kind::Ship(shipment)) = dispatched(parcel) else { panic!("a shipment") };
    let lines = vec![moved("b", 5), moved("a", 2)];
    assert_eq!(shipment.digest, Digest::of_moved(&lines));
    assert_eq!(shipment.lines, lines);
    let key = shipment.key;
    assert_eq!((key.order.channel.as_str(), key.order.order_ref.as_str()), ("web", "1001"));
    assert_eq!((key.shipment_ref.as_str(), key.warehouse.as_str()), ("S-1", "main"));

    let line = r#""lines":[{"sku":"a","qty":1}]"#;
    assert_invalid(dispatched(line), "shipment_ref is missing");
    assert_invalid(dispatched(r#""shipment_ref":"S","lines":[]"#), "lines");
    assert_invalid(dispatched(r#""shipment_ref":" S","lines":[{"sku":"a","qty":1}]"#), "shipment_ref must");
    assert_refused(
        dispatched(&format!(r#""warehouse":"far","shipment_ref":"S",{line}"#)),
        Reason::SubjectMismatch,
        "far",
    );
    let without_channel = kind("shipment.dispatched.main", &format!(r#""order_ref":"1","shipment_ref":"S",{line}"#));
    assert_invalid(without_channel, "channel is missing");
    assert_refused(kind("shipment.lost.main", ORDER), Reason::UnknownSubject, "shipment.lost.main");
}

#[test]
fn what_comes_back_is_summed_by_condition_which_is_never_guessed() {
    let returned = |lines: &str| match kind("shipment.returned.main", &format!("{ORDER},\"lines\":[{lines}]"))? {
        Kind::Return(returned) => Ok(returned.lines),
        other => panic!("{other:?}"),
    };
    let came = |sku: &str, qty, condition| ReturnedLine { sku: Sku::new(sku).expect("sku"), qty, condition };
    let lines = [("damaged", 1), ("resellable", 2), ("damaged", 4)]
        .map(|(condition, qty)| format!(r#"{{"sku":"a","qty":{qty},"condition":"{condition}"}}"#))
        .join(",");
    let expected = vec![came("a", 2, Condition::Resellable), came("a", 5, Condition::Damaged)];
    assert_eq!(returned(&lines), Ok(expected));
    assert_invalid(returned(r#"{"sku":"a","qty":1}"#), "lines[0].condition is missing");
    assert_invalid(returned(r#"{"sku":"a","qty":1,"condition":"mint"}"#), "lines[0].condition must");
    assert_invalid(returned(r#"{"sku":"a","qty":0,"condition":"damaged"}"#), "lines[0].qty must");
}
