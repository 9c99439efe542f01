//! `audit --repair-plan`: the plan changes nothing, `--apply` sets right what rows tell and leaves the rest to a person.

use lastunit::audit::{Suspects, Treated};
use lastunit::domain::{Figure, Finding, Place, Remedy, Sku, StockKey, Warehouse};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::{findings, rows};
use crate::support::{Ground, Launch, Shop, buyers, order};

/// Ten units, one of them held, all told; the program may go on.
async fn morning(shop: &Shop) {
    shop.count("A", "main", 10).await;
    shop.say("order.created.web", order("new-1", "1", "A")).await;
    shop.answer_to("new-1").await;
    shop.settled().await;
}

async fn execute(shop: &Shop, statements: &'static str) {
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&shop.db).await.unwrap();
}

/// What the command prints with its exit code; the names of entries, which are each another, are taken out.
async fn repair(launch: &Launch, args: &[&str]) -> (Option<i32>, Vec<Value>) {
    let ended = launch.run(&[&["audit", "--json", "--repair-plan"], args].concat()).await;
    let mut printed = rows(&ended);
    for row in &mut printed {
        let event_id = row.as_object_mut().unwrap().remove("event_id");
        let is_named = event_id.is_some_and(|id| id.as_str().unwrap().starts_with("repair:"));
        assert_eq!(is_named, row["repair"] == "applied", "{row}");
    }
    (ended.code, printed)
}

