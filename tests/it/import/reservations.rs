//! Orders under way elsewhere, taken over; and what another system says, held against the tables.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Importer, taken};
use crate::support::{Figures, Ground, Shop, wait_until};

const HEADER: &str = "channel,order_ref,sku,warehouse,qty,state,expires_at";
const STOCK: &str = "sku,warehouse,on_hand\nA,main,10\nB,main,3\n";

fn file(rows: &[&str]) -> String {
    format!("{HEADER}\n{}\n", rows.join("\n"))
}

fn paid(event_id: &str, order_ref: &str) -> Value {
    json!({ "event_id": event_id, "payment_id": format!("pi-{event_id}"), "channel": "web", "order_ref": order_ref,
            "amount": { "amount": 100, "currency": "EUR" } })
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_under_way_are_taken_over_once_and_live_on() {
    let ground = Ground::new().await;
    let (_program, importer, shop) = Importer::beside_a_program(&ground).await;
    assert_eq!(importer.report("stock", STOCK, &[]).await, taken(2, 0));
    // Money that came before its order waits for it.
    shop.say("payment.succeeded.stripe", paid("early", "2")).await;
    wait_until("the payment waits", Duration::from_secs(20), async || {
        shop.number("SELECT count(*) FROM waiting_message").await == 1
    })
    .await;

    let orders = file(&[
        "web,1,A,main,2,held,2099-01-01T10:00:00Z",
        "web,1,B,main,1,held,2099-01-01T10:00:00Z",
        "web,2,A,main,3,held,2099-01-01T10:00:00Z",
        "shop,3,A,main,4,confirmed,",
    ]);
    assert_eq!(importer.report("reservations", &orders, &[]).await, taken(4, 0));
    assert_eq!(shop.figures("A", "main").await, Some(Figures { on_hand: 10, reserved: 9, version: 2 }));
    assert_eq!(shop.figures("B", "main").await, Some(Figures { on_hand: 3, reserved: 1, version: 2 }));
    let steps = "SELECT count(*) FROM reservation_event WHERE from_state IS NULL AND reason = 'opening'";
    assert_eq!(shop.number(steps).await, 4);
    assert_eq!(shop.answer_to("early").await.what(), "confirmed");
    shop.say("payment.succeeded.stripe", paid("late", "1")).await;
    assert_eq!(shop.answer_to("late").await.what(), "confirmed");
    shop.say("order.cancelled.shop", json!({ "event_id": "c1", "order_ref": "3" })).await;
    assert_eq!(shop.answer_to("c1").await.what(), "released");
    assert_eq!(shop.number("SELECT count(*) FROM review_item WHERE kind = 'refund_elsewhere'").await, 1);

    // The same orders change nothing, whatever became of them; another one of the same name is in the way.
    assert_eq!(importer.report("reservations", &orders, &[]).await, taken(0, 4));
    let other = file(&["web,1,A,main,3,held,2099-01-01T10:00:00Z", "web,5,A,main,5,confirmed,"]);
    let reason = "this order is there already, confirmed, and did not come out of this file";
    let bad = json!([{ "line": 2, "reason": reason }]);
    let refused = (Some(1), json!({ "taken": 0, "unchanged": 0, "bad": bad }));
    assert_eq!(importer.report("reservations", &other, &[]).await, refused);
    assert_eq!(shop.figures("A", "main").await, Some(Figures { on_hand: 10, reserved: 5, version: 3 }));
    let skipped = (Some(1), json!({ "taken": 1, "unchanged": 0, "bad": bad }));
    assert_eq!(importer.report("reservations", &other, &["--skip-bad"]).await, skipped);
    assert_eq!(shop.figures("A", "main").await, Some(Figures { on_hand: 10, reserved: 10, version: 4 }));

    shop.settled().await;
    let told = shop.stream("STOCK").await;
    let last = told.iter().rfind(|told| told.body["sku"] == "A").unwrap();
    assert_eq!((&last.body["version"], &last.body["available"]), (&json!(4), &json!(0)));
    shop.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_row_lets_nothing_be_taken_and_leaves_no_trace() {
    let ground = Ground::new().await;
    let (importer, shop) = (Importer::migrated(&ground).await, Shop::open(&ground).await);
    assert_eq!(importer.report("stock", STOCK, &[]).await, taken(2, 0));
    let orders = file(&[
        "web,1,A,main,9,confirmed,",
        "web,2,A,main,1,held,2099-01-01T10:00:00Z",
        "web,2,B,main,4,held,2099-01-01T10:00:00Z",
        "web,3,GHOST,main,1,confirmed,",
        "web,4,A,main,1,held,2001-01-01T10:00:00Z",
        "web,5,A,main,1,confirmed,",
    ]);
    let (code, report) = importer.report("reservations", &orders, &[]).await;
    assert_eq!((code, &report["taken"], &report["unchanged"]), (Some(1), &json!(0), &json!(0)));
    let lines: Vec<u64> = report["bad"].as_array().unwrap().iter().map(|bad| bad["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 5, 6]);
    assert_eq!(shop.number("SELECT count(*) FROM sales_order").await, 0);
    assert_eq!(shop.figures("A", "main").await, Some(Figures { on_hand: 10, reserved: 0, version: 1 }));

    let (code, report) = importer.report("reservations", &orders, &["--skip-bad"]).await;
    assert_eq!((code, &report["taken"], report["bad"].as_array().unwrap().len()), (Some(1), &json!(2), 4));
    assert_eq!(shop.number("SELECT count(*) FROM sales_order WHERE state = 'confirmed'").await, 2);
    assert_eq!(shop.number("SELECT count(*) FROM sales_order WHERE state <> 'confirmed'").await, 0);
    assert_eq!(shop.figures("A", "main").await, Some(Figures { on_hand: 10, reserved: 10, version: 2 }));
    assert_eq!(shop.figures("B", "main").await, Some(Figures { on_hand: 3, reserved: 0, version: 1 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_of_orders_at_once_count_every_unit_once() {
    let ground = Ground::new().await;
    let (importer, shop) = (Importer::migrated(&ground).await, Shop::open(&ground).await);
    assert_eq!(importer.report("stock", "sku,warehouse,on_hand\nA,main,9000\n", &[]).await, taken(1, 0));
    let mut orders = format!("{HEADER}\n");
    for n in 0..5_000 {
        writeln!(orders, "web,{n},A,main,1,confirmed,").unwrap();
    }
    let one = || importer.report("reservations", &orders, &[]);
    let (first, second) = tokio::join!(one(), one());
    let mut reports = [first, second];
    reports.sort_by_key(|(_, report)| report["taken"].as_u64());
    assert_eq!(reports, [taken(0, 5_000), taken(5_000, 0)]);
    assert_eq!(shop.figures("A", "main").await, Some(Figures { on_hand: 9000, reserved: 5000, version: 2 }));
    assert_eq!(shop.number("SELECT count(*) FROM reservation_event").await, 5_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_system_says_is_compared() {
    let ground = Ground::new().await;
    let importer = Importer::migrated(&ground).await;
    assert_eq!(importer.report("stock", STOCK, &[]).await, taken(2, 0));
    let orders = file(&["web,1,A,main,2,held,2099-01-01T10:00:00Z", "web,2,A,main,3,confirmed,"]);
    assert_eq!(importer.report("reservations", orders, &[]).await, taken(2, 0));
    let compare = async |file: &str, flags: &[&str]| {
        let path = ground.dir().join("theirs.csv");
        fs::write(&path, file).unwrap();
        let ended = importer.launch.run(&[&["compare", path.to_str().unwrap(), "--json"], flags].concat()).await;
        (ended.code, serde_json::from_str::<Value>(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}")))
    };
    let same = |rows: usize| (Some(0), json!({ "compared": rows, "different": [], "bad": [] }));

    assert_eq!(compare("sku,warehouse,available\nA,main,5\nB,main,3\n", &[]).await, same(2));
    let different = json!([
        { "line": 2, "sku": "A", "warehouse": "main", "theirs": -1, "ours": 5 },
        { "line": 3, "sku": "B", "warehouse": "far", "theirs": 3, "ours": null },
    ]);
    let found = (Some(1), json!({ "compared": 2, "different": different, "bad": [] }));
    assert_eq!(compare("sku,warehouse,available\nA,main,-1\nB,far,3\n", &[]).await, found);

    let ends = "channel,order_ref,expires_at\nweb,1,2099-01-01T10:00:03Z\nweb,2,\n";
    assert_eq!(compare(ends, &["--within-s", "3"]).await, same(2));
    let ours = "2099-01-01T10:00:00.000000Z";
    let different = json!([{ "line": 2, "channel": "web", "order_ref": "1", "theirs": "2099-01-01T10:00:03.000000Z",
                             "ours": ours, "state": "held" }]);
    let found = (Some(1), json!({ "compared": 2, "different": different, "bad": [] }));
    assert_eq!(compare(ends, &["--within-s", "2"]).await, found);
    let gone = json!([{ "line": 2, "channel": "web", "order_ref": "9", "theirs": null, "ours": null, "state": null }]);
    let found = (Some(1), json!({ "compared": 1, "different": gone, "bad": [] }));
    assert_eq!(compare("channel,order_ref,expires_at\nweb,9,\n", &[]).await, found);
}
