//! `lastunit export`: what stands here in the files that the imports take.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Ground, Launch, Shop};

const FILES: [&str; 5] = ["stock", "mappings", "warehouses", "resources", "reservations"];

/// A database with what lies on shelves, and a program that has decided about it.
async fn import(launch: &Launch, dir: &Path, kind: &str, text: &str) {
    let path = dir.join(format!("{kind}-in.csv"));
    fs::write(&path, text).unwrap();
    let ended = launch.run(&["import", kind, path.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

fn new_order(id: &str, payment: &str, lines: &Value) -> Value {
    json!({ "event_id": id, "order_ref": id, "payment": payment, "hold_for_s": 80_000, "lines": lines })
}

/// Orders in every state, of odd SKUs too.
async fn trade(launch: &Launch, ground: &Ground, shop: &Shop) {
    let stock = "sku,warehouse,on_hand\nA,main,50\nB,main,9\nB,far,3\n\"a,\"\"b\"\"\",main,4\ncaf\u{e9} \u{2615},far,2\nEMPTY,main,0\n";
    import(launch, ground.dir(), "stock", stock).await;
    let map = "warehouse,channel,external_warehouse_id,priority,safety_stock\nmain,web,,1,\nfar,web,,2,\nmain,ozon,2214,0,3\n";
    import(launch, ground.dir(), "warehouses", map).await;
    import(
        launch,
        ground.dir(),
        "mappings",
        "sku,channel,external_id\n\"a,\"\"b\"\"\",ozon,offer 1\nA,ozon,A\nA,wb,12345678\n",
    )
    .await;
    import(launch, ground.dir(), "resources", "resource,name\nroom-1,\"Room, first\"\nroom-2,\n").await;
    let one = |sku: &str| json!({ "sku": sku, "qty": 1 });
    for order in [
        new_order("held", "online", &json!([{ "sku": "A", "qty": 3 }, one("a,\"b\"")])),
        new_order("paid", "online", &json!([{ "sku": "B", "qty": 2 }, one("caf\u{e9} \u{2615}")])),
        new_order("sent in part", "prepaid", &json!([{ "sku": "A", "qty": 5 }, { "sku": "B", "qty": 1 }])),
        new_order("sent", "on_delivery", &json!([one("A")])),
        new_order("cancelled", "online", &json!([one("A")])),
        new_order("rejected", "online", &json!([{ "sku": "A", "qty": 1000 }])),
    ] {
        shop.say("order.created.web", order).await;
    }
    shop.settled().await;
    let parcel = |id: &str, order_ref: &str, lines: Value| json!({ "event_id": id, "shipment_ref": id, "channel": "web", "order_ref": order_ref, "lines": lines });
    for (subject, body) in [
        (
            "payment.succeeded.stripe",
            json!({ "event_id": "p", "payment_id": "P", "channel": "web", "order_ref": "paid" }),
        ),
        ("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "cancelled" })),
        ("order.cancelled.web", json!({ "event_id": "c2", "order_ref": "held", "lines": [one("A")] })),
        ("shipment.dispatched.main", parcel("s1", "sent in part", json!([{ "sku": "A", "qty": 2 }, one("B")]))),
        ("shipment.dispatched.main", parcel("s2", "sent", json!([one("A")]))),
    ] {
        shop.say(subject, body).await;
    }
    shop.settled().await;
    shop.audit().await;
}

async fn export_all(launch: &Launch, dir: &Path) -> BTreeMap<&'static str, String> {
    let ended = launch.run(&["export", "all", "--dir", dir.to_str().unwrap()]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(fs::read_dir(dir).unwrap().count(), FILES.len(), "nothing else is left there");
    FILES.map(|kind| (kind, fs::read_to_string(dir.join(format!("{kind}.csv"))).unwrap())).into()
}

/// What a comparison asks for, out of the tables.
async fn figures(shop: &Shop) -> [(&'static str, String); 2] {
    let rows: Vec<(String, String, i64)> =
        sqlx::query_as("SELECT sku, warehouse, on_hand - reserved FROM stock").fetch_all(&shop.db).await.unwrap();
    let mut available = "sku,warehouse,available\n".to_owned();
    for (sku, warehouse, units) in rows {
        writeln!(available, "\"{}\",{warehouse},{units}", sku.replace('"', "\"\"")).unwrap();
    }
    let rows: Vec<(String, String, Option<String>)> = sqlx::query_as(
        "SELECT channel, order_ref, CASE WHEN state = 'held' THEN to_char(expires_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') END
         FROM sales_order WHERE state IN ('held', 'confirmed')",
    )
    .fetch_all(&shop.db)
    .await
    .unwrap();
    let mut ends = "channel,order_ref,expires_at\n".to_owned();
    for (channel, order_ref, end) in rows {
        writeln!(ends, "{channel},{order_ref},{}", end.unwrap_or_default()).unwrap();
    }
    [("available", available), ("ends", ends)]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_moves_into_a_fresh_database_whole() {
    let (from, to) = (Ground::new().await, Ground::new().await);
    let launch = Launch::new(&from);
    let _program = launch.ready(&["run"]).await;
    let shop = Shop::open(&from).await;
    trade(&launch, &from, &shop).await;
    let files = export_all(&launch, &from.dir().join("out")).await;
    let expected = "sku,warehouse,on_hand\nA,main,47\nB,far,3\nB,main,8\nEMPTY,main,0\n\"a,\"\"b\"\"\",main,4\ncaf\u{e9} \u{2615},far,2\n";
    assert_eq!(files["stock"], expected);
    let expected = "warehouse,channel,external_warehouse_id,priority,safety_stock\nmain,ozon,2214,0,3\nmain,web,,1,\nfar,web,,2,\n";
    assert_eq!(files["warehouses"], expected);
    assert_eq!(files["mappings"], "sku,channel,external_id\nA,ozon,A\n\"a,\"\"b\"\"\",ozon,offer 1\nA,wb,12345678\n");
    assert_eq!(files["resources"], "resource,name\nroom-1,\"Room, first\"\nroom-2,\n");
    let end =
        "SELECT to_char(expires_at, 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM sales_order WHERE order_ref = 'held'";
    let end: String = sqlx::query_scalar(end).fetch_one(&shop.db).await.unwrap();
    let expected = format!(
        "channel,order_ref,sku,warehouse,qty,state,expires_at\nweb,held,A,main,2,held,{end}\nweb,held,\"a,\"\"b\"\"\",main,1,held,{end}\n\
         web,paid,B,far,2,confirmed,\nweb,paid,caf\u{e9} \u{2615},far,1,confirmed,\nweb,sent in part,A,main,3,confirmed,\n"
    );
    assert_eq!(files["reservations"], expected);

    let fresh = Launch::new(&to);
    let _other = fresh.ready(&["run"]).await;
    let there = Shop::open(&to).await;
    for (kind, text) in FILES.map(|kind| (kind, &files[kind])) {
        import(&fresh, to.dir(), kind, text).await;
    }
    for (name, text) in figures(&shop).await {
        let path = to.dir().join(format!("{name}.csv"));
        fs::write(&path, text).unwrap();
        let ended = fresh.run(&["compare", path.to_str().unwrap()]).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(
            ended.stdout.ends_with("compared, 0 different, 0 bad\n") && !ended.stdout.starts_with("0 "),
            "{ended:?}"
        );
    }
    assert_eq!(export_all(&fresh, &to.dir().join("out")).await, files, "and out again the same");
    there.settled().await;
    there.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_under_way_are_counted_and_the_rest_is_written() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let _program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 5).await;
    import(&launch, ground.dir(), "resources", "resource,name\nroom,\n").await;
    let slot = |day: &str, from: u32| json!({ "resource": "room", "from": format!("{day}T{from:02}:00:00Z"), "to": format!("{day}T{:02}:00:00Z", from + 1) });
    let unit = json!({ "sku": "A", "qty": 1 });
    for order in [
        new_order("mixed", "online", &json!([slot("2099-01-01", 1), slot("2099-01-01", 3), unit])),
        new_order("slot only", "prepaid", &json!([slot("2099-01-01", 5)])),
        // Over, and given back: neither is under way.
        new_order("over", "prepaid", &json!([slot("2001-01-01", 5)])),
        new_order("cancelled", "online", &json!([slot("2099-01-01", 7)])),
    ] {
        shop.say("order.created.web", order).await;
    }
    shop.settled().await;
    shop.say("order.cancelled.web", json!({ "event_id": "c", "order_ref": "cancelled" })).await;
    shop.settled().await;
    let said = "lastunit: slots have no place in the file: 3 slots of 2 orders under way are not in it\n";
    let ended = launch.run(&["export", "reservations"]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), said), "{ended:?}");
    let rows: Vec<&str> = ended.stdout.lines().skip(1).map(|row| row.split(",held,").next().unwrap()).collect();
    assert_eq!(rows, ["web,mixed,A,main,1"]);
    let out = ground.dir().join("out");
    let ended = launch.run(&["export", "all", "--dir", out.to_str().unwrap()]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), said), "{ended:?}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 5);
    // No other file leaves a slot out.
    for kind in ["stock", "warehouses", "resources"] {
        assert_eq!(launch.run(&["export", kind]).await.code, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_written_whole_or_not_at_all() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let path = ground.dir().join("stock.csv");
    let export = async || launch.run(&["export", "stock", "--out", path.to_str().unwrap()]).await;
    assert_eq!(export().await.code, Some(2), "not migrated");
    assert!(!path.exists());
    assert_eq!(launch.run(&["migrate"]).await.code, Some(0));
    let ended = export().await;
    assert_eq!((ended.code, ended.stdout), (Some(0), format!("{}: 0 rows\n", path.display())));
    assert_eq!(fs::read_to_string(&path).unwrap(), "sku,warehouse,on_hand\n");

    let shop = Shop::open(&ground).await;
    let fill = "INSERT INTO stock (sku, warehouse, on_hand, version) SELECT 'SKU-' || n, 'main', 1, 1 FROM generate_series(1, 200000) AS n";
    sqlx::query(fill).execute(&shop.db).await.unwrap();
    assert_eq!(export().await.code, Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 200_001);
    // Whoever stops reading ends it, and is told nothing.
    let unread = launch.run_unread(&["export", "stock"]).await;
    assert_eq!((unread.code, unread.stderr.as_str()), (Some(1), ""));

    let nowhere =
        launch.run(&["export", "stock", "--out", ground.dir().join("no/such/dir.csv").to_str().unwrap()]).await;
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
    let device = launch.run(&["export", "stock", "--out", "/dev/null"]).await;
    assert_eq!(device.code, Some(2), "{device:?}");
    let away = launch.clone().env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/nothing");
    assert_eq!(away.run(&["export", "stock"]).await.code, Some(3));
}

/// The most memory that an export had, in KiB, and how many lines it wrote.
async fn peak(launch: &Launch, out: &Path) -> (i64, usize) {
    let mut program = launch.start(&["export", "stock", "--out", out.to_str().unwrap()]).await;
    let (peak, status) = program.peak(Duration::from_mins(2)).await;
    assert_eq!(status.code(), Some(0), "{}", program.stderr());
    (peak, fs::read_to_string(out).unwrap().lines().count())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_rows_take_no_more_memory_than_ten_thousand() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    assert_eq!(launch.run(&["migrate"]).await.code, Some(0));
    let shop = Shop::open(&ground).await;
    let fill = "INSERT INTO stock (sku, warehouse, on_hand, version) SELECT 'SKU-' || n, 'main', 1, 1 FROM generate_series($1::int, $2::int) AS n";
    let mut peaks = Vec::new();
    for (from, to, lines) in [(1, 10_000, 10_001), (10_001, 1_000_000, 1_000_001)] {
        sqlx::query(fill).bind(from).bind(to).execute(&shop.db).await.unwrap();
        let (peak, written) = peak(&launch, &ground.dir().join("stock.csv")).await;
        assert_eq!(written, lines);
        peaks.push(peak);
    }
    println!("peak memory of the export: {} KiB of 10,000 rows, {} KiB of 1,000,000", peaks[0], peaks[1]);
    assert!(peaks[0] > 0 && peaks[1] < peaks[0] + 8 * 1024, "{peaks:?} KiB");
}
