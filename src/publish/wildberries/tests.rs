//! Every row of the table of answers, on bodies as Wildberries writes them.

use std::collections::HashMap;

use serde_json::json;

use super::super::stocks::take;
use super::*;
use crate::domain::{Sku, Warehouse};

const PAUSE: Duration = Duration::from_secs(9);

fn item(external_id: &str, qty: i64) -> Item {
    Item {
        sku: Sku::new("A").expect("a SKU"),
        warehouse: Warehouse::new("main").expect("a warehouse"),
        external_id: external_id.into(),
        external_warehouse_id: "1234567".into(),
        qty,
        version: 1,
        repeats: 0,
    }
}

fn rows(ids: &[u64]) -> Vec<Row> {
    ids.iter().map(|&chrt_id| Row { chrt_id, amount: 5 }).collect()
}

fn words(ids: &[u64], status: u16, body: &str) -> Vec<(&'static str, u64)> {
    let word = |outcome: &Outcome| match outcome {
        Outcome::Again { after, .. } => ("again", after.as_secs()),
        other => (other.word(), 0),
    };
    outcomes(&rows(ids), &Answer::of(status, body), PAUSE).iter().map(word).collect()
}

#[test]
fn a_push_is_written_to_the_byte() {
    let written: Vec<_> = [item("12345678", 10), item("18446744073709551615", 0), item("3", 100_001)]
        .iter()
        .map(|item| row(item, "1234567").expect("a row"))
        .collect();
    assert_eq!(
        String::from_utf8(body(&written).expect("JSON")).expect("UTF-8"),
        r#"{"stocks":[{"chrtId":12345678,"amount":10},{"chrtId":18446744073709551615,"amount":0},{"chrtId":3,"amount":100000}]}"#
    );
}

#[test]
fn what_is_no_chrt_id_of_the_warehouse_is_never_sent() {
    for id in ["", "0", "-1", "1.5", "2000000000001x", "18446744073709551616"] {
        assert!(row(&item(id, 1), "1234567").is_err(), "{id}");
    }
    assert!(row(&item("1", 1), "7654321").is_err());
    assert!(warehouse_id("../cards").is_err());
}

#[test]
fn each_status_of_a_call_has_its_outcome() {
    let coded = |code: &str| json!({ "code": code, "message": "…", "data": null }).to_string();
    let problem = |status: u16| json!({ "title": "t", "detail": "d", "code": "c", "status": status }).to_string();
    for (status, body, expected) in [
        (204, String::new(), ("accepted", 0)),
        (200, String::new(), ("unknown", 0)),
        (202, String::new(), ("unknown", 0)),
        (400, coded("SKUUploadDisabled"), ("halted", 0)),
        (400, coded("IncorrectRequestBody"), ("split", 0)),
        (400, coded("IncorrectRequest"), ("split", 0)),
        (400, coded("IncorrectParameter"), ("split", 0)),
        (413, String::new(), ("split", 0)),
        (401, problem(401), ("halted", 0)),
        (402, json!({ "title": "t", "detail": "d" }).to_string(), ("halted", 0)),
        (403, coded("AccessDenied"), ("halted", 0)),
        (403, problem(403), ("halted", 0)),
        (404, coded("NotFound"), ("rejected", 0)),
        (404, "<html>".to_owned(), ("deferred", 0)),
        (406, coded("StatusNotAcceptable"), ("halted", 0)),
        (406, coded("WarehouseStocksUpdateBlock"), ("again", 180)),
        (406, String::new(), ("again", 180)),
        (429, problem(429), ("again", 9)),
        (500, coded("InternalServerError"), ("unknown", 0)),
        (503, String::new(), ("unknown", 0)),
        (302, String::new(), ("unknown", 0)),
    ] {
        assert_eq!(words(&[1, 2], status, &body), [expected; 2], "{status} {body}");
    }
    assert_eq!(words(&[1], 400, &coded("IncorrectRequest")), [("rejected", 0)]);
}

#[test]
fn a_conflict_refuses_what_it_names_and_takes_nothing_of_the_rest() {
    for code in [
        "NotFound",
        "UploadDataLimit",
        "CargoWarehouseRestrictionMGT",
        "CargoWarehouseRestrictionSGT",
        "CargoWarehouseRestrictionSGTKGTPlus",
        "CargoWarehouseRestrictionKGTPlus",
        "DeliveryTypeRestriction",
    ] {
        let body = json!([{ "code": code, "message": "m", "data": [{ "sku": "", "chrtId": 2, "amount": 1 }] }]);
        let all = outcomes(&rows(&[1, 2, 3]), &Answer::of(409, &body.to_string()), PAUSE);
        assert_eq!(all.iter().map(Outcome::word).collect::<Vec<_>>(), ["again", "rejected", "again"], "{code}");
        assert!(matches!(&all[0], Outcome::Again { after: Duration::ZERO, .. }));
        assert_eq!(all[1], Outcome::Rejected(format!("{code}: m")));
    }
}

#[test]
fn a_conflict_that_names_nothing_of_the_call_is_split_or_alone_refused() {
    let unnamed = json!([{ "code": "ItemPropertyConflict", "message": "m" }]);
    let by_barcode = json!([{ "code": "NotFound", "data": [{ "sku": "2000000000001", "chrtId": 0, "amount": 0 }] }]);
    let nameless = json!([{ "code": "NotFound", "data": [{}] }]);
    let stranger = json!([{ "code": "NotFound", "data": [{ "chrtId": 77 }] }]);
    for body in [
        unnamed.to_string(),
        by_barcode.to_string(),
        nameless.to_string(),
        stranger.to_string(),
        "<x>".into(),
        "[]".into(),
    ] {
        assert_eq!(words(&[1, 2], 409, &body), [("split", 0); 2], "{body}");
        assert_eq!(words(&[1], 409, &body), [("rejected", 0)], "{body}");
    }
}

#[test]
fn a_warehouse_that_is_being_changed_is_tried_again_in_seconds() {
    let processing = json!({ "code": "StoreIsProcessing", "message": "The store is processing" });
    for body in [json!([processing]).to_string(), processing.to_string()] {
        assert_eq!(words(&[1, 2], 409, &body), [("again", 5); 2], "{body}");
        assert_eq!(words(&[1], 409, &body), [("again", 5)], "{body}");
    }
    let both = json!([{ "code": "NotFound", "data": [{ "chrtId": 2 }] }, processing]);
    assert_eq!(words(&[1, 2], 409, &both.to_string()), [("again", 5), ("rejected", 0)]);
}

#[test]
fn amounts_are_read_and_what_is_no_number_is_a_fault() {
    let read = |stocks: serde_json::Value| {
        let mut shown = HashMap::new();
        take(serde_json::from_value(json!({ "stocks": stocks })).expect("stocks"), &mut shown)
            .map(|()| shown.get(&1).copied())
    };
    assert_eq!(read(json!([{ "chrtId": 1, "amount": 0 }])), Ok(Some(0)));
    assert_eq!(read(json!([{ "chrtId": 2, "amount": 4 }])), Ok(None));
    for row in [json!({ "chrtId": 1, "amount": -1 }), json!({ "chrtId": 1, "amount": "4" }), json!({ "chrtId": 1 })] {
        assert!(matches!(read(json!([row.clone()])), Err(ReadFault::Failed(_))), "{row}");
    }
    assert!(read(json!([{ "chrtId": 1, "amount": 1 }, { "chrtId": 1, "amount": 2 }])).is_err());
}
