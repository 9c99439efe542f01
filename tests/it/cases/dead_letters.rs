//! `dead-letters list|show|replay`: what could not be processed, looked at and decided once more.

use async_nats::HeaderMap;
use serde_json::{Value, json};

use super::{PATIENCE, Stage};
use crate::support::{Ended, Ground, Launch, order, wait_until};

/// A write-off, by its event.
fn write_off(event: &str, sku: &str, qty: i64) -> Value {
    json!({ "event_id": event, "lines": [{ "sku": sku, "qty": qty }] })
}

impl Stage {
    /// Says a write-off that is refused, and returns its row.
    async fn refused(&self, event: &str, sku: &str, qty: i64) -> i64 {
        let open = "SELECT count(*) FROM dead_letter";
        let before = self.shop.number(open).await;
        self.shop.say("inventory.written_off.main", write_off(event, sku, qty)).await;
        wait_until("it to be refused", PATIENCE, async || self.shop.number(open).await > before).await;
        self.shop.number("SELECT max(id) FROM dead_letter").await
    }

    async fn dead_letters(&self, args: &[&str]) -> Ended {
        let args: Vec<&str> = ["dead-letters"].iter().chain(args).copied().collect();
        self.launch.run(&args).await
    }

    /// Replays one row and returns the exit code and what is said of it.
    async fn replay(&self, row: i64) -> (Option<i32>, String) {
        let ended = self.dead_letters(&["replay", &row.to_string()]).await;
        let said = ended.stdout.trim_end().strip_prefix(&format!("{row}: ")).map(str::to_owned);
        (ended.code, said.unwrap_or_else(|| panic!("{ended:?}")))
    }

    async fn list(&self, args: &[&str]) -> Vec<Value> {
        let args: Vec<&str> = ["list", "--json"].iter().chain(args).copied().collect();
        let ended = self.dead_letters(&args).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        serde_json::from_str::<Vec<Value>>(&ended.stdout).unwrap()
    }

    async fn ids(&self, args: &[&str]) -> Vec<i64> {
        self.list(args).await.iter().map(|row| row["id"].as_i64().unwrap()).collect()
    }

    /// The word and the state of a row.
    async fn row(&self, row: i64) -> (String, bool) {
        sqlx::query_as("SELECT reason, resolved_at IS NOT NULL FROM dead_letter WHERE id = $1")
            .bind(row)
            .fetch_one(&self.shop.db)
            .await
            .unwrap()
    }

    async fn on_hand(&self, sku: &str) -> i64 {
        self.shop.figures(sku, "main").await.unwrap().on_hand
    }
}

const PROCESSED: (Option<i32>, &str) = (Some(0), "processed");

