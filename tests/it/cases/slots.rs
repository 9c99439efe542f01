//! Slots: periods of resources, each one order's at a time, beside units in one order.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{PATIENCE, PATIENT, Stage, line, plain};
use crate::support::{Ground, Launch, Shop, Told, order, wait_until};

/// A slot as an order names it: hours of a day.
fn hours(resource: &str, from: u32, to: u32) -> Value {
    json!({ "resource": resource, "from": format!("2027-01-01T{from:02}:00:00Z"), "to": format!("2027-01-01T{to:02}:00:00Z") })
}

/// The same as answers have it.
fn told(resource: &str, from: u32, to: u32) -> Value {
    json!({ "resource": resource, "from": format!("2027-01-01T{from:02}:00:00.000000Z"),
            "to": format!("2027-01-01T{to:02}:00:00.000000Z") })
}

fn told_as(resource: &str, from: u32, to: u32, state: &str) -> Value {
    let mut slot = told(resource, from, to);
    slot["state"] = json!(state);
    slot
}

fn booked(id: &str, lines: &[Value]) -> Value {
    json!({ "event_id": id, "order_ref": id, "lines": lines })
}

impl Shop {
    async fn rooms(&self, names: &[&str]) {
        sqlx::query("INSERT INTO slot_resource (resource) SELECT unnest($1::text[])")
            .bind(names)
            .execute(&self.db)
            .await
            .unwrap();
    }

    async fn book(&self, id: &str, lines: &[Value]) -> Told {
        self.ask("order.created.web", booked(id, lines)).await
    }

    async fn live_slots(&self) -> i64 {
        self.number("SELECT count(*) FROM slot_hold WHERE state IN ('held', 'confirmed')").await
    }
}

