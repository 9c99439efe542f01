//! Every row of the table of errors, on bodies as Ozon writes them.

use std::collections::HashMap;

use serde_json::json;

use super::super::stocks::take;
use super::*;
use crate::domain::{Sku, Warehouse};

const PAUSE: Duration = Duration::from_secs(9);

fn item(external_id: &str, warehouse: &str, qty: i64) -> Item {
    Item {
        sku: Sku::new("A").expect("a SKU"),
        warehouse: Warehouse::new("main").expect("a warehouse"),
        external_id: external_id.into(),
        external_warehouse_id: warehouse.into(),
        qty,
        version: 1,
        repeats: 0,
    }
}

fn pairs(offers: &[&str]) -> Vec<Pair> {
    offers.iter().map(|offer| pair(&item(offer, "7", 5)).expect("a pair")).collect()
}

/// A word and, where there is one, the wait in seconds.
fn word(outcome: &Outcome) -> (&'static str, u64) {
    match outcome {
        Outcome::Again { after, .. } => ("again", after.as_secs()),
        other => (other.word(), 0),
    }
}

fn of_whole(pairs_asked: usize, status: u16, body: &str) -> (&'static str, u64) {
    let pairs = pairs(&["A", "B"][..pairs_asked]);
    let outcomes = outcomes(&pairs, &Answer::of(status, body), PAUSE);
    assert_eq!(outcomes.len(), pairs_asked);
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
    word(&outcomes[0])
}

fn of_error(code: &str, message: &str) -> Outcome {
    let row = json!({ "result": [{ "warehouse_id": 7, "product_id": 0, "offer_id": "A", "updated": false,
        "errors": [{ "code": code, "message": message }] }] });
    outcomes(&pairs(&["A"]), &Answer::of(200, &row.to_string()), PAUSE).remove(0)
}

#[test]
fn a_push_is_written_to_the_byte() {
    let items = [item("SKU-1", "22142605386000", 15), item("a\"b", "7", 2_000_000)];
    let stocks: Vec<_> = items.iter().map(|item| pair(item).expect("a pair")).collect();
    assert_eq!(
        serde_json::to_string(&Push { stocks: &stocks }).expect("JSON"),
        concat!(
            r#"{"stocks":[{"offer_id":"SKU-1","stock":15,"warehouse_id":22142605386000},"#,
            r#"{"offer_id":"a\"b","stock":999999,"warehouse_id":7}]}"#
        )
    );
    assert!(pair(&item("A", "main", 1)).is_err(), "a warehouse that is no number is never sent");
}

#[test]
fn each_code_of_a_row_has_its_outcome() {
    for (code, message, expected) in [
        ("TOO_MANY_REQUESTS", "Stock is updated too frequently", ("again", 31)),
        ("SOMETHING", "Stock is updated too frequently", ("again", 31)),
        ("", "You have reached request rate limit per second", ("again", 31)),
        ("", "Circle is open", ("again", 120)),
        ("INTERNAL", "Internal error", ("unknown", 0)),
        ("PRICE_IS_NOT_SENT", "", ("deferred", 0)),
        ("product_is_not_created", "", ("deferred", 0)),
        ("PRODUCT_IS_NOT_CREATED", "", ("deferred", 0)),
        ("SOURCE_TYPE_NOT_FOUND", "", ("deferred", 0)),
        ("PRODUCT_HAS_NOT_BEEN_TAGGED_YET", "", ("deferred", 0)),
        ("offer_id_not_found", "", ("rejected", 0)),
        ("NOT_FOUND_ERROR", "", ("rejected", 0)),
        ("WAREHOUSE_NOT_FOUND", "", ("rejected", 0)),
        ("NON_KGT_ON_KGT_WAREHOUSE", "", ("rejected", 0)),
        ("OVER_MAX_OVH_NON_KGT", "", ("rejected", 0)),
        ("OVER_MAX_OVH_KGT", "", ("rejected", 0)),
        ("MULTIBOX_NOT_ALLOWED_FOR_FBS", "", ("rejected", 0)),
        ("FLAMMABLE_ONLY_ON_SELF_OR_PROVIDER_DELIVERY", "", ("rejected", 0)),
        ("FLAMMABLE_ON_NON_KGT_WAREHOUSE", "", ("rejected", 0)),
        ("MP_DELIVERY_ONLY_3PL_ERROR", "", ("rejected", 0)),
        ("CB_DELIVERY_ONLY_FBP", "", ("rejected", 0)),
        ("SIZE_REQUIRED_FOR_NOT_UNIQUE_OFFER_ID", "", ("rejected", 0)),
        ("STOCK_TOO_BIG", "", ("rejected", 0)),
        ("", "Request validation error: invalid ProductsStocksRequest.Stocks[0]", ("rejected", 0)),
        ("", "Api-key is deactivated, use another one", ("halted", 0)),
        ("SKU_STOCK_NOT_CHANGE", "", ("accepted", 0)),
        ("SOMETHING_NEW", "never seen", ("deferred", 0)),
    ] {
        assert_eq!(word(&of_error(code, message)), expected, "{code} {message}");
    }
    assert_eq!(of_error("NOT_FOUND_ERROR", "no such").reason(), Some("NOT_FOUND_ERROR: no such"));
}

