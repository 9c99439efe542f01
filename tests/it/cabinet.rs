//! The way around a marketplace's interface: `export desired` for its cabinet, `import observed` of what the cabinet shows.

use std::fs;

use calamine::{Data, Reader as _, Xlsx};
use rust_xlsxwriter::Workbook;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::support::{Ended, Ground, Launch, Shop};

const CHANNELS: &str = "[channels.oz]\nkind = \"ozon\"\nsafety_stock = 2\n[channels.wb]\nkind = \"wildberries\"\n\
                        [channels.hook]\nkind = \"webhook\"";

/// A database that is migrated while nothing runs, with three channels in the settings.
struct Cabinet {
    ground: Ground,
    launch: Launch,
    shop: Shop,
}

impl Cabinet {
    async fn open() -> Self {
        let ground = Ground::new().await;
        let launch = Launch::new(&ground).config(CHANNELS);
        assert_eq!(launch.run(&["migrate"]).await.code, Some(0));
        let shop = Shop::open(&ground).await;
        Self { ground, launch, shop }
    }

    async fn sql(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&self.shop.db).await.unwrap();
    }

    async fn import(&self, kind: &str, text: &str) {
        let path = self.ground.dir().join(format!("{kind}.csv"));
        fs::write(&path, text).unwrap();
        let ended = self.launch.run(&["import", kind, path.to_str().unwrap()]).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }

    /// `import observed` of a file, with the document of `--json`.
    async fn observe(&self, channel: &str, file: impl AsRef<[u8]>, flags: &[&str]) -> (Option<i32>, Value) {
        let ended = self.observe_as_text(channel, file, &[flags, &["--json"]].concat()).await;
        let document = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
        (ended.code, document)
    }

    async fn observe_as_text(&self, channel: &str, file: impl AsRef<[u8]>, flags: &[&str]) -> Ended {
        let path = self.ground.dir().join("observed");
        fs::write(&path, file).unwrap();
        let args = ["import", "observed", path.to_str().unwrap(), "--channel", channel];
        self.launch.run(&[&args, flags].concat()).await
    }
}

/// Items and warehouses of every kind: `far` is sold under no name of its own, and nothing ever lay in `empty`.
async fn stocked() -> Cabinet {
    let cabinet = Cabinet::open().await;
    cabinet.import("stock", "sku,warehouse,on_hand\nA,main,10\nB,main,1\nBIG,main,1500000\n\"a,\"\"b\"\"\",main,9\nA,north,4\nA,far,7\n").await;
    cabinet
        .import("mappings", "sku,channel,external_id\nA,oz,007\nB,oz,22142605386000\nBIG,oz,big\n\"a,\"\"b\"\"\",oz,\"x \"\"y\"\", z\"\nNEW,oz,new\nBIG,wb,5\nBIG,hook,h\n")
        .await;
    cabinet
        .import("warehouses", "warehouse,channel,external_warehouse_id,priority,safety_stock\nmain,oz,22142605170000,,\nnorth,oz,77,,0\nfar,oz,,,\nempty,oz,78,,\nmain,wb,1,,\nmain,hook,m,,\n")
        .await;
    cabinet.sql("UPDATE stock SET reserved = 3 WHERE sku = 'A' AND warehouse = 'main'").await;
    cabinet
}

const DESIRED: [[&str; 6]; 10] = [
    ["007", "22142605170000", "5", "A", "main", "3"],
    ["22142605386000", "22142605170000", "0", "B", "main", "3"],
    ["big", "22142605170000", "999999", "BIG", "main", "3"],
    ["new", "22142605170000", "0", "NEW", "main", "0"],
    ["x \"y\", z", "22142605170000", "7", "a,\"b\"", "main", "3"],
    ["007", "77", "4", "A", "north", "3"],
    ["22142605386000", "77", "0", "B", "north", "0"],
    ["big", "77", "0", "BIG", "north", "0"],
    ["new", "77", "0", "NEW", "north", "0"],
    ["x \"y\", z", "77", "0", "a,\"b\"", "north", "0"],
];