fn tally(told: &[Told]) -> HashMap<String, usize> {
    let mut tally = HashMap::new();
    for told in told {
        let reason = told.body["reason"].as_str().unwrap_or_default();
        *tally.entry(format!("{} {reason}", told.what()).trim_end().to_owned()).or_default() += 1;
    }
    tally
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_forty_buyers_has_the_slot() {
    let stage = Stage::open().await;
    let _second = stage.launch.ready(&["run"]).await;
    let shop = &stage.shop;
    shop.rooms(&["room"]).await;
    let buyers = (0..40).map(|n| {
        // Every one of these shares an instant with every other.
        let slot = hours("room", 10 - n % 3, 11 + n % 2);
        ("order.created.web".to_owned(), booked(&format!("e{n}"), &[slot]))
    });
    shop.say_many(buyers).await;
    shop.settled().await;
    let tally = tally(&shop.stream("RESERVATIONS").await);
    assert_eq!(tally, HashMap::from([("held".into(), 1), ("rejected slot_taken".into(), 39)]));
    assert_eq!(shop.number("SELECT count(*) FROM slot_hold").await, 1);
    assert_eq!(shop.number("SELECT count(*) FROM slot_event").await, 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn touching_periods_all_fit_to_the_microsecond() {
    let stage = Stage::open().await;
    let _second = stage.launch.ready(&["run"]).await;
    let shop = &stage.shop;
    shop.rooms(&["room", "other"]).await;
    let mut orders: Vec<_> = (0..23)
        .flat_map(|hour| ["room", "other"].map(|room| (hour, room)))
        .map(|(hour, room)| {
            let id = format!("{room}-{hour}");
            ("order.created.web".to_owned(), booked(&id, &[hours(room, hour, hour + 1)]))
        })
        .collect();
    fastrand::shuffle(&mut orders);
    shop.say_many(orders).await;
    shop.settled().await;
    assert_eq!(tally(&shop.stream("RESERVATIONS").await), HashMap::from([("held".into(), 46)]));

    // Less than a microsecond is cut off, in any offset: this one touches, and the next, a microsecond earlier, does not.
    let slot = |from: &str| json!({ "resource": "room", "from": from, "to": "2027-01-02T00:00:00.0000019Z" });
    let touching = shop.book("touching", &[slot("2027-01-02T02:00:00.0000009+03:00")]).await;
    assert_eq!(
        touching.body["lines"],
        json!([{ "resource": "room", "from": "2027-01-01T23:00:00.000000Z", "to": "2027-01-02T00:00:00.000001Z",
                 "state": "held" }])
    );
    let overlapping =
        json!({ "resource": "room", "from": "2027-01-02T00:00:00.0000005Z", "to": "2027-01-02T01:00:00Z" });
    assert_eq!(shop.book("overlapping", &[overlapping]).await.body["reason"], "slot_taken");
    let after = json!({ "resource": "room", "from": "2027-01-02T00:00:00.000001Z", "to": "2027-01-02T01:00:00Z" });
    assert_eq!(shop.book("after", &[after]).await.what(), "held");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_order_of_units_and_a_taken_slot_holds_nothing() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 3).await;
    shop.rooms(&["room", "hall"]).await;
    let unit = json!({ "sku": "A", "qty": 2 });
    let held = shop.book("e1", &[hours("room", 10, 11), unit.clone(), hours("hall", 10, 11)]).await;
    assert_eq!(
        plain(&held),
        json!({ "channel": "web", "order_ref": "e1", "in_reply_to": "e1", "duplicate": false,
                "lines": [line("A", "main", 2, "held"), told_as("room", 10, 11, "held"), told_as("hall", 10, 11, "held")] })
    );
    let short = json!({ "sku": "A", "requested": 2, "available": 1 });
    let one = json!({ "sku": "A", "qty": 1 });
    let cases = [
        ("slot_taken", vec![one.clone(), hours("hall", 12, 13), hours("room", 10, 12)], vec![told("room", 10, 12)]),
        ("insufficient_stock", vec![hours("hall", 12, 13), unit.clone()], vec![short.clone()]),
        ("insufficient_stock", vec![hours("hall", 10, 13), unit], vec![short, told("hall", 10, 13)]),
        ("unknown_resource", vec![one, hours("attic", 1, 2), hours("room", 10, 12)], vec![told("attic", 1, 2)]),
    ];
    for (n, (reason, lines, shortages)) in cases.into_iter().enumerate() {
        let id = format!("c{n}");
        assert_eq!(
            plain(&shop.book(&id, &lines).await),
            json!({ "channel": "web", "order_ref": id, "in_reply_to": id, "duplicate": false, "lines": [],
                    "reason": reason, "shortages": shortages })
        );
    }
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 2);
    assert_eq!(shop.number("SELECT count(*) FROM slot_hold").await, 2);
    // A repeat is told how it stands, slots in any sequence; another period is another content.
    let mut repeat = booked("e2", &[hours("hall", 10, 11), hours("room", 10, 11), json!({ "sku": "A", "qty": 2 })]);
    repeat["order_ref"] = json!("e1");
    let repeated = shop.ask("order.created.web", repeat.clone()).await;
    assert_eq!((&repeated.body["duplicate"], &repeated.body["lines"]), (&json!(true), &held.body["lines"]));
    repeat["event_id"] = json!("e3");
    repeat["lines"][0]["to"] = json!("2027-01-01T12:00:00Z");
    shop.say("order.created.web", repeat).await;
    shop.wait_for("DEAD", 1).await;
    assert_eq!(shop.dead().await, [("conflicting_duplicate".to_owned(), "e3".to_owned())]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_expires_with_its_slots_and_nobody_waits_for_a_sweeper() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.rooms(&["room", "hall"]).await;
    let unit = json!({ "sku": "A", "qty": 1 });
    shop.book("e1", &[unit.clone(), hours("room", 10, 12)]).await;
    assert_eq!(shop.book("e2", &[hours("room", 11, 13)]).await.body["reason"], "slot_taken");
    shop.end_hold("e1").await;
    assert_eq!(shop.book("e3", &[hours("room", 11, 13)]).await.what(), "held");
    let expired = shop.told_of("e1").await.pop().unwrap();
    assert_eq!(
        plain(&expired),
        json!({ "channel": "web", "order_ref": "e1", "in_reply_to": null, "duplicate": false, "reason": "hold_ended",
                "lines": [line("A", "main", 1, "expired"), told_as("room", 10, 12, "expired")] })
    );
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 0);

    // Had again: all of it or nothing. What is in the way ends in the same transaction in which the other begins again.
    let renew = |id: &str| json!({ "event_id": id, "order_ref": "e1" });
    let refused = shop.ask("order.renewed.web", renew("r1")).await;
    assert_eq!((refused.what(), &refused.body["duplicate"]), ("expired", &json!(true)));
    assert_eq!(refused.body["shortages"], json!([told("room", 10, 12)]));
    shop.end_hold("e3").await;
    let again = shop.ask("order.renewed.web", renew("r2")).await;
    assert_eq!(again.what(), "held");
    assert_eq!(again.body["lines"], json!([line("A", "main", 1, "held"), told_as("room", 10, 12, "held")]));
    let journal = "SELECT string_agg(concat(order_ref, ' ', from_state, '>', to_state, ' ', reason, ' ', event_id), ', ' ORDER BY slot_event.id)
                   FROM slot_event JOIN slot_hold ON slot_hold.id = slot_hold_id";
    assert_eq!(
        shop.text(journal).await.unwrap(),
        "e1 >held  e1, e1 held>expired hold_ended , e3 >held  e3, e3 held>expired hold_ended , e1 expired>held  r2"
    );
    let ends = "SELECT count(*) FROM slot_hold JOIN sales_order USING (channel, order_ref)
                WHERE slot_hold.state = 'held' AND slot_hold.expires_at = sales_order.expires_at";
    assert_eq!(shop.number(ends).await, 1);
    let prolonged = json!({ "event_id": "r3", "order_ref": "e1", "hold_for_s": 5000 });
    shop.ask("order.renewed.web", prolonged).await;
    assert_eq!(shop.number(ends).await, 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_frees_a_confirmed_slot_whole_and_as_it_is_named() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.rooms(&["room", "hall"]).await;
    let mut visit = booked("e1", &[hours("room", 10, 11), hours("hall", 10, 11)]);
    visit["payment"] = json!("on_delivery");
    assert_eq!(shop.ask("order.created.web", visit).await.what(), "confirmed");
    let cancel = |id: &str, lines: &[Value]| json!({ "event_id": id, "order_ref": "e1", "lines": lines });
    for (n, lines) in [[hours("room", 10, 12)], [hours("attic", 10, 11)]].iter().enumerate() {
        shop.say("order.cancelled.web", cancel(&format!("c{n}"), lines)).await;
    }
    shop.wait_for("DEAD", 2).await;
    let over = |id: &str| ("over_cancel".to_owned(), id.to_owned());
    assert_eq!(shop.dead().await, [over("c0"), over("c1")]);
    assert_eq!(shop.live_slots().await, 2);

    let released = shop.ask("order.cancelled.web", cancel("c2", &[hours("room", 10, 11)])).await;
    assert_eq!(
        plain(&released),
        json!({ "channel": "web", "order_ref": "e1", "in_reply_to": "c2", "duplicate": false, "reason": "cancelled",
                "lines": [told_as("room", 10, 11, "released"), told_as("hall", 10, 11, "confirmed")] })
    );
    assert_eq!(shop.book("e2", &[hours("room", 10, 11)]).await.what(), "held");
    assert_eq!(shop.book("e3", &[hours("hall", 10, 11)]).await.what(), "rejected");
    shop.ask("order.cancelled.web", json!({ "event_id": "c3", "order_ref": "e1" })).await;
    assert_eq!(shop.text("SELECT state FROM sales_order WHERE order_ref = 'e1'").await.unwrap(), "released");
    let retry = json!({ "event_id": "e4", "order_ref": "e3", "lines": [hours("hall", 10, 11)] });
    assert_eq!(shop.ask("order.created.web", retry).await.what(), "held");
    stage.close().await;
}

/// Orders over the same resources and SKUs in opposite sequences, cancels and ends of holds between them, through two copies.
#[tokio::test(flavor = "multi_thread")]
async fn many_who_want_units_and_slots_at_once_never_overlap() {
    let stage = Stage::open_with("sweeper.max_interval_ms = 10\nhold.min_s = 1").await;
    let _second = stage.launch.ready(&["run"]).await;
    let shop = &stage.shop;
    shop.count_many(&[("A", 1000), ("B", 40)], "main").await;
    let rooms: Vec<String> = (0..6).map(|n| format!("room-{n}")).collect();
    shop.rooms(&rooms.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut said = Vec::new();
    for n in 0..600_usize {
        let id = format!("e{n}");
        let mut lines: Vec<Value> = (0..3)
            .map(|step| {
                let from = fastrand::u32(0..20);
                hours(&rooms[(n + step) % rooms.len()], from, from + fastrand::u32(1..4))
            })
            .collect();
        lines.push(json!({ "sku": if n % 3 == 0 { "A" } else { "B" }, "qty": 1 }));
        if n % 2 == 0 {
            lines.reverse();
        }
        let mut new = booked(&id, &lines);
        new["hold_for_s"] = json!(1);
        said.push(("order.created.web".to_owned(), new));
        if n % 4 == 0 {
            let cancel = json!({ "event_id": format!("c{n}"), "order_ref": id });
            said.push(("order.cancelled.web".to_owned(), cancel));
        }
        if n % 5 == 0 && n > 100 {
            let renewal = json!({ "event_id": format!("r{n}"), "order_ref": format!("e{}", n - 100), "hold_for_s": 1 });
            said.push(("order.renewed.web".to_owned(), renewal));
        }
    }
    let ids: Vec<String> = said.iter().map(|(_, body)| body["event_id"].as_str().unwrap().to_owned()).collect();
    shop.load(said).all().await;
    shop.settled().await;
    shop.assert_answered_once(&ids).await;
    wait_until("every hold to end", PATIENCE, async || {
        shop.number("SELECT count(*) FROM sales_order WHERE state = 'held'").await == 0
    })
    .await;
    shop.settled().await;
    let held = shop.number("SELECT count(*) FROM slot_event WHERE to_state = 'held'").await;
    let refused = shop.number("SELECT count(*) FROM sales_order WHERE rejection = 'slot_taken'").await;
    println!("{held} slots were held at some time, {refused} orders refused for a slot");
    assert!(held > 0 && refused > 0);
    // No two who had a resource at one time had an instant of it together: from each step that takes to the one that gives back.
    let overlaps = "
        WITH had AS (
            SELECT slot_hold_id, resource, during, to_state,
                   int8range(id, lead(id) OVER (PARTITION BY slot_hold_id ORDER BY id)) AS steps
            FROM slot_event
        )
        SELECT count(*) FROM had AS one JOIN had AS other
            ON one.resource = other.resource AND one.during && other.during AND one.steps && other.steps
            AND one.slot_hold_id < other.slot_hold_id
        WHERE one.to_state = 'held' AND other.to_state = 'held'";
    assert_eq!(shop.number(overlaps).await, 0);
    assert_eq!(shop.live_slots().await, 0);
    assert_eq!(shop.number("SELECT sum(reserved)::bigint FROM stock").await, 0);
    stage.close().await;
}

/// Holds end while others want their slots, the sweeper of two copies between them: one of the two who want each has it.
#[tokio::test(flavor = "multi_thread")]
async fn an_ended_hold_and_the_next_buyers_meet_and_one_has_the_slot() {
    const ROOMS: usize = 60;
    let stage = Stage::open_with("sweeper.max_interval_ms = 10").await;
    let _second = stage.launch.ready(&["run"]).await;
    let shop = &stage.shop;
    let rooms: Vec<String> = (0..ROOMS).map(|n| format!("room-{n}")).collect();
    shop.rooms(&rooms.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let who = |name: &str| -> Vec<(String, Value)> {
        let order = |(n, room): (usize, &String)| booked(&format!("{name}{n}"), &[hours(room, 10, 11)]);
        rooms.iter().enumerate().map(order).map(|body| ("order.created.web".to_owned(), body)).collect()
    };
    shop.say_many(who("first")).await;
    shop.settled().await;
    let end = "UPDATE %s SET expires_at = clock_timestamp() WHERE state = 'held'";
    let mut ending = shop.db.begin().await.unwrap();
    for table in ["sales_order", "slot_hold"] {
        sqlx::query(sqlx::AssertSqlSafe(end.replace("%s", table))).execute(&mut *ending).await.unwrap();
    }
    let (second, third) = (who("second"), who("third"));
    // Until the end is committed everybody reads the old one, and is rightly refused.
    let ended = async {
        ending.commit().await.unwrap();
        let now: time::OffsetDateTime =
            sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&shop.db).await.unwrap();
        now
    };
    let buyers = second.into_iter().zip(third).flat_map(|(a, b)| [a, b]);
    let ((), ended) = tokio::join!(shop.say_many(buyers), ended);
    shop.settled().await;
    let expired = "SELECT count(*) FROM sales_order WHERE state = 'expired'";
    wait_until("all that ended to expire", PATIENCE, async || shop.number(expired).await == 60).await;
    shop.settled().await;
    let had = shop.number("SELECT count(DISTINCT resource) FROM slot_hold WHERE state = 'held'").await;
    let refused = shop.number("SELECT count(*) FROM sales_order WHERE rejection = 'slot_taken'").await;
    println!("{had} of {ROOMS} rooms went to a next buyer");
    assert_eq!((shop.live_slots().await, had + refused), (had, 120));
    // Whoever was refused came before the hold had ended, or when the other next buyer had the room.
    let wronged = "
        SELECT count(*) FROM sales_order AS refused
        JOIN slot_hold AS first ON first.order_ref = 'first' || substring(refused.order_ref from '[0-9]+')
        WHERE refused.rejection = 'slot_taken' AND refused.created_at >= $1 AND NOT EXISTS (
            SELECT FROM slot_hold AS other WHERE other.resource = first.resource AND other.state = 'held')";
    let wronged: i64 = sqlx::query_scalar(wronged).bind(ended).fetch_one(&shop.db).await.unwrap();
    assert_eq!(wronged, 0);
    stage.close().await;
}

/// Somebody takes a period past all locks: the constraint refuses ours, and then it is found taken.
#[tokio::test(flavor = "multi_thread")]
async fn the_constraint_is_the_last_word_and_then_the_slot_is_found_taken() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.rooms(&["room"]).await;
    let mut other = shop.db.begin().await.unwrap();
    for statement in [
        "INSERT INTO sales_order (channel, order_ref, state, event_id, payment_mode, created_at)
         VALUES ('web', 'other', 'confirmed', 'other', 'prepaid', now())",
        "INSERT INTO slot_hold (channel, order_ref, resource, during, state, created_at)
         VALUES ('web', 'other', 'room', '[2027-01-01 10:00+00, 2027-01-01 11:00+00)', 'confirmed', now())",
        "INSERT INTO slot_event (slot_hold_id, resource, during, to_state, at)
         SELECT id, resource, during, state, now() FROM slot_hold",
    ] {
        sqlx::query(statement).execute(&mut *other).await.unwrap();
    }
    shop.say("order.created.web", booked("e1", &[hours("room", 10, 12)])).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'lastunit' AND wait_event_type = 'Lock'
                   AND query LIKE '%INSERT INTO slot_hold%'";
    wait_until("the order to wait for the other's outcome", PATIENCE, async || shop.number(waiting).await > 0).await;
    other.commit().await.unwrap();
    let answer = shop.answer_to("e1").await;
    assert_eq!((answer.what(), &answer.body["reason"]), ("rejected", &json!("slot_taken")));
    assert_eq!(shop.live_slots().await, 1);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_resource_delays_its_own_orders_only() {
    let stage = Stage::open_with("database.lock_timeout_ms = 200").await;
    let shop = &stage.shop;
    shop.rooms(&["room", "hall"]).await;
    shop.book("old", &[hours("room", 1, 2)]).await;
    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM slot_resource WHERE resource = 'room' FOR UPDATE").execute(&mut *holder).await.unwrap();
    let mut said: Vec<_> = (0..40)
        .map(|n| {
            let room = if n % 2 == 0 { "room" } else { "hall" };
            let id = format!("{room}-{n}");
            let mut new = booked(
                &id,
                &[json!({ "resource": room, "from": format!("2027-02-01T10:{n:02}:00Z"),
                                               "to": format!("2027-02-01T10:{n:02}:30Z") })],
            );
            new["order_ref"] = json!(id);
            ("order.created.web".to_owned(), new)
        })
        .collect();
    said.push(("order.cancelled.web".to_owned(), json!({ "event_id": "c", "order_ref": "old" })));
    shop.say_many(said).await;
    let free = "SELECT count(*) FROM slot_hold WHERE resource = 'hall'";
    wait_until("the orders of the hall", PATIENCE, async || shop.number(free).await == 20).await;
    assert_eq!(shop.number("SELECT count(*) FROM slot_event WHERE resource = 'room'").await, 1);
    holder.rollback().await.unwrap();
    shop.settled().await;
    assert_eq!(shop.live_slots().await, 40);
    assert_eq!(shop.text("SELECT state FROM sales_order WHERE order_ref = 'old'").await.unwrap(), "released");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_without_slots_run_no_statement_of_theirs_and_many_with_slots_no_more_than_one() {
    let mut ground = Ground::own_that_logs_statements().await;
    let launch = Launch::new(&ground).config(PATIENT).config("sweeper.enabled = false");
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 1000).await;
    shop.rooms(&["room"]).await;
    let before = ground.postgres().log().len();
    let plain = |n: usize| ("order.created.web".to_owned(), order(&format!("plain{n}"), &format!("plain{n}"), "A"));
    shop.in_one_batch((0..200).map(plain).collect()).await;
    let log = ground.postgres().log();
    assert!(log[before..].contains("INSERT INTO reservation"));
    assert!(!log[before..].contains("slot_"), "a statement about slots without any");

    // A slot of a minute each.
    let visit = |n: usize| {
        let (hour, minute) = (n / 60, n % 60);
        let slot = json!({ "resource": "room", "from": format!("2027-01-01T{hour:02}:{minute:02}:00Z"),
                           "to": format!("2027-01-01T{hour:02}:{minute:02}:30Z") });
        ("order.created.web".to_owned(), booked(&format!("visit{n}"), &[slot, json!({ "sku": "A", "qty": 1 })]))
    };
    shop.in_one_batch(vec![visit(0)]).await;
    shop.in_one_batch((1..300).map(visit).collect()).await;
    assert_eq!(program.terminate().await, Some(0));
    let rows: Vec<(String, i64)> = sqlx::query_as("SELECT xmin::text, count(*) FROM slot_event GROUP BY 1 ORDER BY 2")
        .fetch_all(&shop.db)
        .await
        .unwrap();
    let transactions = super::statements::statements_by_transaction(&ground.postgres().log());
    // The log has a statement's first line beside its transaction. A new order with slots locks, looks up, takes ids, inserts and journals.
    let of_slots = ["slots_lock", "slots_taken", "slots_ids", "slots_insert", "slots_steps"].map(|file| {
        let path = format!("{}/src/store/{file}.sql", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned()
    });
    let of_slots = |xid: &String| transactions[xid].iter().filter(|statement| of_slots.contains(statement)).count();
    let counts: Vec<(i64, usize)> = rows.iter().map(|(xid, slots)| (*slots, of_slots(xid))).collect();
    assert!(counts.first().unwrap().0 == 1 && counts.last().unwrap().0 >= 50, "{counts:?}");
    assert!(counts.iter().all(|(_, statements)| *statements == 5), "{counts:?}");
    shop.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_money_has_units_and_slots_again_or_goes_back() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.rooms(&["room"]).await;
    for (order_ref, others) in [("1", false), ("2", true)] {
        let hour = if others { 12 } else { 10 };
        shop.book(order_ref, &[json!({ "sku": "A", "qty": 1 }), hours("room", hour, hour + 1)]).await;
        shop.end_hold(order_ref).await;
        wait_until("the hold to end", PATIENCE, async || {
            shop.told_of(order_ref).await.iter().any(|told| told.what() == "expired")
        })
        .await;
        if others {
            shop.book("other", &[hours("room", hour, hour + 1)]).await;
        }
        let id = format!("p{order_ref}");
        let paid = json!({ "event_id": id, "payment_id": id, "channel": "web", "order_ref": order_ref });
        shop.say("payment.succeeded.stripe", paid).await;
    }
    let confirmed = shop.answer_to("p1").await;
    assert_eq!((confirmed.what(), &confirmed.body["reason"]), ("confirmed", &json!("had_again")));
    let lines = json!([line("A", "main", 1, "confirmed"), told_as("room", 10, 11, "confirmed")]);
    assert_eq!(confirmed.body["lines"], lines);
    shop.wait_for_refund("p2").await;
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 1);
    assert_eq!(shop.live_slots().await, 2);
    stage.close().await;
}

impl Shop {
    /// Waits until a refund of this payment is told, for units and slots that are sold out.
    async fn wait_for_refund(&self, payment_id: &str) {
        wait_until("a refund to be required", PATIENCE, async || {
            let told = self.stream("RESERVATIONS").await;
            told.iter().any(|told| {
                told.subject == "refund.required.stripe"
                    && told.body["payment_id"] == payment_id
                    && told.body["reason"] == "expired_and_sold_out"
                    && told.body["lines"].as_array().is_some_and(|lines| lines.len() == 2)
            })
        })
        .await;
    }
}