fn said(replayed: &(Option<i32>, String)) -> (Option<i32>, &str) {
    (replayed.0, &replayed.1)
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_listed_by_state_reason_and_time_and_shown_whole() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let nothing = stage.dead_letters(&["list"]).await;
    assert_eq!((nothing.code, &*nothing.stdout), (Some(0), "no dead letter\n"));
    assert!(stage.list(&[]).await.is_empty());
    let first = stage.refused("early", "A", 1).await;
    shop.count("A", "main", 5).await;
    assert_eq!(said(&stage.replay(first).await), PROCESSED);
    let second = stage.refused("unknown", "B", 1).await;
    let mut headers = HeaderMap::new();
    headers.append("X-Shop", "one");
    headers.append("X-Shop", "two, ü");
    let body = b"{ \"event_id\": \"\xff\" }\n".to_vec();
    shop.say_raw("order.created.web", headers, body.clone()).await;
    shop.wait_for("DEAD", 3).await;
    let third = second + 1;

    assert_eq!(stage.ids(&[]).await, [second, third]);
    assert_eq!(stage.ids(&["--all"]).await, [first, second, third]);
    assert_eq!(stage.ids(&["--reason", "malformed_json"]).await, [third]);
    assert_eq!(stage.ids(&["--all", "--reason", "unknown_sku"]).await, [first, second]);
    assert_eq!(stage.ids(&["--since", "1h"]).await, [second, third]);
    assert!(stage.ids(&["--until", "1h"]).await.is_empty());
    let listed = &stage.list(&["--all"]).await;
    let opened = |place: usize| listed[place]["opened_at"].as_str().unwrap();
    assert_eq!(stage.ids(&["--all", "--since", opened(1)]).await, [second, third], "its instant included");
    assert_eq!(stage.ids(&["--all", "--until", opened(1)]).await, [first], "and excluded");
    assert!(listed[0]["resolved_at"].is_string() && listed[1]["resolved_at"].is_null(), "{listed:?}");
    let lines = stage.dead_letters(&["list"]).await.stdout;
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(lines.contains("inventory.written_off.main  unknown_sku: "), "{lines}");
    for wrong in [["--reason", "because"], ["--since", "yesterday"]] {
        assert_eq!(stage.dead_letters(&[&["list"], &wrong[..]].concat()).await.code, Some(2), "{wrong:?}");
    }

    let shown = stage.dead_letters(&["show", &third.to_string()]).await;
    assert_eq!(shown.code, Some(0));
    let (head, _) = shown.stdout.split_once("\n\n").unwrap();
    for line in
        ["reason: malformed_json", "stream: ORDERS", "consumer: lastunit-orders", "  X-Shop: one", "  X-Shop: two, ü"]
    {
        assert!(head.lines().any(|one| one == line), "{line}: {head}");
    }
    assert!(head.lines().any(|line| line.starts_with("detail: ") && line.len() > 10), "{head}");
    // What is read of standard output here is text: U+FFFD stands for the byte.
    assert!(shown.stdout.ends_with("\n\n{ \"event_id\": \"\u{fffd}\" }\n"), "{shown:?}");
    let json = stage.dead_letters(&["show", &third.to_string(), "--json"]).await;
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["headers"], json!({ "X-Shop": ["one", "two, ü"] }));
    assert_eq!(json["body_base64"], "eyAiZXZlbnRfaWQiOiAi/yIgfQo=");
    let missing = stage.dead_letters(&["show", "999"]).await;
    assert_eq!((missing.code, &*missing.stdout), (Some(1), ""));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_succeeds_has_its_effect_once_and_resolves_the_row() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    // Its id stands in a header only.
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", "in-a-header");
    let body = json!({ "lines": [{ "sku": "A", "qty": 2 }], "reason": "broken" }).to_string();
    shop.say_raw("inventory.written_off.main", headers, body.into_bytes()).await;
    shop.wait_for("DEAD", 1).await;
    let row = stage.ids(&[]).await[0];
    shop.count("A", "main", 10).await;

    assert_eq!(said(&stage.replay(row).await), PROCESSED);
    assert_eq!(stage.on_hand("A").await, 8);
    assert_eq!(stage.row(row).await, ("unknown_sku".to_owned(), true));
    let claimed = "SELECT count(*) FROM processed_event
                   WHERE subject = 'inventory.written_off.main' AND event_id = 'in-a-header'";
    assert_eq!(shop.number(claimed).await, 1);
    let moved = "SELECT count(*) FROM stock_movement WHERE kind = 'written_off' AND event_id = 'in-a-header'";
    assert_eq!(shop.number(moved).await, 1);
    let again = stage.replay(row).await;
    assert_eq!(said(&again), (Some(0), "resolved before"));

    // The stream still has it, and delivers it once more.
    let inventory = shop.js.get_stream("INVENTORY").await.unwrap();
    inventory.delete_consumer("lastunit-inventory").await.unwrap();
    wait_until("everything to be delivered again", PATIENCE, async || {
        let metrics = stage.program.metric("lastunit_redelivered_total").await;
        metrics >= 2
    })
    .await;
    stage.close().await;
    assert_eq!(stage.on_hand("A").await, 8);
    assert_eq!(shop.stream("DEAD").await.len(), 1);
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter").await, 1);
    let ended = stage.dead_letters(&["replay", "777"]).await;
    assert_eq!((ended.code, &*ended.stdout), (Some(1), "777: not found\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_again_is_the_same_row_for_its_new_reason() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let row = stage.refused("w1", "A", 1).await;
    shop.count("A", "far", 5).await;
    let (code, said) = stage.replay(row).await;
    assert_eq!(code, Some(1));
    assert!(said.starts_with("refused: unknown_warehouse: "), "{said}");
    assert_eq!(stage.row(row).await, ("unknown_warehouse".to_owned(), false));
    let listed = stage.list(&[]).await.remove(0);
    assert!(said.ends_with(listed["detail"].as_str().unwrap()), "{said} {listed}");
    // Its event is as free as it was: said anew, it is decided anew.
    assert_eq!(shop.number("SELECT count(*) FROM processed_event WHERE event_id = 'w1'").await, 0);
    shop.settled().await;
    assert_eq!(shop.stream("DEAD").await.len(), 1);
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter").await, 1);

    shop.count("A", "main", 5).await;
    let json = stage.dead_letters(&["replay", "--reason", "unknown_warehouse", "--json"]).await;
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json, json!([{ "id": row, "outcome": "processed" }]));
    assert_eq!(stage.on_hand("A").await, 4);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_for_a_person_is_resolved_and_waits() {
    let stage = Stage::open().await;
    let row = stage.refused("w1", "A", 3).await;
    stage.shop.count("A", "main", 3).await;
    stage.shop.ask("order.created.web", order("o1", "1", "A")).await;
    assert_eq!(said(&stage.replay(row).await), (Some(0), "waiting"));
    assert!(stage.row(row).await.1);
    assert_eq!(stage.shop.number("SELECT count(*) FROM waiting_message WHERE event_id = 'w1'").await, 1);
    assert_eq!(stage.shop.number("SELECT count(*) FROM review_item WHERE resolved_at IS NULL").await, 1);
    assert_eq!(stage.on_hand("A").await, 3);
    stage.close().await;
}

/// A cancel that could not be written waits when it is replayed, for an order that is too small for it.
#[tokio::test(flavor = "multi_thread")]
async fn what_waited_and_is_refused_in_the_end_is_open_again() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 3).await;
    let trigger = "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
                   BEGIN RAISE EXCEPTION 'forced' USING ERRCODE = '23514'; END $$;
                   CREATE TRIGGER fail BEFORE INSERT ON waiting_message FOR EACH ROW EXECUTE FUNCTION fail();";
    sqlx::raw_sql(trigger).execute(&shop.db).await.unwrap();
    let lines = json!([{ "sku": "A", "qty": 2 }]);
    shop.say("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1", "lines": lines })).await;
    shop.wait_for("DEAD", 1).await;
    let row = stage.ids(&["--reason", "internal"]).await[0];
    let (code, words) = stage.replay(row).await;
    assert!(code == Some(1) && words.starts_with("refused: internal: "), "{words}");

    sqlx::raw_sql("DROP TRIGGER fail ON waiting_message").execute(&shop.db).await.unwrap();
    assert_eq!(said(&stage.replay(row).await), (Some(0), "waiting"));
    assert!(stage.ids(&[]).await.is_empty());
    assert_eq!(shop.ask("order.created.web", order("o1", "1", "A")).await.what(), "held");
    wait_until("it to be open again", PATIENCE, async || stage.row(row).await == ("over_cancel".to_owned(), false))
        .await;
    stage.close().await;
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter").await, 1);
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
    assert_eq!(shop.stream("DEAD").await.len(), 1, "told under the id it had");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_replays_at_once_one_has_the_effect() {
    let stage = Stage::open().await;
    let row = stage.refused("w1", "A", 1).await.to_string();
    stage.shop.count("A", "main", 100).await;
    let args = ["dead-letters", "replay", &row];
    let four = futures::future::join_all((0..4).map(|_| stage.launch.run(&args))).await;
    let mut said: Vec<_> = four.iter().map(|ended| (ended.code, ended.stdout.trim().to_owned())).collect();
    said.sort();
    let before = (Some(0), format!("{row}: resolved before"));
    assert_eq!(said, [(Some(0), format!("{row}: processed")), before.clone(), before.clone(), before]);
    assert_eq!(stage.on_hand("A").await, 99);
    stage.close().await;
}

