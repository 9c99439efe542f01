//! `lastunit import`: CSV files in, one transaction, told as everything else is.

mod reservations;

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Ended, Figures, Ground, Launch, Program, Shop, order, wait_until};

/// A test's files and the command that takes them.
struct Importer<'a> {
    ground: &'a Ground,
    launch: Launch,
}

impl<'a> Importer<'a> {
    fn new(ground: &'a Ground) -> Self {
        Self { ground, launch: Launch::new(ground) }
    }

    /// On a database that is migrated while nothing runs.
    async fn migrated(ground: &'a Ground) -> Self {
        let importer = Self::new(ground);
        assert_eq!(importer.launch.run(&["migrate"]).await.code, Some(0));
        importer
    }

    /// Beside a program that tells what is stored from the first row on: rows that a relay finds unsent as it begins are told twice.
    async fn beside_a_program(ground: &'a Ground) -> (Program, Self, Shop) {
        let program = Launch::new(ground).ready(&["run"]).await;
        let shop = Shop::open(ground).await;
        shop.count("FIRST", "first", 1).await;
        shop.settled().await;
        (program, Self::new(ground), shop)
    }

    async fn run(&self, kind: &str, file: impl AsRef<[u8]>, flags: &[&str]) -> Ended {
        let path = self.ground.dir().join(format!("{kind}-{:016x}.csv", fastrand::u64(..)));
        fs::write(&path, file).unwrap();
        self.launch.run(&[&["import", kind, path.to_str().unwrap()], flags].concat()).await
    }

    /// The exit code and the document of `--json`.
    async fn report(&self, kind: &str, file: impl AsRef<[u8]>, flags: &[&str]) -> (Option<i32>, Value) {
        let ended = self.run(kind, file, &[flags, &["--json"]].concat()).await;
        let document = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
        (ended.code, document)
    }
}

fn taken(taken: usize, unchanged: usize) -> (Option<i32>, Value) {
    (Some(0), json!({ "taken": taken, "unchanged": unchanged, "bad": [] }))
}

/// SKUs that other systems stumble over, as they stand in a file, and as they are.
const ODD: [(&str, &str); 10] = [
    ("TROPA.", "TROPA."),
    ("007", "007"),
    ("7", "7"),
    ("back\\slash", "back\\slash"),
    ("*", "*"),
    (">", ">"),
    ("100% wool", "100% wool"),
    ("\"a,\"\"b\"\"\"", "a,\"b\""),
    ("caf\u{e9} ☕", "caf\u{e9} ☕"),
    ("cafe\u{301} ☕", "cafe\u{301} ☕"),
];

