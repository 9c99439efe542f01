//! `lastunit publisher pause|resume|status`: a channel stopped, let go on, and looked at.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::support::{Ended, Ground, Launch, PATIENCE, Shop, wait_until};

const CHANNELS: &str = "[channels.oz]\nkind = \"ozon\"\nsafety_stock = 2\ntimeout_s = 1\n\
                        [channels.hook]\nkind = \"webhook\"\nbase_url = \"http://127.0.0.1:1\"\n";

struct Publisher {
    // Held for as long as the test.
    _ground: Ground,
    launch: Launch,
    shop: Shop,
}

impl Publisher {
    /// A database that is migrated while nothing runs.
    async fn open() -> Self {
        let ground = Ground::new().await;
        let launch = Launch::new(&ground).config(CHANNELS);
        assert_eq!(launch.run(&["migrate"]).await.code, Some(0));
        let shop = Shop::open(&ground).await;
        Self { _ground: ground, launch, shop }
    }

    async fn sql(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&self.shop.db).await.unwrap();
    }

    /// A point of `oz` with these columns set besides.
    async fn point(&self, sku: &str, set: &str) {
        self.sql(&format!(
            "INSERT INTO publish_point (sku, channel, warehouse, external_id, external_warehouse_id, newest_version, available, desired_qty)
             VALUES ('{sku}', 'oz', 'main', '{sku}', '7', 1, 9, 9);
             UPDATE publish_point SET {set} WHERE sku = '{sku}'"
        ))
        .await;
    }

    async fn run(&self, args: &[&str]) -> Ended {
        self.launch.run(&[&["publisher"], args].concat()).await
    }

    async fn document(&self, args: &[&str]) -> (Option<i32>, Value) {
        let ended = self.run(&[args, &["--json"]].concat()).await;
        let document = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
        (ended.code, document)
    }
}