/// While a replay holds the row, the message is delivered once more: the delivery waits for it, and is recognised.
#[tokio::test(flavor = "multi_thread")]
async fn a_redelivery_beside_a_replay_changes_nothing() {
    let stage = Stage::open_with("database.lock_timeout_ms = 20000").await;
    let shop = &stage.shop;
    let row = stage.refused("w1", "A", 1).await.to_string();
    shop.count("A", "main", 100).await;
    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM stock WHERE sku = 'A' FOR UPDATE").execute(&mut *holder).await.unwrap();
    let mut replay = stage.launch.start(&["dead-letters", "replay", &row]).await;
    let waits = |count| {
        move || async move {
            let waiting = "SELECT count(*) FROM pg_stat_activity
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
            shop.number(waiting).await >= count
        }
    };
    wait_until("the replay to wait for the row", PATIENCE, waits(1)).await;
    shop.js.get_stream("INVENTORY").await.unwrap().delete_consumer("lastunit-inventory").await.unwrap();
    wait_until("the redelivery to wait for the replay", PATIENCE, waits(2)).await;
    holder.commit().await.unwrap();
    assert_eq!(replay.wait(PATIENCE).await.code(), Some(0), "{}", replay.stderr());
    assert_eq!(replay.stdout(), format!("{row}: processed\n"));
    stage.close().await;
    assert_eq!(stage.on_hand("A").await, 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_somebody_has_locked_is_left_open() {
    let stage = Stage::open_with("database.lock_timeout_ms = 100").await;
    let free = stage.refused("w1", "A", 1).await;
    let held = stage.refused("w2", "B", 1).await;
    stage.shop.count_many(&[("A", 10), ("B", 10)], "main").await;
    let mut holder = stage.shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM stock WHERE sku = 'B' FOR UPDATE").execute(&mut *holder).await.unwrap();
    let ended = stage.dead_letters(&["replay", "--since", "1h"]).await;
    assert_eq!(ended.code, Some(1));
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(lines[0], format!("{free}: processed"), "{ended:?}");
    assert!(lines[1].starts_with(&format!("{held}: not decided")), "{ended:?}");
    holder.rollback().await.unwrap();
    assert_eq!(said(&stage.replay(held).await), PROCESSED);
    assert_eq!((stage.on_hand("A").await, stage.on_hand("B").await), (9, 9));
    stage.close().await;
}

/// More than one transaction takes.
#[tokio::test(flavor = "multi_thread")]
async fn many_are_replayed_in_their_order_and_none_twice() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let messages = (0..250).map(|n| ("inventory.written_off.main".to_owned(), write_off(&format!("w{n}"), "A", 1)));
    shop.say_many(messages).await;
    shop.wait_for("DEAD", 250).await;
    shop.count("A", "main", 1_000).await;
    let nothing = stage.dead_letters(&["replay", "--reason", "over_cancel"]).await;
    assert_eq!((nothing.code, &*nothing.stdout), (Some(1), "no open dead letter was found\n"));
    let ended = stage.dead_letters(&["replay", "--since", "1h", "--reason", "unknown_sku"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.lines().filter(|line| line.ends_with(": processed")).count(), 250);
    assert_eq!(stage.on_hand("A").await, 750);
    let in_order = "SELECT count(*) FROM (
                        SELECT substr(event_id, 2)::int AS n, lag(substr(event_id, 2)::int) OVER (ORDER BY id) AS before
                        FROM stock_movement WHERE kind = 'written_off') AS moved
                    WHERE n <= before";
    assert_eq!(shop.number(in_order).await, 0);
    let transactions = "SELECT count(DISTINCT xmin::text) FROM dead_letter";
    assert_eq!(shop.number(transactions).await, 3);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_runs_the_outbox_keeps_what_a_replay_has_to_tell() {
    let mut stage = Stage::open().await;
    let row = stage.refused("w1", "A", 1).await;
    stage.shop.count("A", "main", 10).await;
    stage.shop.settled().await;
    let told = stage.shop.stream("STOCK").await.len();
    assert_eq!(stage.program.terminate().await, Some(0));
    let ended = stage.dead_letters(&["replay", &row.to_string()]).await;
    assert_eq!((ended.code, &*ended.stdout), (Some(0), &*format!("{row}: processed\n")));
    assert!(ended.stderr.contains("STOCK stays in the outbox until `lastunit run`"), "{ended:?}");
    assert_eq!(stage.shop.stream("STOCK").await.len(), told);
    stage.program = stage.launch.ready(&["run"]).await;
    stage.shop.wait_for("STOCK", told + 1).await;
    stage.close().await;
    assert_eq!(stage.on_hand("A").await, 9);
}

/// The command dies on one side of its commit or the other.
#[cfg(feature = "failpoints")]
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_dies_was_whole_or_was_not() {
    for (point, resolved, on_hand) in [("engine::before_commit", false, 10), ("engine::after_commit", true, 9)] {
        let stage = Stage::open().await;
        let row = stage.refused("w1", "A", 1).await;
        stage.shop.count("A", "main", 10).await;
        let doomed = stage.launch.clone().env("FAILPOINTS", format!("{point}=return"));
        let ended = doomed.run(&["dead-letters", "replay", &row.to_string()]).await;
        assert!(ended.code != Some(0) && ended.stdout.is_empty(), "{ended:?}");
        assert_eq!((stage.row(row).await.1, stage.on_hand("A").await), (resolved, on_hand), "{point}");
        assert_eq!(stage.replay(row).await.0, Some(0));
        assert_eq!(stage.on_hand("A").await, 9, "{point}");
        stage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_wrongly_or_cannot_be_reached_ends_as_all_commands_do() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    for args in [&["replay"][..], &["replay", "1", "--reason", "internal"], &["replay", "--until", "1h"], &["show"]] {
        let args = [&["dead-letters"], args].concat();
        assert_eq!(launch.run(&args).await.code, Some(2), "{args:?}");
    }
    let unmigrated = launch.run(&["dead-letters", "list"]).await;
    assert!(unmigrated.code == Some(2) && unmigrated.stderr.contains("lastunit migrate"), "{unmigrated:?}");
    let away = launch.env("DATABASE_URL", "postgres://me@127.0.0.1:1/db").run(&["dead-letters", "list"]).await;
    assert_eq!(away.code, Some(3), "{away:?}");
}

/// A producer's words are shown, and neither command a terminal nor look like lines of ours.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_producer_wrote_cannot_command_a_terminal() {
    let stage = Stage::open().await;
    let mut headers = HeaderMap::new();
    headers.insert("X-Shop", "\u{1b}]0;mine\u{7}\u{9b}2J");
    let body = b"\x1b[2J{".to_vec();
    stage.shop.say_raw("order.created.w\u{1b}[31meb", headers, body).await;
    stage.shop.wait_for("DEAD", 1).await;
    let row = stage.ids(&[]).await[0].to_string();

    let shown = stage.dead_letters(&["show", &row]).await.stdout;
    let (head, body) = shown.split_once("\n\n").unwrap();
    assert!(head.lines().any(|line| line == r"subject: order.created.w\u{1b}[31meb"), "{head}");
    assert!(head.lines().any(|line| line == r"  X-Shop: \u{1b}]0;mine\u{7}\u{9b}2J"), "{head}");
    assert_eq!(body, "\u{1b}[2J{", "a file gets the body as it is");
    let json = stage.dead_letters(&["show", &row, "--json"]).await.stdout;
    let is_quiet = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control());
    assert!(is_quiet(&json), "{json:?}");
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["subject"], "order.created.w\u{1b}[31meb");
    let listed = stage.dead_letters(&["list"]).await.stdout;
    assert!(listed.contains(r"order.created.w\u{1b}[31meb  unknown_subject: "), "{listed:?}");
    assert!(is_quiet(&listed), "{listed:?}");
    assert!(is_quiet(&stage.program.stderr()), "{}", stage.program.stderr());
    stage.close().await;
}

/// `lastunit dead-letters list | head -1`, and a replay of which nobody reads how it went.
#[tokio::test(flavor = "multi_thread")]
async fn who_stops_reading_stops_no_replay() {
    let stage = Stage::open().await;
    let mut rows = Vec::new();
    // More than one transaction takes.
    for n in 0..2 {
        rows.push(stage.refused(&format!("early-{n}"), "A", 1).await);
    }
    stage.shop.count("A", "main", 10).await;

    for args in [&["dead-letters", "list"][..], &["dead-letters", "list", "--json"], &["config", "show"], &["audit"]] {
        let ended = stage.launch.run_unread(args).await;
        assert_eq!((ended.code, &*ended.stderr), (Some(1), ""), "{args:?}");
    }
    let ended = stage.launch.run_unread(&["dead-letters", "replay", "--until", "0s"]).await;
    assert_eq!((ended.code, &*ended.stderr), (Some(1), ""));
    for row in rows {
        assert!(stage.row(row).await.1, "{row} is resolved");
    }
    stage.close().await;
}
