//! `lastunit explain CHANNEL ORDER_REF`.

use serde_json::{Value, json};

use super::super::{PATIENT, Stage};
use crate::support::{Launch, order};

/// The story as `source: says`, without what is only read by the clock.
fn told(story: &Value) -> Vec<String> {
    let events = story["story"].as_array().unwrap();
    events
        .iter()
        .map(|event| format!("{}: {}", event["source"].as_str().unwrap(), event["says"].as_str().unwrap()))
        .collect()
}

/// Who had units of the only row, as `order qty state became`.
fn holders(story: &Value) -> Vec<String> {
    let rows = story["refused"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{story:#}");
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let holder = |holder: &Value| {
        format!(
            "{} {} {} {}",
            text(&holder["order_ref"]),
            holder["qty"],
            text(&holder["state"]),
            text(&holder["became"])
        )
    };
    rows[0]["holders"].as_array().unwrap().iter().map(holder).collect()
}

fn buy(event_id: &str, order_ref: &str, qty: i64) -> (String, Value) {
    let lines = json!([{ "sku": "GRINDER", "qty": qty }]);
    ("order.created.web".into(), json!({ "event_id": event_id, "order_ref": order_ref, "lines": lines }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_buyer_of_the_same_batch_is_told_who_stood_before_and_not_who_came_after() {
    let stage = Stage::open_with(PATIENT).await;
    let shop = &stage.shop;
    shop.count("GRINDER", "main", 3).await;
    shop.ask("order.created.web", buy("o0", "1000", 1).1).await;
    shop.in_one_batch(vec![buy("o1", "1001", 1), buy("o2", "1002", 2), buy("o3", "1003", 1), buy("o4", "1004", 1)])
        .await;
    let instants = shop
        .number("SELECT count(DISTINCT at) FROM (SELECT at FROM reservation_event WHERE event_id IN ('o1', 'o3')
                 UNION ALL SELECT (denial ->> 'at')::timestamptz FROM sales_order WHERE order_ref IN ('1002', '1004')) AS decided")
        .await;
    assert_eq!(instants, 1, "all were decided in one batch");

    let story = stage.document(&["explain", "web", "1002"]).await;
    assert_eq!(holders(&story), ["1001 1 held -", "1000 1 held -"]);
    let row = &story["refused"]["rows"][0];
    assert_eq!((&row["requested"], &row["then"]), (&json!(2), &json!({ "on_hand": 3, "reserved": 2, "available": 1 })));
    assert_eq!((&row["holders_total"], &row["units_total"]), (&json!(2), &json!(2)));
    let end = shop
        .text(
            "SELECT to_char(expires_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM sales_order WHERE order_ref = '1001'",
        )
        .await;
    assert_eq!(row["holders"][0]["until"].as_str().map(str::to_owned), end);
    let says = story["refused"]["says"].as_str().unwrap();
    for words in [
        "Order 1002 of channel web could not be held at",
        "there were not enough units left.",
        "It asked for 2 of GRINDER. Warehouse main had 3, of which 2 were promised:",
        "1 by order 1001 of channel web, which was decided in the same instant and stood before it in the queue",
        "1 by order 1000 of channel web, since",
        "Now 0 of GRINDER can be had in warehouse main.",
    ] {
        assert!(says.contains(words), "{words}: {says}");
    }
    assert!(!says.contains("1003"), "{says}");

    let story = stage.document(&["explain", "web", "1004"]).await;
    assert_eq!(holders(&story), ["1003 1 held -", "1001 1 held -", "1000 1 held -"]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_buyer_of_a_later_batch_is_told_until_when_and_what_became_of_it() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("GRINDER", "main", 2).await;
    shop.ask("order.created.web", buy("o1", "1001", 1).1).await;
    let mut prepaid = buy("o2", "1002", 1).1;
    prepaid["payment"] = json!("prepaid");
    shop.ask("order.created.web", prepaid).await;
    shop.ask("order.created.web", buy("o3", "1003", 1).1).await;
    let story = stage.document(&["explain", "web", "1003"]).await;
    assert_eq!(holders(&story), ["1002 1 confirmed -", "1001 1 held -"]);
    assert_eq!(story["refused"]["rows"][0]["holders"][0]["until"], Value::Null, "sold");

    // What happens afterwards changes what became of the units, not who had them then.
    shop.end_hold("1001").await;
    shop.ask("order.created.web", buy("o4", "1004", 1).1).await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c2", "order_ref": "1002" })).await;
    let story = stage.document(&["explain", "web", "1003"]).await;
    assert_eq!(holders(&story), ["1002 1 confirmed released", "1001 1 held expired"]);
    let ended = shop
        .text(
            "SELECT to_char(at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM reservation_event WHERE to_state = 'expired'",
        )
        .await;
    assert_eq!(story["refused"]["rows"][0]["holders"][1]["until"].as_str().map(str::to_owned), ended);
    let says = story["refused"]["says"].as_str().unwrap();
    assert!(says.contains("that hold ended unpaid at") && says.contains("they were given back at"), "{says}");
    assert!(says.ends_with("Now 1 of GRINDER can be had in warehouse main."), "{says}");
    let text = stage.launch.run(&["explain", "web", "1003"]).await;
    assert_eq!(text.code, Some(0), "{text:?}");
    assert!(text.stdout.starts_with("order 1003 of channel web: rejected, insufficient_stock\n"), "{}", text.stdout);
    assert!(text.stdout.contains(says), "{}", text.stdout);

    // Tried again and held: why it had been refused stays to be read.
    shop.ask("order.created.web", buy("o5", "1003", 1).1).await;
    let story = stage.document(&["explain", "web", "1003"]).await;
    assert_eq!((&story["order"]["state"], &story["refused"]["event_id"]), (&json!("held"), &json!("o3")));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_could_not_be_had_again_is_told_who_has_it() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("GRINDER", "main", 1).await;
    shop.ask("order.created.web", buy("o1", "1001", 1).1).await;
    shop.end_hold("1001").await;
    shop.ask("order.created.web", buy("o2", "1002", 1).1).await;
    shop.ask("order.renewed.web", json!({ "event_id": "r1", "order_ref": "1001" })).await;
    let story = stage.document(&["explain", "web", "1001"]).await;
    assert_eq!(holders(&story), ["1002 1 held -"]);
    let says = story["refused"]["says"].as_str().unwrap();
    assert!(says.starts_with("Order 1001 of channel web could not have its goods again at"), "{says}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_story_is_told_in_order() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    // Before its order, and refused in the end.
    let early = json!({ "event_id": "c0", "order_ref": "1", "lines": [{ "sku": "A", "qty": 9 }] });
    shop.say("order.cancelled.web", early).await;
    shop.settled().await;
    let story = stage.document(&["explain", "web", "1"]).await;
    assert_eq!(told(&story)[1..], ["waiting: order.cancelled.web, event c0, waits for the order"]);
    assert_eq!(story["order"]["state"], "awaited");

    shop.ask("order.created.web", json!({ "event_id": "o1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 2 }] }))
        .await;
    shop.ask("order.renewed.web", json!({ "event_id": "r1", "order_ref": "1", "hold_for_s": 5000 })).await;
    let some =
        json!({ "event_id": "c1", "order_ref": "1", "reason": "one is enough", "lines": [{ "sku": "A", "qty": 1 }] });
    shop.ask("order.cancelled.web", some).await;
    shop.end_hold("1").await;
    shop.ask("order.renewed.web", json!({ "event_id": "r2", "order_ref": "1" })).await;
    shop.ask("order.created.web", json!({ "event_id": "o2", "order_ref": "1", "lines": [{ "sku": "A", "qty": 2 }] }))
        .await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c2", "order_ref": "1" })).await;
    shop.say("order.cancelled.web", json!({ "event_id": "c2", "order_ref": "1" })).await;
    // Another order of the same reference, and another reference, are not part of it.
    shop.ask("order.created.other", order("x", "1", "A")).await;
    shop.ask("order.created.web", order("y", "11", "A")).await;
    shop.settled().await;

    let story = stage.document(&["explain", "web", "1"]).await;
    assert_eq!(story["unchecked"], json!([]));
    assert_eq!(story["lines"][0]["state"], "released");
    let mut steps = told(&story);
    for (needle, replaced) in [("until ", "until …"), ("ORDERS ", "ORDERS …"), ("dead letter ", "dead letter …")]
    {
        for step in &mut steps {
            if let Some(at) = step.find(needle) {
                let rest = &step[at + needle.len()..];
                let cut = rest.find([' ', ';', ',', ')']).unwrap_or(rest.len());
                *step = format!("{}{replaced}{}", &step[..at], &rest[cut..]);
            }
        }
    }
    let expected = [
        "message: order.cancelled.web, event c0: ORDERS …",
        "message: order.created.web, event o1: ORDERS …",
        "decision: held 2 of A in main (event o1)",
        "dead_letter: order.cancelled.web: dead letter … (open): over_cancel: lines name 9 of sku A, of which 2 are outstanding",
        "told: reservation.held.web, until … (in reply to o1)",
        "message: order.renewed.web, event r1: ORDERS …",
        "told: reservation.held.web, until … (in reply to r1)",
        "message: order.cancelled.web, event c1: ORDERS …",
        "decision: A: 1 fewer held in main (\"one is enough\", event c1)",
        "told: reservation.released.web, cancelled (in reply to c1)",
        "message: order.renewed.web, event r2: ORDERS …",
        "decision: A: held became expired, 1 less are promised in main (\"hold_ended\")",
        "decision: A: expired became held, 1 had again in main (event r2)",
        "told: reservation.expired.web, hold_ended",
        "told: reservation.held.web, until … (in reply to r2)",
        "message: order.created.web, event o2: ORDERS …",
        "told: reservation.held.web, a duplicate, until … (in reply to o2)",
        "message: order.cancelled.web, event c2: ORDERS …",
        "decision: A: held became released, 1 less are promised in main (\"cancelled\", event c2)",
        "told: reservation.released.web, cancelled (in reply to c2)",
        "message: order.cancelled.web, event c2: ORDERS …, message 2 of this event",
    ];
    assert_eq!(steps, expected);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_and_its_end_are_part_of_the_story() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 0).await;
    let mut sold = order("o1", "1", "A");
    sold["payment"] = json!("prepaid");
    shop.ask("order.created.web", sold).await;
    let id = shop.number("SELECT id FROM review_item WHERE kind = 'oversold'").await.to_string();
    let resolved = stage.document(&["reviews", "resolve", &id, "--note", "refunded by hand", "--by", "ann"]).await;
    assert_eq!(resolved["outcome"], "resolved");
    let story = stage.document(&["explain", "web", "1"]).await;
    let says = told(&story);
    let opened = format!(
        "review: review {id} (resolved): oversold: order 1 of channel web was sold already and cannot be held: insufficient_stock"
    );
    assert!(says.contains(&opened), "{says:#?}");
    assert!(says.contains(&format!("review: review {id} was resolved by ann: refunded by hand")), "{says:#?}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_what_is_not_known_nothing_is_said() {
    let stage = Stage::open().await;
    stage.shop.count("A", "main", 1).await;
    stage.shop.ask("order.created.web", order("o1", "1", "A")).await;
    for args in [
        ["explain", "web", "2"].as_slice(),
        &["explain", "other", "1"],
        &["explain", "--stock", "A", "--warehouse", "far"],
        &["explain", "--stock", "B", "--warehouse", "main", "--json"],
    ] {
        let ended = stage.launch.run(args).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.contains("nothing is known of"), "{ended:?}");
    }
    for args in [["explain"].as_slice(), &["explain", "web"], &["explain", "--stock", "A"], &["explain", "a.b", "1"]] {
        assert_eq!(stage.launch.run(args).await.code, Some(2), "{args:?}");
    }
    stage.close().await;
}

/// Without a broker the tables still tell, and what is missing is said.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_broker_the_messages_are_missing_and_that_is_said() {
    let stage = Stage::open().await;
    stage.shop.count("A", "main", 1).await;
    stage.shop.ask("order.created.web", order("o1", "1", "A")).await;
    let deaf = Launch::new(&stage.ground).env("NATS_URL", "nats://127.0.0.1:1");
    let ended = deaf.run(&["explain", "web", "1"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("held 1 of A in main (event o1)"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Not looked at: the messages that came: NATS cannot be reached"), "{}", ended.stdout);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn money_parcels_and_slots_are_part_of_the_story() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("GRINDER", "main", 3).await;
    sqlx::query("INSERT INTO slot_resource (resource) VALUES ('room')").execute(&shop.db).await.unwrap();
    let (_, mut body) = buy("o1", "1", 2);
    let slot = json!({ "resource": "room", "from": "2027-01-01T10:00:00Z", "to": "2027-01-01T11:00:00Z" });
    body["lines"].as_array_mut().unwrap().push(slot);
    shop.ask("order.created.web", body).await;
    let amount = json!({ "amount": 100, "currency": "EUR" });
    let paid =
        |id: &str| json!({ "event_id": id, "payment_id": id, "channel": "web", "order_ref": "1", "amount": amount });
    shop.ask("payment.succeeded.stripe", paid("p1")).await;
    let parcel = json!([{ "sku": "GRINDER", "qty": 2 }]);
    let shipment =
        json!({ "event_id": "s1", "shipment_ref": "S", "channel": "web", "order_ref": "1", "lines": parcel });
    shop.ask("shipment.dispatched.main", shipment).await;
    shop.say("payment.succeeded.stripe", paid("p2")).await;
    shop.settled().await;
    let story = stage.document(&["explain", "web", "1"]).await;
    let told = told(&story);
    let period = "room from 2027-01-01T10:00:00.000000Z to 2027-01-01T11:00:00.000000Z";
    for says in [
        "payment: payment p1 of stripe succeeded, 100 EUR (event p1)".to_owned(),
        "payment: payment p2 of stripe succeeded, 100 EUR (event p2)".to_owned(),
        "payment: a refund of payment p2 of stripe is required, 100 EUR: already_paid, not settled yet (event p2)"
            .to_owned(),
        "parcel: 2 of GRINDER left the shelf in main (event s1)".to_owned(),
        format!("decision: held {period} (event o1)"),
        format!("decision: {period}: held became confirmed (event p1)"),
    ] {
        assert!(told.contains(&says), "{says} in {told:#?}");
    }
    let of = |stream: &str| told.iter().filter(|says| says.starts_with("message: ") && says.contains(stream)).count();
    assert_eq!((of("payment.succeeded.stripe"), of("shipment.dispatched.main")), (2, 1), "{told:#?}");
    assert_eq!(story["lines"][1]["resource"], "room");
    stage.close().await;
}