#[test]
fn each_status_of_a_call_has_its_outcome() {
    let rpc = |message: &str| json!({ "code": 3, "message": message, "details": [] }).to_string();
    for (status, body, expected) in [
        (429, rpc("You have reached request rate limit per second"), ("again", 9)),
        (400, rpc("Invalid Api-Key, please contact support"), ("halted", 0)),
        (403, rpc("Api-key is missing a required role"), ("halted", 0)),
        (403, rpc("Access is restricted to specific IP addresses"), ("halted", 0)),
        (401, String::new(), ("halted", 0)),
        (400, rpc("Circle is open"), ("again", 120)),
        (404, rpc("page not found"), ("deferred", 0)),
        (409, rpc("conflict"), ("again", 30)),
        (500, rpc("Internal error"), ("unknown", 0)),
        (502, "<html>".to_owned(), ("unknown", 0)),
        (503, rpc("Invalid Api-Key"), ("unknown", 0)),
        (302, String::new(), ("unknown", 0)),
        (200, String::new(), ("unknown", 0)),
        (200, "<html>fine</html>".to_owned(), ("unknown", 0)),
        (200, "{}".to_owned(), ("unknown", 0)),
        (200, r#"{"result":[{"offer_id":"A","wareho"#.to_owned(), ("unknown", 0)),
        (204, String::new(), ("unknown", 0)),
    ] {
        assert_eq!(of_whole(2, status, &body), expected, "{status} {body}");
    }
    let invalid =
        rpc("Request validation error: invalid ProductsStocksRequest.Stocks[0]: embedded message failed validation");
    assert_eq!((of_whole(2, 400, &invalid), of_whole(1, 400, &invalid)), (("split", 0), ("rejected", 0)));
}

#[test]
fn rows_are_matched_by_product_and_warehouse() {
    let row = |offer: &str, warehouse: serde_json::Value, updated: bool| json!({ "offer_id": offer, "warehouse_id": warehouse, "product_id": 0, "updated": updated, "errors": [] });
    let answer = json!({ "result": [
        row("TWICE", json!(7), true),
        row("B", json!("7"), true),
        row("ELSEWHERE", json!(8), true),
        row("A", json!(7), true),
        row("MUTE", json!(7), false),
        row("TWICE", json!(7), true),
        { "offer_id": "BOTH", "warehouse_id": 7, "updated": true, "errors": [{ "code": "NOT_FOUND_ERROR" }] },
    ] });
    let asked = pairs(&["A", "B", "ELSEWHERE", "ABSENT", "MUTE", "TWICE", "BOTH"]);
    let words: Vec<_> =
        outcomes(&asked, &Answer::of(200, &answer.to_string()), PAUSE).iter().map(Outcome::word).collect();
    assert_eq!(words, ["accepted", "accepted", "unknown", "unknown", "deferred", "unknown", "unknown"]);
}

#[test]
fn what_is_for_sale_is_read_and_what_is_no_number_is_a_fault() {
    let read = |row: serde_json::Value| {
        let mut shown = HashMap::new();
        let rows = serde_json::from_value(json!([row])).expect("rows");
        take(rows, 7, &mut shown).map(|()| shown.get("A").copied())
    };
    let row = |figures: serde_json::Value| {
        let mut row = json!({ "offer_id": "A", "warehouse_id": 7 });
        row.as_object_mut().expect("an object").extend(figures.as_object().expect("an object").clone());
        row
    };
    assert_eq!(read(row(json!({ "present": 17, "reserved": 2, "free_stock": 14 }))), Ok(Some(14)));
    assert_eq!(read(row(json!({ "present": 17, "reserved": 2 }))), Ok(Some(15)));
    assert_eq!(read(row(json!({ "free_stock": 0 }))), Ok(Some(0)));
    assert_eq!(read(json!({ "offer_id": "A", "warehouse_id": 8, "free_stock": 3 })), Ok(None));
    for figures in [
        json!({ "free_stock": -1 }),
        json!({ "free_stock": "5" }),
        json!({ "free_stock": 1.5 }),
        json!({ "present": 17 }),
        json!({ "present": 1, "reserved": 2 }),
        json!({}),
    ] {
        assert!(matches!(read(row(figures.clone())), Err(ReadFault::Failed(_))), "{figures}");
    }
}

#[test]
fn a_reading_that_is_refused_says_whether_the_key_is_to_blame() {
    let read = |status, body| super::read::<serde_json::Value>(&Answer::of(status, body));
    assert_eq!(read(200, "{}"), Ok(json!({})));
    assert!(matches!(read(200, "{"), Err(ReadFault::Failed(_))));
    assert!(matches!(read(429, ""), Err(ReadFault::Failed(_))));
    assert!(matches!(read(500, "Invalid Api-Key"), Err(ReadFault::Failed(_))));
    assert!(matches!(read(400, "Invalid Api-Key"), Err(ReadFault::Halted(_))));
    assert!(matches!(read(403, ""), Err(ReadFault::Halted(_))));
}