#[tokio::test(flavor = "multi_thread")]
async fn what_a_channel_should_show_is_written_for_its_cabinet() {
    let cabinet = stocked().await;
    let ended = cabinet.launch.run(&["export", "desired", "--channel", "oz"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut reader = csv::Reader::from_reader(ended.stdout.as_bytes());
    let header = ["external_id", "external_warehouse_id", "qty", "sku", "warehouse", "version"];
    assert_eq!(reader.headers().unwrap(), header.as_slice());
    let rows: Vec<Vec<String>> = reader.deserialize().map(Result::unwrap).collect();
    // Its own safety stock in `north`, the channel's in `main`; what it cannot take is capped.
    assert_eq!(rows, DESIRED);

    let qty = async |channel: &str| {
        let ended = cabinet.launch.run(&["export", "desired", "--channel", channel]).await;
        ended.stdout.lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(qty("wb").await, "5,1,100000,BIG,main,3");
    assert_eq!(qty("hook").await, "h,m,1500000,BIG,main,3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workbook_has_its_ids_as_texts_and_its_units_as_numbers() {
    let cabinet = stocked().await;
    let path = cabinet.ground.dir().join("desired.xlsx");
    let out = path.to_str().unwrap();
    let ended = cabinet.launch.run(&["export", "desired", "--channel", "oz", "--format", "xlsx", "--out", out]).await;
    assert_eq!((ended.code, ended.stdout), (Some(0), format!("{out}: 10 rows\n")));
    let mut workbook: Xlsx<_> = calamine::open_workbook(&path).unwrap();
    let sheet = workbook.worksheet_range_at(0).unwrap().unwrap();
    let rows: Vec<&[Data]> = sheet.rows().skip(1).collect();
    assert_eq!(rows.len(), DESIRED.len());
    for (row, [external_id, external_warehouse_id, qty, sku, warehouse, version]) in rows.iter().zip(DESIRED) {
        let text = |text: &str| Data::String(text.to_owned());
        let number = |text: &str| Data::Float(text.parse().unwrap());
        let expected =
            [text(external_id), text(external_warehouse_id), number(qty), text(sku), text(warehouse), number(version)];
        assert_eq!(*row, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_is_not_in_the_settings_is_wrong_use() {
    let cabinet = Cabinet::open().await;
    let file = cabinet.ground.dir().join("x.csv");
    fs::write(&file, "external_id,external_warehouse_id,qty\n").unwrap();
    for args in [
        &["export", "desired", "--channel", "nobody"][..],
        &["import", "observed", file.to_str().unwrap(), "--channel", "nobody"],
    ] {
        let ended = cabinet.launch.run(args).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert_eq!(ended.stderr, "lastunit: no channel \"nobody\" in the settings, which have hook, oz, wb\n");
    }
}

/// A point of `oz` in `main` under the SKU in small letters, told `qty` of `version` an hour ago.
async fn point(cabinet: &Cabinet, sku: &str, version: i64, qty: i64, newest: i64) {
    let id = sku.to_lowercase();
    cabinet
        .sql(&format!(
            "INSERT INTO publish_point (sku, channel, warehouse, external_id, external_warehouse_id, newest_version, available, desired_qty,
                told_version, told_qty, told_at, told_external_id, told_external_warehouse_id)
             VALUES ('{sku}', 'oz', 'main', '{id}', '7', {newest}, 9, 9, {version}, {qty}, now() - interval '1 h', '{id}', '7')"
        ))
        .await;
    attempt(cabinet, sku, &id, version, qty, "1 h", 1).await;
}

async fn attempt(cabinet: &Cabinet, sku: &str, id: &str, version: i64, qty: i64, ago: &str, flight: i64) {
    cabinet
        .sql(&format!(
            "INSERT INTO push_attempt (sku, channel, warehouse, version, external_id, external_warehouse_id, qty, withdrawal, flight, lease,
                began_at, ended_at, outcome, generation)
             VALUES ('{sku}', 'oz', 'main', {version}, '{id}', '7', {qty}, false, {flight}, gen_random_uuid(),
                now() - interval '{ago}', now() - interval '{ago}', 'accepted', 0)"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cabinet_shows_is_held_against_what_it_had_been_told_by_then() {
    let cabinet = Cabinet::open().await;
    for (sku, newest) in [("SAME", 3), ("DRIFT", 3), ("QUEUED", 4), ("FLYING", 3)] {
        point(&cabinet, sku, 3, 5, newest).await;
    }
    cabinet.sql("UPDATE publish_point SET lease = gen_random_uuid(), lease_until = now() + interval '1 h' WHERE sku = 'FLYING'").await;
    let file = "external_id,external_warehouse_id,qty\nsame,7,5\ndrift,7,8\nqueued,7,8\nflying,7,0\n";
    let (code, report) = cabinet.observe("oz", file, &[]).await;
    assert_eq!(code, Some(1), "{report:#}");
    let counts = ["in_sync", "lagging", "drift", "taken", "unchanged"].map(|name| report[name].as_i64().unwrap());
    assert_eq!(counts, [1, 1, 2, 4, 0]);
    let different = |line, sku: &str, shows, newest, verdict: &str| {
        json!({ "line": line, "sku": sku, "warehouse": "main", "observed_qty": shows, "told_qty": 5, "told_version": 3,
                "newest_version": newest, "verdict": verdict })
    };
    let expected = [
        different(3, "DRIFT", 8, 3, "drift"),
        different(4, "QUEUED", 8, 4, "lagging"),
        different(5, "FLYING", 0, 3, "drift"),
    ];
    assert_eq!(report["different"], json!(expected));

    let kept = "SELECT count(*) FROM stock_observation JOIN generation ON generation.number = stock_observation.generation
                WHERE kept = 'observations' AND current AND channel = 'oz' AND warehouse = 'main' AND desired_qty = 5
                    AND compared_version = 3 AND (sku, observed_qty, verdict) IN
                        (('SAME', 5, 'in_sync'), ('DRIFT', 8, 'drift'), ('QUEUED', 8, 'lagging'), ('FLYING', 0, 'drift'))";
    assert_eq!(cabinet.shop.number(kept).await, 4);
    // What drifted is to be looked at, but for what somebody is sending to.
    let looked: Vec<String> = sqlx::query_scalar("SELECT sku FROM publish_point WHERE look_at <= clock_timestamp()")
        .fetch_all(&cabinet.shop.db)
        .await
        .unwrap();
    assert_eq!(looked, ["DRIFT"]);
    // Nothing was healed.
    assert_eq!(
        cabinet.shop.number("SELECT count(*) FROM publish_point WHERE due_at IS NOT NULL OR heals > 0").await,
        0
    );

    let in_sync = cabinet.observe("oz", "external_id,external_warehouse_id,qty\nsame,7,5\n", &[]).await;
    assert_eq!((in_sync.0, &in_sync.1["in_sync"]), (Some(0), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_moment_of_the_file_decides_and_the_same_file_again_changes_nothing() {
    let cabinet = Cabinet::open().await;
    point(&cabinet, "A", 3, 5, 4).await;
    attempt(&cabinet, "A", "a", 4, 6, "10 m", 2).await;
    // To an address that the item has no more: not what this one shows.
    attempt(&cabinet, "A", "old", 4, 0, "9 m", 3).await;
    let at = "SELECT to_char(now() - interval '30 m', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";
    let at: String = sqlx::query_scalar(at).fetch_one(&cabinet.shop.db).await.unwrap();
    let file = |qty: i64| format!("external_id,external_warehouse_id,qty\na,7,{qty}\n");
    let said = async |qty: i64, flags: &[&str]| {
        let (code, report) = cabinet.observe("oz", file(qty), flags).await;
        let verdict = ["in_sync", "lagging", "drift"].into_iter().find(|verdict| report[*verdict] == 1).unwrap();
        (code, verdict, report["taken"].as_i64().unwrap())
    };
    let then = ["--at", at.as_str()];
    assert_eq!(said(5, &then).await, (Some(0), "in_sync", 1));
    assert_eq!(said(5, &then).await, (Some(0), "in_sync", 0));
    assert_eq!(said(4, &then).await, (Some(0), "lagging", 1));
    assert_eq!(said(6, &[]).await, (Some(0), "in_sync", 1));
    // An accepted push of Ozon may take 20 minutes to show.
    assert_eq!(said(5, &[]).await, (Some(0), "lagging", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_empty_invalid_or_nowhere_is_a_bad_row_and_never_0() {
    let cabinet = Cabinet::open().await;
    point(&cabinet, "A", 3, 5, 3).await;
    point(&cabinet, "B", 3, 5, 3).await;
    let mut workbook = Workbook::new();
    let sheet = workbook.add_worksheet();
    for (row, cells) in (0..).zip([
        ["external_id", "qty", "title", "external_warehouse_id"],
        ["a", "", "", "7"],
        ["b", "invalid", "", "7"],
        ["c", "0", "", "7"],
    ]) {
        for (column, text) in (0..).zip(cells) {
            sheet.write_string(row, column, text).unwrap();
        }
    }
    let workbook = workbook.save_to_buffer().unwrap();
    let bad = "line 2: qty must be a whole number from 0 to 1000000000, not \"\"\n\
               line 3: qty must be a whole number from 0 to 1000000000, not \"invalid\"\n\
               line 4: oz sells nothing as \"c\" in \"7\", as far as is known here\n";
    let refused = cabinet.observe_as_text("oz", &workbook, &[]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let nothing = "0 in sync, 0 lagging, 0 drifted, 3 bad: nothing taken (--skip-bad takes the others)\n";
    assert_eq!(refused.stdout, format!("{bad}{nothing}"));
    let observations = "SELECT count(*) FROM stock_observation";
    let csv = "external_id,external_warehouse_id,qty\na,7,9\nb,7,\n";
    let refused = cabinet.observe_as_text("oz", csv, &[]).await;
    let line = "line 2: A in main shows 9, told 5 (version 3): drift\n";
    let bad = "line 3: qty must be a whole number from 0 to 1000000000, not \"\"\n";
    let counts = "0 in sync, 0 lagging, 1 drifted, 1 bad";
    assert_eq!(refused.stdout, format!("{bad}{line}{counts}: nothing taken (--skip-bad takes the others)\n"));
    assert_eq!(cabinet.shop.number(observations).await, 0);
    let skipped = cabinet.observe_as_text("oz", csv, &["--skip-bad"]).await;
    assert_eq!((skipped.code, skipped.stdout), (Some(1), format!("{bad}{line}{counts}\n")));
    assert_eq!(cabinet.shop.number(observations).await, 1);
}
