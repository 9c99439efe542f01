//! Each invariant is broken, by hand and with the constraints out of the way, and found with its place.

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::{findings, rows};
use crate::support::{Ground, Launch, PATIENCE, Shop, order, wait_until};

/// A morning's work, told and settled, its program gone: order 1 held, 2 confirmed, 3 cancelled, a cancel that waits, a dead letter.
async fn morning(ground: &Ground, launch: &Launch) -> Shop {
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(ground).await;
    shop.count("A", "main", 10).await;
    let said = [
        ("order.created.web", order("new-1", "1", "A")),
        (
            "order.created.web",
            json!({ "event_id": "new-2", "order_ref": "2", "payment": "prepaid",
                                      "lines": [{ "sku": "A", "qty": 1 }] }),
        ),
        ("order.created.web", order("new-3", "3", "A")),
        ("order.cancelled.web", json!({ "event_id": "cancel-3", "order_ref": "3" })),
    ];
    for (subject, body) in said {
        let id = body["event_id"].as_str().unwrap().to_owned();
        shop.say(subject, body).await;
        shop.answer_to(&id).await;
    }
    let too_many = json!([{ "sku": "A", "qty": 5 }]);
    shop.say("order.cancelled.web", json!({ "event_id": "over", "order_ref": "1", "lines": too_many })).await;
    shop.say("order.cancelled.web", json!({ "event_id": "early", "order_ref": "later" })).await;
    shop.wait_for("DEAD", 1).await;
    let waits = "SELECT count(*) FROM waiting_message";
    wait_until("the cancel to wait", PATIENCE, async || shop.number(waits).await == 1).await;
    shop.settled().await;
    assert_eq!(program.terminate().await, Some(0));
    shop
}

impl Shop {
    async fn execute(&self, statements: &'static str) {
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&self.db).await.unwrap();
    }

    async fn id(&self, query: &'static str) -> i64 {
        self.number(query).await
    }
}