#[tokio::test(flavor = "multi_thread")]
async fn opening_figures_are_taken_beside_a_running_program_and_told() {
    let ground = Ground::new().await;
    let (_program, importer, shop) = Importer::beside_a_program(&ground).await;
    let longest = "я".repeat(100);
    let mut file = String::from("\u{feff}sku,warehouse,on_hand\r\n");
    for (written, _) in ODD {
        write!(file, "{written},main,3\r\n").unwrap();
    }
    write!(file, "{longest},far,1000000000\r\nEMPTY,main,0\r\n").unwrap();
    assert_eq!(importer.report("stock", &file, &[]).await, taken(12, 0));

    shop.settled().await;
    let mut told = shop.stream("STOCK").await;
    told.retain(|told| told.body["warehouse"] != "first");
    assert_eq!(told.len(), 12);
    let told_of = |sku: &str| told.iter().find(|told| told.body["sku"] == sku).unwrap();
    for (_, sku) in ODD {
        assert_eq!(shop.figures(sku, "main").await, Some(Figures { on_hand: 3, reserved: 0, version: 1 }), "{sku}");
        let figures = ["version", "on_hand", "reserved", "available"].map(|field| told_of(sku).body[field].clone());
        assert_eq!(figures, [json!(1), json!(3), json!(0), json!(3)], "{sku}");
    }
    assert_eq!(told_of("TROPA.").subject, "stock.changed.main.TROPA%2E");
    assert_eq!(told_of(&longest).body["on_hand"], 1_000_000_000);
    assert_eq!(told_of("EMPTY").body["available"], 0);
    let openings = "SELECT count(*) FROM stock_movement WHERE kind = 'opening' AND event_id IS NULL";
    assert_eq!(shop.number(openings).await, 11);

    shop.say("order.created.web", order("e1", "1001", "TROPA.")).await;
    assert_eq!(shop.answer_to("e1").await.what(), "held");
    shop.settled().await;
    shop.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_openings_change_nothing_whatever_was_sold_since() {
    let ground = Ground::new().await;
    let (_program, importer, shop) = Importer::beside_a_program(&ground).await;
    let file = "sku,warehouse,on_hand\nA,main,5\nB,main,0\nA,far,2\n";
    assert_eq!(importer.report("stock", file, &[]).await, taken(3, 0));
    assert_eq!(importer.report("stock", file, &[]).await, taken(0, 3));

    shop.say("order.created.web", order("e1", "1001", "A")).await;
    shop.answer_to("e1").await;
    shop.count("A", "main", 40).await;
    shop.count("B", "main", 7).await;
    shop.count("NEW", "main", 9).await;
    assert_eq!(importer.report("stock", file, &[]).await, taken(0, 3));

    let other = "sku,warehouse,on_hand\nC,main,1\nA,main,40\nNEW,main,9\nA,far,2\nB,main,7\n";
    let bad = json!([
        { "line": 3, "reason": "A in main is there already, opened with 5 and not 40: a stock-take says what is there now" },
        { "line": 4, "reason": "NEW in main is there already, opened with 0 and not 9: a stock-take says what is there now" },
        { "line": 6, "reason": "B in main is there already, opened with 0 and not 7: a stock-take says what is there now" },
    ]);
    let refused = (Some(1), json!({ "taken": 0, "unchanged": 1, "bad": bad }));
    assert_eq!(importer.report("stock", other, &[]).await, refused);
    assert_eq!(shop.figures("C", "main").await, None);
    let skipped = (Some(1), json!({ "taken": 1, "unchanged": 1, "bad": bad }));
    assert_eq!(importer.report("stock", other, &["--skip-bad"]).await, skipped);
    assert_eq!(shop.figures("C", "main").await, Some(Figures { on_hand: 1, reserved: 0, version: 1 }));
    // Where the order was served from, the first warehouse by name.
    assert_eq!(shop.figures("A", "far").await, Some(Figures { on_hand: 2, reserved: 1, version: 2 }));
    shop.settled().await;
    shop.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_rows_are_named_and_then_nothing_is_taken() {
    let ground = Ground::new().await;
    let (importer, shop) = (Importer::migrated(&ground).await, Shop::open(&ground).await);
    let long = "x".repeat(201);
    let file = format!(
        "sku,warehouse,on_hand\nA,main,1\n,main,1\n{long},main,1\n A,main,1\nB,no such,1\nC,main,-1\nD,main,1.5\n\
         E,main,1000000001\nF,main\nA,main,1\n\"G\nH\",main,1\nA,far,2\n"
    );
    let expected = "line 3: sku must be 1 to 200 bytes long\n\
                    line 4: sku must be 1 to 200 bytes long\n\
                    line 5: sku must not begin or end with white space\n\
                    line 6: warehouse must be 1 to 64 of A-Z a-z 0-9 _ -\n\
                    line 7: on_hand must be a whole number from 0 to 1000000000, not \"-1\"\n\
                    line 8: on_hand must be a whole number from 0 to 1000000000, not \"1.5\"\n\
                    line 9: on_hand must be a whole number from 0 to 1000000000, not \"1000000001\"\n\
                    line 10: it has 2 fields; the header has 3\n\
                    line 11: this sku in this warehouse stands in line 2 already\n\
                    line 12: sku must not contain control characters\n";
    let refused = importer.run("stock", &file, &[]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert_eq!(refused.stdout, format!("{expected}nothing taken: 10 bad (--skip-bad takes the others)\n"));
    assert_eq!(shop.number("SELECT count(*) FROM stock").await, 0);

    let skipped = importer.run("stock", &file, &["--skip-bad"]).await;
    assert_eq!(skipped.code, Some(1), "{skipped:?}");
    assert_eq!(skipped.stdout, format!("{expected}2 taken, 0 unchanged, 10 bad\n"));
    assert_eq!(shop.number("SELECT sum(on_hand)::bigint FROM stock").await, 3);
    assert_eq!(shop.number("SELECT count(*) FROM outbox WHERE stream = 'STOCK'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_use_is_a_2_and_a_database_that_is_away_a_3() {
    let ground = Ground::new().await;
    let importer = Importer::new(&ground);
    let file = "sku,warehouse,on_hand\nA,main,1\n";
    let unmigrated = importer.run("stock", file, &[]).await;
    assert_eq!(unmigrated.code, Some(2), "{unmigrated:?}");
    assert!(unmigrated.stderr.contains("lastunit migrate"), "{unmigrated:?}");

    for (file, said) in [
        ("", "it is empty; its first line must be sku,warehouse,on_hand"),
        ("sku,warehouse,qty\nA,main,1\n", "its header is \"sku,warehouse,qty\"; it must be sku,warehouse,on_hand"),
        ("A,main,1\n", "its header is \"A,main,1\"; it must be sku,warehouse,on_hand"),
    ] {
        let ended = importer.run("stock", file, &[]).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.contains(said), "{ended:?}");
    }
    for args in [&["import", "stock", "no-such.csv"][..], &["import", "stock"], &["import", "everything", "x.csv"]] {
        let ended = importer.launch.run(args).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
    }

    let since = Instant::now();
    let away = Importer {
        ground: &ground,
        launch: Launch::new(&ground).env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/nothing"),
    };
    let ended = away.run("stock", file, &[]).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_rows_are_taken_and_told() {
    const ROWS: usize = 100_000;
    let ground = Ground::new().await;
    let (_program, importer, shop) = Importer::beside_a_program(&ground).await;
    let mut file = String::from("sku,warehouse,on_hand\n");
    for n in 0..ROWS {
        writeln!(file, "SKU-{:06},main,{}", (n * 7_919) % ROWS, n % 100 + 1).unwrap();
    }
    let since = Instant::now();
    assert_eq!(importer.report("stock", &file, &[]).await, taken(ROWS, 0));
    println!("{ROWS} rows taken in {:?}", since.elapsed());
    wait_until("all of it to be told", Duration::from_mins(2), async || {
        shop.number("SELECT count(*) FROM outbox WHERE sent_at IS NULL").await == 0
    })
    .await;
    println!("and told after {:?}", since.elapsed());
    let again = Instant::now();
    assert_eq!(importer.report("stock", &file, &[]).await, taken(0, ROWS));
    println!("and once more in {:?}", again.elapsed());
    assert_eq!(shop.number("SELECT sum(on_hand)::bigint FROM stock").await, 5_050_001);
    shop.settled().await;
    shop.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_at_once_take_every_row_once() {
    let ground = Ground::new().await;
    let (importer, shop) = (Importer::migrated(&ground).await, Shop::open(&ground).await);
    let mut file = String::from("sku,warehouse,on_hand\n");
    for n in 0..5_000 {
        writeln!(file, "SKU-{n},main,1").unwrap();
    }
    let one = || importer.report("stock", &file, &[]);
    let (first, second, third) = tokio::join!(one(), one(), one());
    let mut reports = [first, second, third];
    reports.sort_by_key(|(_, report)| report["taken"].as_u64());
    assert_eq!(reports, [taken(0, 5_000), taken(0, 5_000), taken(5_000, 0)]);
    assert_eq!(shop.number("SELECT count(*) FROM stock_movement").await, 5_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_map_tells_the_rows_of_its_warehouse_anew() {
    let ground = Ground::new().await;
    let (_program, importer, shop) = Importer::beside_a_program(&ground).await;
    let stock = "sku,warehouse,on_hand\nA,main,5\nB,main,6\nA,far,7\n";
    assert_eq!(importer.report("stock", stock, &[]).await, taken(3, 0));

    let header = "warehouse,channel,external_warehouse_id,priority,safety_stock";
    let both = format!("{header}\nfar,web,,1,\nmain,ozon,22142605170000,,2\nnowhere,web,,2,\n");
    assert_eq!(importer.report("warehouses", &both, &[]).await, taken(3, 0));
    assert_eq!(importer.report("warehouses", &both, &[]).await, taken(0, 3));
    let versions = async || {
        let rows = [("A", "main"), ("B", "main"), ("A", "far")];
        let mut versions = Vec::new();
        for (sku, warehouse) in rows {
            versions.push(shop.figures(sku, warehouse).await.unwrap().version);
        }
        versions
    };
    assert_eq!(versions().await, [2, 2, 2]);
    shop.settled().await;

    let safer = format!("{header}\nfar,web,,1,\nmain,ozon,22142605170000,0,3\n");
    assert_eq!(importer.report("warehouses", &safer, &[]).await, taken(1, 1));
    assert_eq!(versions().await, [3, 3, 2]);
    let map = "SELECT count(*) FROM channel_warehouse_map WHERE (warehouse, channel, priority) IN
               (('far', 'web', 1), ('nowhere', 'web', 2)) AND external_warehouse_id IS NULL AND safety_stock IS NULL
               OR (warehouse, channel, external_warehouse_id, priority, safety_stock)
                  = ('main', 'ozon', '22142605170000', 0, 3)";
    assert_eq!(shop.number(map).await, 3);

    // The map is in force: an order of the channel `web` goes to `far`.
    shop.say("order.created.web", order("e1", "1001", "A")).await;
    assert_eq!(shop.answer_to("e1").await.body["lines"][0]["warehouse"], "far");
    shop.settled().await;
    shop.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_rows_of_the_map_are_named() {
    let ground = Ground::new().await;
    let (importer, shop) = (Importer::migrated(&ground).await, Shop::open(&ground).await);
    let header = "warehouse,channel,external_warehouse_id,priority,safety_stock";
    assert_eq!(importer.report("warehouses", format!("{header}\nmain,wb,7,,\nfar,wb,8,,\n"), &[]).await, taken(2, 0));
    let trade = format!("{header}\nmain,wb,8,,\nfar,wb,7,,\n");
    assert_eq!(importer.report("warehouses", trade, &[]).await, taken(2, 0));

    let file = format!(
        "{header}\nmain,a.b,,,\nmain,web,,first,\nmain,web,,1,-1\nnear,wb,7,,\nnear,web,,,\nnear,web,,1,\nmain,wb,8,1,\n"
    );
    let bad = json!([
        { "line": 2, "reason": "channel must be 1 to 64 of A-Z a-z 0-9 _ -" },
        { "line": 3, "reason": "priority must be a whole number from -2147483648 to 2147483647, not \"first\"" },
        { "line": 4, "reason": "safety_stock must be a whole number from 0 to 1000000000, not \"-1\"" },
        { "line": 5, "reason": "external_warehouse_id \"7\" of wb is far already" },
        { "line": 7, "reason": "this warehouse for this channel stands in line 6 already" },
    ]);
    let refused = (Some(1), json!({ "taken": 0, "unchanged": 0, "bad": bad }));
    assert_eq!(importer.report("warehouses", &file, &[]).await, refused);
    assert_eq!(shop.number("SELECT count(*) FROM channel_warehouse_map WHERE priority = 0").await, 2);
    let skipped = (Some(1), json!({ "taken": 2, "unchanged": 0, "bad": bad }));
    assert_eq!(importer.report("warehouses", &file, &["--skip-bad"]).await, skipped);
    assert_eq!(shop.number("SELECT count(*) FROM channel_warehouse_map WHERE channel = 'web'").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn mappings_are_taken_and_the_rows_of_what_changed_are_told_anew() {
    let ground = Ground::new().await;
    let (_program, importer, shop) = Importer::beside_a_program(&ground).await;
    shop.count_many(&[("A", 5), ("B", 2), ("C", 1)], "main").await;
    shop.count("A", "far", 2).await;
    let file = "sku,channel,external_id\nB,ozon,offer B\nA,ozon,offer A\nUNKNOWN,ozon,offer U\nA,web,7\n";
    assert_eq!(importer.report("mappings", file, &[]).await, taken(4, 0));
    assert_eq!(importer.report("mappings", file, &[]).await, taken(0, 4));
    let versions = async || {
        let mut versions = Vec::new();
        for (sku, warehouse) in [("A", "main"), ("A", "far"), ("B", "main"), ("C", "main")] {
            versions.push(shop.figures(sku, warehouse).await.unwrap().version);
        }
        versions
    };
    assert_eq!(versions().await, [2, 2, 2, 1]);

    // A later file changes what it names: two trade their ids, and one stays as it is.
    let trade = "sku,channel,external_id\nA,ozon,offer B\nB,ozon,offer A\nA,web,7\n";
    assert_eq!(importer.report("mappings", trade, &[]).await, taken(2, 1));
    assert_eq!(versions().await, [3, 3, 3, 1]);
    let map = "SELECT count(*) FROM channel_item_map WHERE (sku, channel, external_id) IN
               (('A', 'ozon', 'offer B'), ('B', 'ozon', 'offer A'), ('UNKNOWN', 'ozon', 'offer U'), ('A', 'web', '7'))";
    assert_eq!(shop.number(map).await, 4);
    shop.settled().await;
    let told = shop.stream("STOCK").await;
    let last = told.iter().rfind(|told| told.body["sku"] == "A" && told.body["warehouse"] == "far").unwrap();
    assert_eq!((&last.body["version"], &last.body["available"]), (&json!(3), &json!(2)));
    shop.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_mappings_are_named_and_then_nothing_is_taken_nor_told() {
    let ground = Ground::new().await;
    let mut importer = Importer::migrated(&ground).await;
    importer.launch = importer.launch.config("[channels.wb]\nkind = \"wildberries\"");
    let shop = Shop::open(&ground).await;
    assert_eq!(importer.report("stock", "sku,warehouse,on_hand\nA,main,1\nB,main,1\n", &[]).await, taken(2, 0));
    assert_eq!(importer.report("mappings", "sku,channel,external_id\nA,ozon,1\n", &[]).await, taken(1, 0));
    let file = "sku,channel,external_id\nA,ozon,2\nB,ozon,3\nC,ozon,3\nB,wb,O-1\nB,a.b,1\n,ozon,9\nB,ozon,4\nD,ozon,\nE,wb,17\n";
    let bad = json!([
        { "line": 4, "reason": "external_id \"3\" of ozon is B already" },
        { "line": 5, "reason": "external_id must be a chrtId, a whole number above 0 without leading zeros, not \"O-1\"" },
        { "line": 6, "reason": "channel must be 1 to 64 of A-Z a-z 0-9 _ -" },
        { "line": 7, "reason": "sku must be 1 to 200 bytes long" },
        { "line": 8, "reason": "this sku for this channel stands in line 3 already" },
        { "line": 9, "reason": "external_id must be 1 to 200 bytes long" },
    ]);
    let refused = (Some(1), json!({ "taken": 0, "unchanged": 0, "bad": bad }));
    assert_eq!(importer.report("mappings", file, &[]).await, refused);
    assert_eq!(shop.number("SELECT count(*) FROM channel_item_map WHERE external_id = '1'").await, 1);
    assert_eq!(shop.figures("A", "main").await.unwrap().version, 2);
    let skipped = (Some(1), json!({ "taken": 3, "unchanged": 0, "bad": bad }));
    assert_eq!(importer.report("mappings", file, &["--skip-bad"]).await, skipped);
    assert_eq!(shop.number("SELECT count(*) FROM channel_item_map").await, 3);
    assert_eq!(shop.figures("A", "main").await.unwrap().version, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_are_known_from_then_on_and_a_later_file_renames() {
    let ground = Ground::new().await;
    let (_program, importer, shop) = Importer::beside_a_program(&ground).await;
    let file = "resource,name\nroom-2,Second room\n\"a, \"\"b\"\"\",\nroom-1,First room\n";
    assert_eq!(importer.report("resources", file, &[]).await, taken(3, 0));
    assert_eq!(importer.report("resources", file, &[]).await, taken(0, 3));
    assert_eq!(importer.report("resources", "name,resource\nBlue,room-2\n,room-3\n", &[]).await, taken(2, 0));
    let rows: Vec<(String, Option<String>)> =
        sqlx::query_as("SELECT resource, name FROM slot_resource ORDER BY resource").fetch_all(&shop.db).await.unwrap();
    let row = |resource: &str, name: Option<&str>| (resource.to_owned(), name.map(str::to_owned));
    let expected =
        [row("a, \"b\"", None), row("room-1", Some("First room")), row("room-2", Some("Blue")), row("room-3", None)];
    assert_eq!(rows, expected);

    let bad = "resource,name\nroom-4,Fourth\n room-5,\nroom-4,Again\nroom-6, edge\n";
    let reasons = json!([
        { "line": 3, "reason": "resource must not begin or end with white space" },
        { "line": 4, "reason": "this resource stands in line 2 already" },
        { "line": 5, "reason": "name must not begin or end with white space" },
    ]);
    let refused = (Some(1), json!({ "taken": 0, "unchanged": 0, "bad": reasons }));
    assert_eq!(importer.report("resources", bad, &[]).await, refused);
    assert_eq!(shop.number("SELECT count(*) FROM slot_resource").await, 4);
    let skipped = (Some(1), json!({ "taken": 1, "unchanged": 0, "bad": reasons }));
    assert_eq!(importer.report("resources", bad, &["--skip-bad"]).await, skipped);

    let slot = json!({ "resource": "a, \"b\"", "from": "2027-01-01T10:00:00Z", "to": "2027-01-01T11:00:00Z" });
    shop.say("order.created.web", json!({ "event_id": "e1", "order_ref": "1001", "lines": [slot] })).await;
    assert_eq!(shop.answer_to("e1").await.what(), "held");
    // A name may change while a slot is held.
    assert_eq!(importer.report("resources", "resource,name\n\"a, \"\"b\"\"\",Corner\n", &[]).await, taken(1, 0));
    shop.settled().await;
    shop.audit().await;
}
