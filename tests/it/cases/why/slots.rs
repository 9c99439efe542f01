//! `lastunit explain` of an order whose slot was another's.

use serde_json::{Value, json};

use super::super::{PATIENT, Stage};

/// A slot as an order names it: hours of a day.
fn hours(resource: &str, from: u32, to: u32) -> Value {
    json!({ "resource": resource, "from": format!("2099-01-01T{from:02}:00:00Z"), "to": format!("2099-01-01T{to:02}:00:00Z") })
}

fn book(id: &str, lines: &[Value]) -> Value {
    json!({ "event_id": id, "order_ref": id, "lines": lines })
}

async fn stage(config: &str) -> Stage {
    let stage = Stage::open_with(config).await;
    sqlx::query("INSERT INTO slot_resource (resource) VALUES ('room'), ('hall')")
        .execute(&stage.shop.db)
        .await
        .unwrap();
    stage
}

/// Who had each slot that was asked for, as `room 3-9: order 2-4 state became`.
fn holders(story: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let hour = |value: &Value| value.as_str().unwrap()[11..13].parse::<u32>().unwrap();
    let slots = story["refused"]["slots"].as_array().unwrap();
    let of = |slot: &Value| {
        let asked = format!("{} {}-{}", text(&slot["resource"]), hour(&slot["from"]), hour(&slot["to"]));
        let holder = |holder: &Value| {
            let [order, state, became] = ["order_ref", "state", "became"].map(|field| text(&holder[field]));
            format!("{asked}: {order} {}-{} {state} {became}", hour(&holder["from"]), hour(&holder["to"]))
        };
        slot["holders"].as_array().unwrap().iter().map(holder).collect::<Vec<_>>()
    };
    slots.iter().flat_map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_one_batch_who_stood_before_is_named_and_not_who_came_after() {
    let stage = stage(PATIENT).await;
    let shop = &stage.shop;
    shop.ask("order.created.web", book("1000", &[hours("room", 2, 4)])).await;
    let created = |id: &str, lines: &[Value]| ("order.created.web".to_owned(), book(id, lines));
    shop.in_one_batch(vec![
        created("1001", &[hours("room", 5, 6)]),
        created("1002", &[hours("room", 3, 9), hours("hall", 1, 2)]),
        ("order.cancelled.web".to_owned(), json!({ "event_id": "c", "order_ref": "1001" })),
        created("1003", &[hours("room", 5, 6)]),
        created("1004", &[hours("room", 5, 7)]),
    ])
    .await;
    let instants = shop
        .number("SELECT count(DISTINCT at) FROM (SELECT at FROM slot_event WHERE event_id IN ('1001', 'c', '1003')
                 UNION ALL SELECT (denial ->> 'at')::timestamptz FROM sales_order WHERE order_ref IN ('1002', '1004')) AS decided")
        .await;
    assert_eq!(instants, 1, "all were decided in one batch");

    let story = stage.document(&["explain", "web", "1002"]).await;
    assert_eq!(story["refused"]["reason"], "slot_taken");
    assert_eq!(holders(&story), ["room 3-9: 1000 2-4 held -", "room 3-9: 1001 5-6 held released"]);
    let says = story["refused"]["says"].as_str().unwrap();
    for words in [
        "Order 1002 of channel web could not be held at",
        "a time it asked for was another's, or a part of it.",
        "It asked for room from 2099-01-01 03:00:00 UTC to 2099-01-01 09:00:00 UTC, which was taken:",
        "  - room from 2099-01-01 02:00:00 UTC to 2099-01-01 04:00:00 UTC by order 1000 of channel web, since",
        "by order 1001 of channel web, which was decided in the same instant and stood before it in the queue; it was given back at",
    ] {
        assert!(says.contains(words), "{words}: {says}");
    }
    assert!(!says.contains("1003") && !says.contains("hall"), "{says}");
    let story = stage.document(&["explain", "web", "1004"]).await;
    assert_eq!(holders(&story), ["room 5-7: 1003 5-6 held -"]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_had_it_is_told_with_until_when_and_what_became_of_it() {
    let stage = stage("").await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.ask("order.created.web", book("1001", &[hours("room", 2, 4)])).await;
    let mut prepaid = book("1002", &[hours("hall", 2, 4), json!({ "sku": "A", "qty": 1 })]);
    prepaid["payment"] = json!("prepaid");
    shop.ask("order.created.web", prepaid).await;
    // Units are the reason where they are missing too; the slots are told besides.
    let both = [hours("room", 3, 4), hours("hall", 3, 4), json!({ "sku": "A", "qty": 1 })];
    shop.ask("order.created.web", book("1003", &both)).await;
    let story = stage.document(&["explain", "web", "1003"]).await;
    assert_eq!(story["refused"]["reason"], "insufficient_stock");
    assert_eq!(story["refused"]["rows"][0]["holders"][0]["order_ref"], "1002");
    assert_eq!(holders(&story), ["room 3-4: 1001 2-4 held -", "hall 3-4: 1002 2-4 confirmed -"]);
    let stored =
        "SELECT to_char(expires_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM sales_order WHERE order_ref = '1001'";
    let end = shop.text(stored).await.unwrap();
    let slots = &story["refused"]["slots"];
    let until = [&slots[0], &slots[1]].map(|slot| &slot["holders"][0]["until"]);
    assert_eq!(until, [&json!(end), &Value::Null]);

    // What happens afterwards changes what became of the slot, not who had it then.
    shop.end_hold("1001").await;
    shop.ask("order.created.web", book("1004", &[hours("room", 2, 4)])).await;
    let story = stage.document(&["explain", "web", "1003"]).await;
    assert_eq!(holders(&story)[0], "room 3-4: 1001 2-4 held expired");
    let stored = "SELECT to_char(at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM slot_event WHERE to_state = 'expired'";
    let ended = shop.text(stored).await.unwrap();
    assert_eq!(story["refused"]["slots"][0]["holders"][0]["until"], json!(ended));
    let says = story["refused"]["says"].as_str().unwrap();
    assert!(says.contains("that hold ended unpaid at") && says.contains("; it is booked"), "{says}");
    let text = stage.launch.run(&["explain", "web", "1003"]).await;
    assert!(text.code == Some(0) && text.stdout.contains(says), "{text:?}");

    // An order that only had slots, and not again.
    shop.ask("order.renewed.web", json!({ "event_id": "r1", "order_ref": "1001" })).await;
    let story = stage.document(&["explain", "web", "1001"]).await;
    assert_eq!(holders(&story), ["room 2-4: 1004 2-4 held -"]);
    let says = story["refused"]["says"].as_str().unwrap();
    assert!(says.starts_with("Order 1001 of channel web could not have its goods again at"), "{says}");
    stage.close().await;
}

/// Orders that were refused before who had the slot was noted.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_before_names_nobody() {
    let stage = stage("").await;
    let shop = &stage.shop;
    shop.ask("order.created.web", book("1001", &[hours("room", 2, 4)])).await;
    shop.ask("order.created.web", book("1002", &[hours("room", 2, 4)])).await;
    let forget = "UPDATE sales_order SET denial = denial::jsonb - 'slots' WHERE order_ref = '1002'";
    sqlx::query(forget).execute(&shop.db).await.unwrap();
    let story = stage.document(&["explain", "web", "1002"]).await;
    assert_eq!((&story["refused"]["reason"], &story["refused"]["slots"]), (&json!("slot_taken"), &json!([])));
    stage.close().await;
}