/// What a run of the command finds while something is broken. Afterwards it is mended, and nothing is found.
pub(super) async fn broken(shop: &Shop, launch: &Launch, break_it: &'static str, mend_it: &'static str) -> Vec<Value> {
    shop.execute(break_it).await;
    let found = findings(launch).await;
    shop.execute(mend_it).await;
    assert_eq!(findings(launch).await, [] as [Value; 0], "mended by {mend_it}");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_that_is_wrong_is_found_by_every_invariant_that_it_breaks() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = morning(&ground, &launch).await;
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
    let row = |invariant: u8, expected: &str, found: &str| json!({ "invariant": invariant, "sku": "A", "warehouse": "main", "expected": expected, "found": found });
    let told = |version: i64| format!("on_hand 10, reserved 2, version {version}");
    let version = shop.figures("A", "main").await.unwrap().version;

    // 1, and with it what the journal says and what was told.
    let found = broken(
        &shop,
        &launch,
        "ALTER TABLE stock DROP CONSTRAINT stock_reserved_within_on_hand; UPDATE stock SET reserved = 11",
        "UPDATE stock SET reserved = 2;
         ALTER TABLE stock ADD CONSTRAINT stock_reserved_within_on_hand CHECK (reserved <= on_hand)",
    )
    .await;
    let now = format!("on_hand 10, reserved 11, version {version}, told");
    let expected = [
        row(1, "0 <= reserved <= on_hand", "reserved 11, on_hand 10"),
        row(2, "2 by the lines, 2 by the journal", "reserved 11"),
        row(7, &now, &told(version)),
    ];
    assert_eq!(found, expected);

    // 2: the journal alone, and the lines alone.
    let found = broken(
        &shop,
        &launch,
        "UPDATE reservation_event SET qty = 3 WHERE event_id = 'new-1'",
        "UPDATE reservation_event SET qty = 1 WHERE event_id = 'new-1'",
    )
    .await;
    assert_eq!(found, [row(2, "2 by the lines, 4 by the journal", "reserved 2")]);
    let found = broken(
        &shop,
        &launch,
        "UPDATE reservation SET qty = 5 WHERE order_ref = '1'",
        "UPDATE reservation SET qty = 1 WHERE order_ref = '1'",
    )
    .await;
    assert_eq!(found, [row(2, "6 by the lines, 2 by the journal", "reserved 2")]);

    // 3.
    let found =
        broken(&shop, &launch, "UPDATE stock_movement SET delta = 9", "UPDATE stock_movement SET delta = 10").await;
    assert_eq!(found, [row(3, "9 by the movements", "on_hand 10")]);

    // 7: a version that was told and is taken back; one that was never told; none at all.
    let found =
        broken(&shop, &launch, "UPDATE stock SET version = version - 1", "UPDATE stock SET version = version + 1")
            .await;
    let expected = format!("version {version} or above, which was told");
    assert_eq!(found, [row(7, &expected, &format!("version {}", version - 1))]);
    let found =
        broken(&shop, &launch, "UPDATE stock SET version = version + 1", "UPDATE stock SET version = version - 1")
            .await;
    assert_eq!(found, [row(7, &format!("{}, told", told(version + 1)), &told(version))]);
    let found = broken(
        &shop,
        &launch,
        "INSERT INTO stock (sku, warehouse, on_hand) VALUES ('B', 'main', 0)",
        "DELETE FROM stock WHERE sku = 'B'",
    )
    .await;
    let of_b = |expected: &str, found: &str| json!({ "invariant": 7, "sku": "B", "warehouse": "main", "expected": expected, "found": found });
    let expected =
        [of_b("a version above 0", "version 0"), of_b("on_hand 0, reserved 0, version 0, told", "nothing told")];
    assert_eq!(found, expected);
    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM stock; DELETE FROM stock",
        "INSERT INTO stock SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    let expected = [
        row(2, "2 by the lines, 2 by the journal", "no stock row"),
        row(3, "10 by the movements", "no stock row"),
        row(7, &format!("version {version} or above, which was told"), "no stock row"),
    ];
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_wrong_is_found_with_its_line_and_step() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = morning(&ground, &launch).await;
    let first = shop.id("SELECT id FROM reservation WHERE order_ref = '1'").await;
    let third = shop.id("SELECT id FROM reservation WHERE order_ref = '3'").await;
    let cancelled = shop.id("SELECT id FROM reservation_event WHERE event_id = 'cancel-3'").await;
    let step = |line: i64, step: i64, expected: &str, found: &str| {
        json!({ "invariant": 4, "reservation_id": line, "step_id": step, "sku": "A", "warehouse": "main",
                "expected": expected, "found": found })
    };
    let line = |line: i64, order: &str, expected: &str, found: &str| {
        json!({ "invariant": 4, "channel": "web", "order_ref": order, "reservation_id": line, "sku": "A",
                "warehouse": "main", "expected": expected, "found": found })
    };
    let of_order = |order: &str, expected: &str, found: &str| json!({ "invariant": 4, "channel": "web", "order_ref": order, "expected": expected, "found": found });

    // A step that does not begin where the one before ended.
    let found = broken(
        &shop,
        &launch,
        "UPDATE reservation_event SET from_state = 'confirmed' WHERE event_id = 'cancel-3'",
        "UPDATE reservation_event SET from_state = 'held' WHERE event_id = 'cancel-3'",
    )
    .await;
    assert_eq!(found, [step(third, cancelled, "a step from held", "from confirmed to released, reserved by -1")]);

    // No edge, and a state that is not the last step's: a hold cannot ship.
    let found = broken(
        &shop,
        &launch,
        "UPDATE reservation_event SET to_state = 'shipped' WHERE event_id = 'cancel-3'",
        "UPDATE reservation_event SET to_state = 'released' WHERE event_id = 'cancel-3'",
    )
    .await;
    let expected = [
        step(third, cancelled, "a step that the states allow", "from held to shipped, reserved by -1"),
        line(third, "3", "shipped", "released"),
    ];
    assert_eq!(found, expected);

    // An edge that moves units the wrong way.
    let found = broken(
        &shop,
        &launch,
        "UPDATE reservation_event SET qty = 0 WHERE event_id IN ('new-3', 'cancel-3')",
        "UPDATE reservation_event SET qty = CASE event_id WHEN 'new-3' THEN 1 ELSE -1 END
         WHERE event_id IN ('new-3', 'cancel-3')",
    )
    .await;
    let begun = shop.id("SELECT id FROM reservation_event WHERE event_id = 'new-3'").await;
    let expected = [
        step(third, begun, "a step that the states allow", "from nothing to held, reserved by 0"),
        step(third, cancelled, "a step that the states allow", "from held to released, reserved by 0"),
    ];
    assert_eq!(found, expected);

    // A line and its order that are not where the journal left them.
    let found = broken(
        &shop,
        &launch,
        "UPDATE reservation SET state = 'confirmed' WHERE order_ref = '1'",
        "UPDATE reservation SET state = 'held' WHERE order_ref = '1'",
    )
    .await;
    let expected = [line(first, "1", "held", "confirmed"), of_order("1", "confirmed, as its lines have it", "held")];
    assert_eq!(found, expected);

    // Orphans: a line without its journal, a journal without its line, a line without its order.
    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM reservation_event WHERE event_id IN ('new-3', 'cancel-3');
         DELETE FROM reservation_event WHERE event_id IN ('new-3', 'cancel-3')",
        "INSERT INTO reservation_event OVERRIDING SYSTEM VALUE SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    assert_eq!(found, [line(third, "3", "the journal of this reservation", "none")]);
    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM reservation WHERE order_ref = '3';
         DELETE FROM reservation WHERE order_ref = '3'",
        "INSERT INTO reservation SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    let journal = json!({ "invariant": 4, "reservation_id": third, "sku": "A", "warehouse": "main",
                          "expected": "the reservation of this journal", "found": "none" });
    assert_eq!(found, [journal, of_order("3", "lines", "none")]);
    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM sales_order WHERE order_ref = '1';
         DELETE FROM sales_order WHERE order_ref = '1'",
        "INSERT INTO sales_order SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    let mut orphan = of_order("1", "the order of this reservation", "none");
    orphan["reservation_id"] = first.into();
    let lost = json!({ "invariant": 6, "stream": "ORDERS", "sequence": 1, "subject": "order.created.web",
                       "event_id": "new-1", "expected": "a fate", "found": "none" });
    assert_eq!(found, [orphan, lost]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_stands_twice_is_found() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = morning(&ground, &launch).await;
    let first = shop.id("SELECT id FROM reservation WHERE order_ref = '1'").await;
    // 5, and with it 2 and 4.
    let found = broken(
        &shop,
        &launch,
        "ALTER TABLE reservation DROP CONSTRAINT reservation_once_per_order;
         INSERT INTO reservation (id, channel, order_ref, sku, warehouse, qty, state, named, expires_at, created_at)
         SELECT 1000, channel, order_ref, sku, warehouse, qty, state, named, expires_at, created_at
         FROM reservation WHERE order_ref = '1'",
        "DELETE FROM reservation WHERE id = 1000;
         ALTER TABLE reservation ADD CONSTRAINT reservation_once_per_order UNIQUE (order_ref, channel, sku)",
    )
    .await;
    let expected = [
        json!({ "invariant": 2, "sku": "A", "warehouse": "main", "expected": "3 by the lines, 2 by the journal",
                "found": "reserved 2" }),
        json!({ "invariant": 4, "channel": "web", "order_ref": "1", "reservation_id": 1000, "sku": "A", "warehouse": "main",
                "expected": "the journal of this reservation", "found": "none" }),
        json!({ "invariant": 5, "channel": "web", "order_ref": "1", "sku": "A", "expected": "one reservation",
                "found": format!("2: {first}, 1000") }),
    ];
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_fate_or_with_two_is_found() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = morning(&ground, &launch).await;
    let message = |stream: &str, sequence: i64, subject: &str, event: &str, expected: &str, found: &str| {
        json!({ "invariant": 6, "stream": stream, "sequence": sequence, "subject": subject, "event_id": event,
                "expected": expected, "found": found })
    };

    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM processed_event WHERE subject LIKE 'inventory.%';
         DELETE FROM processed_event WHERE subject LIKE 'inventory.%'",
        "INSERT INTO processed_event SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    let count = shop.stream("INVENTORY").await[0].body["event_id"].as_str().unwrap().to_owned();
    assert_eq!(found, [message("INVENTORY", 1, "inventory.counted.main", &count, "a fate", "none")]);

    let found = broken(
        &shop,
        &launch,
        "UPDATE sales_order SET event_id = 'other' WHERE order_ref = '2'",
        "UPDATE sales_order SET event_id = 'new-2' WHERE order_ref = '2'",
    )
    .await;
    assert_eq!(found, [message("ORDERS", 2, "order.created.web", "new-2", "a fate", "none")]);

    let found = broken(
        &shop,
        &launch,
        "ALTER TABLE dead_letter RENAME COLUMN sequence TO place;
         ALTER TABLE dead_letter ADD COLUMN sequence bigint NOT NULL DEFAULT 0",
        "ALTER TABLE dead_letter DROP COLUMN sequence; ALTER TABLE dead_letter RENAME COLUMN place TO sequence",
    )
    .await;
    assert_eq!(found, [message("ORDERS", 5, "order.cancelled.web", "over", "a fate", "none")]);

    let found = broken(
        &shop,
        &launch,
        "INSERT INTO processed_event VALUES ('order.cancelled.web', 'over', now())",
        "DELETE FROM processed_event WHERE event_id = 'over'",
    )
    .await;
    let twice = message("ORDERS", 5, "order.cancelled.web", "over", "one fate", "an open dead letter, and processed");
    assert_eq!(found, [twice]);

    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM sales_order WHERE order_ref = 'later';
         DELETE FROM sales_order WHERE order_ref = 'later'",
        "INSERT INTO sales_order SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    let mut waits = message("ORDERS", 6, "order.cancelled.web", "early", "the claimed order it waits for", "none");
    waits["channel"] = "web".into();
    waits["order_ref"] = "later".into();
    assert_eq!(found, [waits]);

    // Said again, and taken this time: the dead letter of the first message is no second fate.
    let _program = launch.ready(&["run"]).await;
    shop.say("order.cancelled.web", json!({ "event_id": "over", "order_ref": "1" })).await;
    shop.answer_to("over").await;
    shop.settled().await;
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_broker_the_tables_are_checked_and_the_rest_is_said_to_be_unchecked() {
    let mut ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = morning(&ground, &launch).await;
    ground.nats.stop().await.unwrap();
    let ended = launch.run(&["audit", "--json"]).await;
    assert_eq!((ended.code, rows(&ended).len()), (Some(3), 0), "{}", ended.stderr);
    assert!(ended.stderr.contains("was not checked: NATS cannot be reached"), "{}", ended.stderr);
    shop.execute("UPDATE stock_movement SET delta = 9").await;
    let ended = launch.run(&["audit", "--json"]).await;
    assert_eq!((ended.code, rows(&ended).len()), (Some(1), 1), "{}", ended.stderr);
    assert!(ended.stderr.contains("was not checked"), "{}", ended.stderr);
    let ended = launch.run(&["audit"]).await;
    let said = "invariant 3, sku A, warehouse main: expected 9 by the movements, found on_hand 10\n1 found\n";
    assert_eq!(ended.stdout, said);

    let nowhere = Launch::new(&ground).env("DATABASE_URL", "postgres://lastunit@127.0.0.1:1/lastunit");
    assert_eq!(nowhere.run(&["audit"]).await.code, Some(3));
}
