//! Every answer that a receiver may give.

use serde_json::json;

use super::*;
use crate::domain::{Sku, Warehouse};

const PAUSE: Duration = Duration::from_secs(9);

fn items(ids: &[&str]) -> Vec<Item> {
    let item = |id: &&str| Item {
        sku: Sku::new("A").expect("a SKU"),
        warehouse: Warehouse::new("main").expect("a warehouse"),
        external_id: (*id).into(),
        external_warehouse_id: "w".into(),
        qty: 5,
        version: 1,
        repeats: 0,
    };
    ids.iter().map(item).collect()
}

fn words(ids: &[&str], status: u16, body: &str) -> Vec<(&'static str, u64)> {
    let word = |outcome: &Outcome| match outcome {
        Outcome::Again { after, .. } => ("again", after.as_secs()),
        other => (other.word(), 0),
    };
    outcomes(&items(ids), &Answer::of(status, body), PAUSE).iter().map(word).collect()
}

#[test]
fn each_status_has_its_outcome() {
    for (status, body, expected) in [
        (200, "", ("accepted", 0)),
        (202, "ok", ("accepted", 0)),
        (204, "", ("accepted", 0)),
        (200, r#"{"status":"ok"}"#, ("accepted", 0)),
        (200, r#"{"items":null}"#, ("unknown", 0)),
        (200, r#"{"items":[{"external_id":1}]}"#, ("unknown", 0)),
        (410, "", ("halted", 0)),
        (401, "", ("halted", 0)),
        (403, "", ("halted", 0)),
        (429, "", ("again", 9)),
        (502, "", ("again", 9)),
        (503, "", ("again", 9)),
        (504, "", ("again", 9)),
        (500, "", ("unknown", 0)),
        (302, "", ("unknown", 0)),
        (400, "", ("split", 0)),
        (422, "", ("split", 0)),
    ] {
        assert_eq!(words(&["a", "b"], status, body), [expected; 2], "{status} {body}");
    }
    assert_eq!(words(&["a"], 422, ""), [("rejected", 0)]);
}

#[test]
fn a_list_answers_for_each_item_by_its_address() {
    let row = |id: &str, warehouse: &str, outcome: &str| json!({ "external_id": id, "external_warehouse_id": warehouse, "outcome": outcome, "reason": "older" });
    let body = json!({ "items": [
        row("b", "w", "rejected"), row("a", "w", "accepted"), row("c", "other", "accepted"), row("d", "w", "perhaps"),
        row("e", "w", "accepted"), row("e", "w", "rejected"),
    ] });
    let answer = Answer::of(200, &body.to_string());
    let said = outcomes(&items(&["a", "b", "c", "d", "e"]), &answer, PAUSE);
    let words: Vec<_> = said.iter().map(Outcome::word).collect();
    assert_eq!(words, ["accepted", "rejected", "unknown", "unknown", "unknown"]);
    assert_eq!(said[1], Outcome::Rejected("older".into()));
}
