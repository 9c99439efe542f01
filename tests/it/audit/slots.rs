//! What an audit finds of slots that are wrong: each is broken by hand, the constraint out of the way, and found with its place.

use serde_json::{Value, json};

use super::broken::broken;
use super::findings;
use crate::support::{Ground, Launch, Shop};

const KEPT: &str = "ALTER TABLE slot_hold ADD CONSTRAINT slot_hold_apart
    EXCLUDE USING gist (resource WITH =, during WITH &&) WHERE (state IN ('held', 'confirmed'))";

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn slots_that_are_wrong_are_found_with_their_place() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    sqlx::query("INSERT INTO slot_resource VALUES ('room', 'The room')").execute(&shop.db).await.unwrap();
    for (id, from, to) in [("1", 10, 12), ("2", 12, 13), ("3", 14, 15)] {
        let slot = json!({ "resource": "room", "from": format!("2027-01-01T{from}:00:00Z"), "to": format!("2027-01-01T{to}:00:00Z") });
        shop.say("order.created.web", json!({ "event_id": id, "order_ref": id, "lines": [slot] })).await;
        shop.answer_to(id).await;
    }
    shop.say("order.cancelled.web", json!({ "event_id": "c3", "order_ref": "3" })).await;
    shop.answer_to("c3").await;
    shop.settled().await;
    assert_eq!(program.terminate().await, Some(0));
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
    let id = async |order_ref: &str| -> i64 {
        sqlx::query_scalar("SELECT id FROM slot_hold WHERE order_ref = $1")
            .bind(order_ref)
            .fetch_one(&shop.db)
            .await
            .unwrap()
    };
    let (first, second, third) = (id("1").await, id("2").await, id("3").await);
    let cancelled = shop.number("SELECT id FROM slot_event WHERE event_id = 'c3'").await;
    let slot = |invariant: u8, id: i64, order: &str, expected: &str, found: &str| {
        json!({ "invariant": invariant, "channel": "web", "order_ref": order, "slot_hold_id": id, "resource": "room",
                "expected": expected, "found": found })
    };
    let step = |id: i64, step: i64, expected: &str, found: &str| json!({ "invariant": 4, "slot_hold_id": id, "step_id": step, "resource": "room", "expected": expected, "found": found });
    let of_order = |order: &str, expected: &str, found: &str| json!({ "invariant": 4, "channel": "web", "order_ref": order, "expected": expected, "found": found });

    // Two at one time, once nothing forbids it; the second does not begin where the first one ends any more.
    sqlx::query("ALTER TABLE slot_hold DROP CONSTRAINT slot_hold_apart").execute(&shop.db).await.unwrap();
    let found = broken(
        &shop,
        &launch,
        "UPDATE slot_hold SET during = '[2027-01-01 11:59:59.999999+00, 2027-01-01 13:00+00)' WHERE order_ref = '2';
         UPDATE slot_event SET during = '[2027-01-01 11:59:59.999999+00, 2027-01-01 13:00+00)' WHERE event_id = '2'",
        "UPDATE slot_hold SET during = '[2027-01-01 12:00+00, 2027-01-01 13:00+00)' WHERE order_ref = '2';
         UPDATE slot_event SET during = '[2027-01-01 12:00+00, 2027-01-01 13:00+00)' WHERE event_id = '2'",
    )
    .await;
    let expected = "not before 2027-01-01 12:00:00+00, until when others have it";
    assert_eq!(found, [slot(5, second, "2", expected, "from 2027-01-01 11:59:59.999999+00")]);
    // One that has a small one within it, after which another begins before the long one has ended.
    let found = broken(
        &shop,
        &launch,
        "UPDATE slot_hold SET during = '[2027-01-01 10:00+00, 2027-01-01 20:00+00)' WHERE order_ref = '1';
         UPDATE slot_event SET during = '[2027-01-01 10:00+00, 2027-01-01 20:00+00)' WHERE event_id = '1'",
        "UPDATE slot_hold SET during = '[2027-01-01 10:00+00, 2027-01-01 12:00+00)' WHERE order_ref = '1';
         UPDATE slot_event SET during = '[2027-01-01 10:00+00, 2027-01-01 12:00+00)' WHERE event_id = '1'",
    )
    .await;
    let expected = "not before 2027-01-01 20:00:00+00, until when others have it";
    assert_eq!(found, [slot(5, second, "2", expected, "from 2027-01-01 12:00:00+00")]);
    sqlx::query(KEPT).execute(&shop.db).await.unwrap();

    // A state that is not the last step's, and with it the order's; a period that is not the journal's.
    let found = broken(
        &shop,
        &launch,
        "UPDATE slot_hold SET state = 'confirmed' WHERE order_ref = '1'",
        "UPDATE slot_hold SET state = 'held' WHERE order_ref = '1'",
    )
    .await;
    let expected = [slot(4, first, "1", "held", "confirmed"), of_order("1", "confirmed, as its lines have it", "held")];
    assert_eq!(found, expected);
    let found = broken(
        &shop,
        &launch,
        "UPDATE slot_hold SET during = '[2027-01-01 09:00+00, 2027-01-01 12:00+00)' WHERE order_ref = '1'",
        "UPDATE slot_hold SET during = '[2027-01-01 10:00+00, 2027-01-01 12:00+00)' WHERE order_ref = '1'",
    )
    .await;
    let period = |from: &str| format!("room [\"2027-01-01 {from}:00:00+00\",\"2027-01-01 12:00:00+00\")");
    assert_eq!(found, [slot(4, first, "1", &period("10"), &period("09"))]);

    // Steps: one that does not begin where the one before ended, and no edge.
    let found = broken(
        &shop,
        &launch,
        "UPDATE slot_event SET from_state = 'confirmed' WHERE event_id = 'c3'",
        "UPDATE slot_event SET from_state = 'held' WHERE event_id = 'c3'",
    )
    .await;
    assert_eq!(found, [step(third, cancelled, "a step from held", "from confirmed to released")]);
    let begun = shop.number("SELECT id FROM slot_event WHERE event_id = '3'").await;
    let found = broken(
        &shop,
        &launch,
        "UPDATE slot_event SET to_state = 'expired' WHERE event_id = '3';
         UPDATE slot_event SET from_state = 'expired' WHERE event_id = 'c3'",
        "UPDATE slot_event SET to_state = 'held' WHERE event_id = '3';
         UPDATE slot_event SET from_state = 'held' WHERE event_id = 'c3'",
    )
    .await;
    let allowed = "a step that the states allow";
    let expected = [
        step(third, begun, allowed, "from nothing to expired"),
        step(third, cancelled, allowed, "from expired to released"),
    ];
    assert_eq!(found, expected);

    // Orphans: a slot without its journal, a journal without its slot, a slot without its order.
    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM slot_event WHERE event_id = '1'; DELETE FROM slot_event WHERE event_id = '1'",
        "INSERT INTO slot_event OVERRIDING SYSTEM VALUE SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    assert_eq!(found, [slot(4, first, "1", "the journal of this slot", "none")]);
    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM slot_hold WHERE order_ref = '1'; DELETE FROM slot_hold WHERE order_ref = '1'",
        "INSERT INTO slot_hold SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    let journal = json!({ "invariant": 4, "slot_hold_id": first, "resource": "room",
                          "expected": "the slot of this journal", "found": "none" });
    assert_eq!(found, [journal, of_order("1", "lines", "none")]);
    let found = broken(
        &shop,
        &launch,
        "CREATE TABLE saved AS SELECT * FROM sales_order WHERE order_ref = '1';
         DELETE FROM sales_order WHERE order_ref = '1'",
        "INSERT INTO sales_order SELECT * FROM saved; DROP TABLE saved",
    )
    .await;
    let mut orphan = of_order("1", "the order of this slot", "none");
    orphan["slot_hold_id"] = first.into();
    let lost = json!({ "invariant": 6, "stream": "ORDERS", "sequence": 1, "subject": "order.created.web",
                       "event_id": "1", "expected": "a fate", "found": "none" });
    assert_eq!(found, [orphan, lost]);
}