fn entry(repair: &str, kind: &str, before: i64, after: i64) -> Value {
    json!({ "sku": "A", "warehouse": "main", "repair": repair, "kind": kind, "before": before, "after": after })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_rows_tell_is_planned_without_a_change_and_set_right_beside_a_running_program() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    morning(&shop).await;
    assert_eq!(repair(&launch, &[]).await, (Some(0), vec![]));
    assert_eq!(launch.run(&["audit", "--apply"]).await.code, Some(2));

    let version = shop.figures("A", "main").await.unwrap().version;
    execute(&shop, "UPDATE stock SET reserved = 4; UPDATE stock_movement SET delta = 7").await;
    let expected = |word: &str| {
        vec![entry(word, "reserved", 4, 1), entry(word, "counted", 7, 10), entry(word, "retold", version, version + 1)]
    };
    assert_eq!(repair(&launch, &[]).await, (Some(1), expected("planned")));
    let unchanged = shop.figures("A", "main").await.unwrap();
    assert_eq!((unchanged.reserved, unchanged.version), (4, version));
    assert_eq!(shop.number("SELECT count(*) FROM stock_movement").await, 1);
    assert_eq!(shop.number("SELECT count(*) FROM repair").await, 0);

    assert_eq!(repair(&launch, &["--apply"]).await, (Some(0), expected("applied")));
    let right = shop.figures("A", "main").await.unwrap();
    assert_eq!((right.on_hand, right.reserved, right.version), (10, 1, version + 1));
    let named = "SELECT count(*) FROM repair JOIN stock_movement USING (event_id) WHERE repair.kind = 'counted'
                 AND stock_movement.kind = 'counted' AND delta = 3";
    assert_eq!(shop.number(named).await, 1);
    assert_eq!(shop.number("SELECT count(*) FROM repair").await, 3);

    // The program sells on from the figures that are right.
    shop.say("order.created.web", order("new-2", "2", "A")).await;
    shop.answer_to("new-2").await;
    shop.settled().await;
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
    shop.audit().await;
    assert_eq!(program.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_row_tells_stays_with_a_person() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    morning(&shop).await;
    assert_eq!(program.terminate().await, Some(0));

    // More outstanding than lies there, a journal that alone is wrong, and an order that is not what its line is.
    let breaks = [
        ("UPDATE reservation SET qty = 11", "UPDATE reservation SET qty = 1", "count the shelf"),
        ("UPDATE reservation_event SET qty = 3", "UPDATE reservation_event SET qty = 1", "journal of reservations"),
        (
            "UPDATE sales_order SET state = 'released'",
            "UPDATE sales_order SET state = 'held'",
            "lastunit explain CHANNEL ORDER_REF",
        ),
    ];
    let version = shop.figures("A", "main").await.unwrap().version;
    for (break_it, mend_it, look) in breaks {
        execute(&shop, break_it).await;
        let (code, printed) = repair(&launch, &["--apply"]).await;
        let [row] = &printed[..] else { panic!("{break_it}: {printed:?}") };
        assert_eq!((code, &row["repair"]), (Some(1), &json!("by_hand")), "{break_it}");
        assert!(row["look"].as_str().unwrap().contains(look), "{row}");
        assert_eq!(shop.figures("A", "main").await.unwrap().version, version, "{break_it}");
        assert_eq!(shop.number("SELECT count(*) FROM repair").await, 0);
        execute(&shop, mend_it).await;
    }
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_several_transactions_are_set_right_while_they_are_sold_from() {
    const ROWS: i64 = 1_100;
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    let skus: Vec<String> = (0..ROWS).map(|n| format!("A{n}")).collect();
    let skus: Vec<&str> = skus.iter().map(String::as_str).collect();
    let counts: Vec<(&str, i64)> = skus.iter().map(|sku| (*sku, 1_000)).collect();
    for counts in counts.chunks(500) {
        shop.count_many(counts, "main").await;
    }
    let load = shop.trickle(buyers("new", &skus));
    shop.wait_for("RESERVATIONS", 100).await;
    // Locked in the order in which batches lock.
    let break_it =
        "SELECT FROM stock ORDER BY sku, warehouse FOR NO KEY UPDATE; UPDATE stock SET reserved = reserved + 7";
    execute(&shop, break_it).await;
    let (code, printed) = repair(&launch, &["--apply"]).await;
    let reserved: Vec<&Value> = printed.iter().filter(|row| row["kind"] == "reserved").collect();
    assert_eq!((code, reserved.len()), (Some(0), skus.len()));
    for row in reserved {
        assert_eq!(row["before"].as_i64().unwrap() - row["after"].as_i64().unwrap(), 7, "{row}");
    }
    let said = load.end().await;
    shop.settled().await;
    assert_eq!(shop.number("SELECT sum(reserved)::bigint FROM stock").await, i64::try_from(said.len()).unwrap());
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
    shop.audit().await;
    assert_eq!(program.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_healed_since_the_audit_is_left_alone() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    morning(&shop).await;
    assert_eq!(program.terminate().await, Some(0));
    let before = shop.figures("A", "main").await.unwrap();

    let key = StockKey { sku: Sku::new("A").unwrap(), warehouse: Warehouse::new("main").unwrap() };
    let mut suspects = Suspects::default();
    let told = Figure::Told { seen: Some(before.version - 1), told: Some(before.version - 1) };
    for (invariant, figure) in [(2, Figure::Reserved), (3, Figure::OnHand), (7, told)] {
        let (expected, found) = (String::new(), String::new());
        let finding = Finding { invariant, place: Place::stock(&key), expected, found, figure: Some(figure) };
        assert!(suspects.add(&finding));
    }
    let mut treated = Vec::new();
    let mut session = PgConnection::connect(&ground.database_url).await.unwrap();
    let mut take = |one: &Treated| {
        treated.push(one.remedy);
        Ok(())
    };
    suspects.treat(&mut session, true, &mut take).await.unwrap();
    assert!(!treated.is_empty() && treated.iter().all(|remedy| *remedy == Remedy::Healed), "{treated:?}");
    assert_eq!(shop.figures("A", "main").await.unwrap(), before);
    assert_eq!(shop.number("SELECT count(*) FROM repair").await, 0);
    assert_eq!(shop.number("SELECT count(*) FROM stock_movement").await, 1);
}