const FLYING: &str = "lease = gen_random_uuid(), lease_until = now() + interval '1 h'";
const PAUSED: &str =
    "SELECT count(*) FROM publish_channel WHERE channel = 'oz' AND paused_at IS NOT NULL AND safety_stock = 2";

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_waits_for_what_is_on_its_way() {
    let publisher = Publisher::open().await;
    publisher.point("A", FLYING).await;
    // A lease that has run out is nobody's.
    publisher.point("B", "lease = gen_random_uuid(), lease_until = now() - interval '1 s'").await;
    let patient = publisher.launch.clone().env("LASTUNIT_CHANNELS__OZ__TIMEOUT_S", "600");
    let mut pausing = patient.start(&["publisher", "pause", "oz"]).await;
    wait_until("the pause", PATIENCE, async || publisher.shop.number(PAUSED).await == 1).await;
    assert!(pausing.ended().is_none(), "A is on its way");
    publisher.sql("UPDATE publish_point SET lease = NULL, lease_until = NULL WHERE sku = 'A'").await;
    assert_eq!(pausing.wait(Duration::from_secs(30)).await.code(), Some(0));
    let said = pausing.stdout();
    assert!(said.starts_with("oz is paused since ") && said.ends_with(": 1 flights ended, 0 left\n"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_does_not_wait_longer_than_a_lease_lives_and_says_what_is_left() {
    let publisher = Publisher::open().await;
    publisher.point("A", FLYING).await;
    let (code, said) = publisher.document(&["pause", "oz"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!((&said["flights_ended"], &said["flights_left"]), (&json!(0), &json!(1)));
    publisher.sql("UPDATE publish_point SET lease = NULL, lease_until = NULL").await;
    // Paused again, it stays paused since it was.
    let (code, again) = publisher.document(&["pause", "oz"]).await;
    assert_eq!((code, &again["paused_at"]), (Some(0), &said["paused_at"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_goes_on_whether_people_or_its_own_answers_had_stopped_it() {
    let publisher = Publisher::open().await;
    assert_eq!(publisher.run(&["pause", "oz"]).await.code, Some(0));
    publisher.sql("UPDATE publish_channel SET halted_until = now() + interval '1 h', halted_reason = 'no such key', halts = 3").await;
    let (_, stopped) = publisher.document(&["status", "oz"]).await;
    assert_eq!(stopped[0]["halted_reason"], "no such key");
    assert_ne!(stopped[0]["paused_at"], Value::Null);
    let resumed = publisher.run(&["resume", "oz"]).await;
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "oz goes on\n"));
    let free = "SELECT count(*) FROM publish_channel WHERE channel = 'oz' AND paused_at IS NULL AND halted_until IS NULL AND halts = 0";
    assert_eq!(publisher.shop.number(free).await, 1);
    // One that was never stopped may go on too.
    assert_eq!(publisher.run(&["resume", "hook"]).await.code, Some(0));
    for command in ["pause", "resume", "status", "check", "pull-map"] {
        let unknown = publisher.run(&[command, "nobody"]).await;
        assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""), "{unknown:?}");
        assert_eq!(unknown.stderr, "lastunit: no channel \"nobody\" in the settings, which have hook, oz\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_counts_each_point_as_what_it_is() {
    let publisher = Publisher::open().await;
    publisher.point("A", &format!("due_at = '2027-01-01T12:00:00Z', {FLYING}")).await;
    publisher
        .point("B", "due_at = '2027-01-01T11:00:00Z', exposed_units = 2, exposed_since = '2027-01-01T10:00:00Z'")
        .await;
    publisher.point("C", "parked = 'refused', exposed_units = 3, exposed_since = '2027-01-01T09:00:00Z'").await;
    publisher.point("GONE", "external_id = NULL, external_warehouse_id = NULL").await;
    publisher
        .sql(
            "INSERT INTO stock_push (sku, channel, warehouse, version, desired_qty, state, created_at)
             SELECT sku, 'oz', 'main', version, 9, state, now()
             FROM (VALUES ('A', 1, 'unknown'), ('A', 2, 'pending'), ('B', 1, 'accepted')) AS row (sku, version, state);
             INSERT INTO publish_channel (channel, safety_stock, reconciled_at) VALUES ('oz', 2, '2027-01-01T08:00:00Z'), ('old', 0, NULL)",
        )
        .await;
    let (code, all) = publisher.document(&["status"]).await;
    assert_eq!(code, Some(0));
    let names: Vec<&str> = all.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["hook", "old", "oz"]);
    let expected = json!({
        "id": "oz", "channel": "oz", "kind": "ozon", "lacks": "client_id", "paused_at": null, "halted_until": null,
        "halted_reason": null, "points": 3, "due": 2, "oldest_due_at": "2027-01-01T11:00:00.000000Z", "in_flight": 1, "unknown": 1,
        "parked": 1, "exposed_units": 5, "exposed_since": "2027-01-01T09:00:00.000000Z", "reconciled_at": "2027-01-01T08:00:00.000000Z",
        "checked_at": null,
    });
    assert_eq!(all[2], expected);
    assert_eq!(publisher.document(&["status", "oz"]).await.1, json!([expected]));
    let text = publisher.run(&["status", "oz"]).await.stdout;
    let expected = "oz: told nothing: the settings lack client_id\n  \
                    3 points: 2 due (the oldest since 2027-01-01T11:00:00.000000Z), 1 in flight, 1 unknown, 1 wait for a person\n  \
                    5 units shown that are not free (since 2027-01-01T09:00:00.000000Z)\n  \
                    reconciled 2027-01-01T08:00:00.000000Z, checked never\n";
    assert_eq!(text, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_difference_is_explained_with_everything_that_is_known_of_the_point() {
    let publisher = Publisher::open().await;
    let explain = async |sku: &str| publisher.launch.run(&["explain", "--point", sku, "oz", "main", "--json"]).await;
    let unknown = explain("A").await;
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(1), ""), "{unknown:?}");
    assert_eq!(unknown.stderr, "nothing is known of A in main on oz\n");
    let told = "newest_version = 4, desired_qty = 3, told_version = 4, told_qty = 3, told_at = '2027-01-01T12:00:00Z',
                told_external_id = 'A', told_external_warehouse_id = '7', shown_qty = 3";
    publisher.point("A", told).await;
    publisher
        .sql(
            "INSERT INTO stock (sku, warehouse, on_hand, reserved, version) VALUES ('A', 'main', 6, 1, 4);
             INSERT INTO channel_item_map VALUES ('A', 'oz', 'A');
             INSERT INTO channel_warehouse_map (warehouse, channel, external_warehouse_id) VALUES ('main', 'oz', '7');
             INSERT INTO stock_confirmed VALUES ('A', 'oz', 'main', 4, 3, '2027-01-01T12:30:00Z');
             INSERT INTO stock_push (sku, channel, warehouse, version, desired_qty, state, attempts, created_at)
             SELECT 'A', 'oz', 'main', version, 3, 'accepted', 1, '2027-01-01T12:00:00Z' FROM generate_series(3, 4) AS version;
             INSERT INTO push_attempt (sku, channel, warehouse, version, external_id, external_warehouse_id, qty, withdrawal, flight, lease,
                began_at, ended_at, outcome, generation)
             SELECT 'A', 'oz', 'main', n, 'A', '7', 3, false, n, gen_random_uuid(), '2027-01-01T12:00:00Z', '2027-01-01T12:00:01Z',
                'accepted', n % 4
             FROM generate_series(1, 25) AS n;
             INSERT INTO stock_observation (sku, channel, warehouse, observed_qty, desired_qty, compared_version, verdict, at, generation)
             SELECT 'A', 'oz', 'main', 3, 3, 4, 'in_sync', '2027-01-01T12:30:00Z', 0 FROM generate_series(1, 12)",
        )
        .await;
    let in_sync = explain("A").await;
    assert_eq!(in_sync.code, Some(0), "{in_sync:?}");
    let story: Value = serde_json::from_str(&in_sync.stdout).unwrap();
    assert_eq!((&story["why"], &story["desired_qty"], &story["shown_qty"]), (&json!("in_sync"), &json!(3), &json!(3)));
    let versions: Vec<i64> =
        story["attempts"].as_array().unwrap().iter().map(|one| one["version"].as_i64().unwrap()).collect();
    assert_eq!(versions, (6..=25).rev().collect::<Vec<i64>>(), "the last twenty, newest first");
    assert_eq!(story["observations"].as_array().unwrap().len(), 10);
    // Of the queue only what is open, and the newest.
    assert_eq!(story["queue"].as_array().unwrap().len(), 1);
    assert_eq!(story["queue"][0]["version"], 4);

    publisher.sql("UPDATE stock SET reserved = 6, version = 5; UPDATE publish_point SET newest_version = 5, desired_qty = 0, due_at = '2027-01-01T13:00:00Z'").await;
    assert_eq!(publisher.run(&["pause", "oz"]).await.code, Some(0));
    let paused = explain("A").await;
    let story: Value = serde_json::from_str(&paused.stdout).unwrap();
    assert_eq!((paused.code, &story["why"], &story["desired_qty"]), (Some(1), &json!("paused"), &json!(0)));
    assert_eq!(publisher.run(&["resume", "oz"]).await.code, Some(0));
    let text = publisher.launch.run(&["explain", "--point", "A", "oz", "main"]).await;
    assert_eq!(text.code, Some(1), "{text:?}");
    let due = ["it was told version 4, and version 5 is due since", "it was told version 4, and version 5 waits until"];
    let sentence = text.stdout.lines().next().unwrap();
    assert!(due.iter().any(|due| sentence.starts_with(&format!("A in main on oz: {due}"))), "{sentence}");
}
