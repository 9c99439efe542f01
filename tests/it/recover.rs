//! `lastunit recover`: PostgreSQL goes back in time, and what can be put right is.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::support::{Ground, Launch, PATIENCE, Shop, buyers, order, wait_until};

async fn json_of(launch: &Launch, args: &[&str], code: i32) -> Value {
    let ended = launch.run(args).await;
    assert_eq!(ended.code, Some(code), "{args:?}: {}{}", ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The invariants of the findings.
async fn broken(launch: &Launch) -> HashSet<u64> {
    let found = json_of(launch, &["audit", "--json"], 1).await;
    found.as_array().unwrap().iter().map(|row| row["invariant"].as_u64().unwrap()).collect()
}

/// Orders are taken before, during and after a backup; the backup is restored.
#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_went_back_in_time_is_recovered() {
    let mut ground = Ground::own().await;
    let launch = Launch::impatient(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count_many(&[("A", 300), ("B", 2_000)], "main").await;
    let load = shop.load(buyers("sale", &["A", "B"]).take(1_000));
    wait_until("some orders to be decided", PATIENCE, async || {
        shop.number("SELECT count(*) FROM sales_order").await >= 300
    })
    .await;
    ground.back_up().await;
    let mut ids = load.all().await;
    // Of these the backup knows nothing, not even of their SKU.
    shop.count("NEW", "main", 5).await;
    for n in 0..6 {
        let id = format!("new-{n}");
        shop.say("order.created.web", order(&id, &id, "NEW")).await;
        ids.push(id);
    }
    shop.say("order.cancelled.web", json!({ "event_id": "cancel", "order_ref": "sale-1" })).await;
    ids.push("cancel".to_owned());
    shop.settled().await;
    shop.audit().await;
    let orders = shop.number("SELECT count(*) FROM sales_order").await;
    assert_eq!(orders, 1_006);
    // An order that the broker was slow to acknowledge was said twice.
    let said = shop.js.get_stream("ORDERS").await.unwrap().cached_info().state.messages;
    assert!(said >= 1_007, "{said}");

    // An instant is read before anything is done with it.
    assert_eq!(launch.run(&["recover", "--since", "yesterday"]).await.code, Some(2));
    let refused = launch.run(&["recover", "--since", "2h"]).await;
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("a `run` is at work"), "{}", refused.stderr);
    assert_eq!(program.terminate().await, Some(0));

    ground.restore().await;
    assert!(shop.number("SELECT count(*) FROM sales_order").await < orders);
    assert_eq!(broken(&launch).await, HashSet::from([6, 7]));

    let versions = "SELECT sum(version)::bigint FROM stock";
    let before = shop.number(versions).await;
    let planned = json_of(&launch, &["recover", "--dry-run", "--json"], 0).await;
    assert_eq!(shop.number(versions).await, before);
    assert_eq!(broken(&launch).await, HashSet::from([6, 7]));
    let done = json_of(&launch, &["recover", "--json"], 0).await;
    assert_eq!((&planned["dry_run"], &done["dry_run"]), (&json!(true), &json!(false)));
    for said in ["since", "consumers", "answers"] {
        assert_eq!(planned[said], done[said]);
    }
    let rewound = json!([
        { "stream": "INVENTORY", "consumer": "lastunit-inventory", "delivered_again": 2, "gone_before": null },
        { "stream": "ORDERS", "consumer": "lastunit-orders", "delivered_again": said, "gone_before": null },
        { "stream": "PAYMENTS", "consumer": "lastunit-payments", "delivered_again": 0, "gone_before": null },
        { "stream": "SHIPMENTS", "consumer": "lastunit-shipments", "delivered_again": 0, "gone_before": null },
    ]);
    assert_eq!(sorted(&done["consumers"]), sorted(&rewound));
    assert_eq!((&done["rows"]["raised"], &done["rows"]["unknown"]), (&json!(2), &json!(1)));
    assert_eq!(done["rows"]["unknown_named"], json!([{ "sku": "NEW", "warehouse": "main" }]));
    let lost = u64::try_from(orders - shop.number("SELECT count(*) FROM sales_order").await).unwrap();
    assert_eq!(done["answers"]["told"], json!(1_007));
    assert_eq!(done["answers"]["unknown"], json!(lost));
    assert_eq!(json_of(&launch, &["streams", "diff", "--json"], 0).await, json!([]));

    // Again, as after a run that was cut short.
    json_of(&launch, &["recover", "--json"], 0).await;

    let program = launch.ready(&["run"]).await;
    shop.settled().await;
    // Rewinding is no loss.
    let met = "SELECT count(*) FROM broker_object WHERE name LIKE '%/%'";
    wait_until("the consumers to be met", PATIENCE, async || shop.number(met).await == 4).await;
    assert_eq!(program.get("/readyz").await, (200, "ready\n".to_owned()));
    shop.audit().await;
    assert_eq!(json_of(&launch, &["audit", "--json"], 0).await, json!([]));
    shop.assert_told_in_order().await;
    assert_eq!(shop.number("SELECT count(*) FROM sales_order").await, orders);
    assert_eq!(shop.figures("NEW", "main").await.unwrap().on_hand, 5);
    let told = shop.stream("RESERVATIONS").await;
    let answered: HashSet<&str> = told.iter().filter_map(|told| told.body["in_reply_to"].as_str()).collect();
    let silent: Vec<_> = ids.iter().filter(|id| !answered.contains(id.as_str())).collect();
    assert_eq!(silent, [] as [&String; 0]);
    assert_eq!(json_of(&launch, &["streams", "diff", "--json"], 0).await, json!([]));
    drop(program);
}

fn sorted(rows: &Value) -> Vec<String> {
    let mut rows: Vec<String> = rows.as_array().unwrap().iter().map(Value::to_string).collect();
    rows.sort_unstable();
    rows
}

/// What the streams no longer hold is said; an empty base wants to be told since when.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_known_is_said() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    assert_eq!(program.terminate().await, Some(0));
    let ended = launch.run(&["recover"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("say --since"), "{}", ended.stderr);
    assert_eq!(launch.run(&["recover", "--since", "yesterday"]).await.code, Some(2));

    let mut program = launch.ready(&["run"]).await;
    shop.count("A", "main", 5).await;
    for n in 0..3 {
        let id = format!("o-{n}");
        shop.say("order.created.web", order(&id, &id, "A")).await;
    }
    shop.settled().await;
    assert_eq!(program.terminate().await, Some(0));
    assert!(shop.js.get_stream("ORDERS").await.unwrap().delete_message(1).await.unwrap());
    let done = json_of(&launch, &["recover", "--json"], 0).await;
    let orders = done["consumers"].as_array().unwrap().iter().find(|row| row["stream"] == "ORDERS").unwrap();
    assert_eq!(orders["delivered_again"], 2);
    assert!(orders["gone_before"].is_string(), "{orders}");
    let ended = launch.run(&["recover", "--since", "1h"]).await;
    assert!(ended.stdout.contains("- what ORDERS received between "), "{}", ended.stdout);

    // What was decided is known by its id: nothing counts twice.
    let _program = launch.ready(&["run"]).await;
    shop.settled().await;
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 3);
    assert_eq!(shop.stream("RESERVATIONS").await.len(), 3);
    shop.audit().await;
    shop.assert_told_in_order().await;
}
