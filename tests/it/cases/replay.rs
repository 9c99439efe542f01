//! `replay --since`: what was told is told again, with the same ids, and no old figure is the last word.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Stage;
use crate::support::{Ended, Ground, Launch, Shop, Told, order, overlay};

impl Stage {
    /// On streams that forget at once what they have seen, so that everything told again shows.
    async fn forgetful() -> Self {
        let ground = Box::pin(Ground::new()).await;
        let window = || ("duplicate_window", Value::from(100_000_000));
        let files = ["STOCK.stream.json", "RESERVATIONS.stream.json", "DEAD.stream.json"];
        let launch = overlay(&ground, &files.map(|file| (file, window().0, window().1)));
        Self::on(ground, launch).await
    }

    /// Three SKUs, two orders, a dead letter.
    async fn day(&self) {
        self.shop.count_many(&[("A", 10), ("B", 10), ("C", 10)], "main").await;
        for n in ["1", "2"] {
            self.shop.ask("order.created.web", order(&format!("e{n}"), n, "A")).await;
        }
        let bad = json!({ "event_id": "bad", "lines": [{ "sku": "X", "qty": 1 }] });
        self.shop.say("inventory.written_off.main", bad).await;
        self.shop.wait_for("DEAD", 1).await;
        self.shop.settled().await;
    }
}

/// What a stream holds beyond what it held before.
async fn since(shop: &Shop, stream: &str, before: &[Told]) -> Vec<Told> {
    shop.stream(stream).await.split_off(before.len())
}

fn ids(told: &[Told]) -> Vec<String> {
    told.iter().map(Told::id).collect()
}

fn rows(ended: &Ended) -> HashMap<String, i64> {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rows: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap();
    let row = |row: &Value| (row["stream"].as_str().unwrap().to_owned(), row["rows"].as_i64().unwrap());
    assert!(rows.iter().all(|row| row["id"].is_i64()), "{rows:?}");
    rows.iter().map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_is_told_again_as_it_was_and_each_stock_row_retold_once() {
    let stage = Stage::forgetful().await;
    let shop = &stage.shop;
    stage.day().await;
    let (stock, answers, dead) =
        (shop.stream("STOCK").await, shop.stream("RESERVATIONS").await, shop.stream("DEAD").await);
    let version = shop.figures("A", "main").await.unwrap().version;

    let replayed = rows(&stage.launch.run(&["replay", "--since", "1h", "--json"]).await);
    assert_eq!(replayed, HashMap::from([("STOCK".into(), 3), ("RESERVATIONS".into(), 2), ("DEAD".into(), 1)]));
    for (stream, before) in [("RESERVATIONS", &answers), ("DEAD", &dead)] {
        let again = since(shop, stream, before).await;
        assert_eq!(ids(&again), ids(before), "{stream}");
        assert!(again.iter().zip(before).all(|(again, before)| again.raw == before.raw), "{stream}");
    }
    let again = since(shop, "STOCK", &stock).await;
    assert_eq!(ids(&again[..stock.len()]), ids(&stock));
    let retold: Vec<&str> = again[stock.len()..].iter().map(|told| told.body["sku"].as_str().unwrap()).collect();
    assert_eq!(retold, ["A", "B", "C"], "once a row, however often it was told");
    assert_eq!(shop.figures("A", "main").await.unwrap().version, version + 1);
    stage.close().await;

    // Only what was asked for.
    let before = shop.stream("STOCK").await.len();
    let replayed = rows(&stage.launch.run(&["replay", "--since", "1h", "--stream", "RESERVATIONS", "--json"]).await);
    assert_eq!(replayed, HashMap::from([("RESERVATIONS".into(), 2)]));
    assert_eq!(shop.stream("STOCK").await.len(), before);
    assert_eq!(shop.stream("RESERVATIONS").await.len(), 6);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_goes_back_as_far_as_it_was_asked_to() {
    let stage = Stage::forgetful().await;
    let shop = &stage.shop;
    stage.day().await;
    let later =
        stage.shop.text("SELECT to_char(clock_timestamp(), 'YYYY-MM-DD\"T\"HH24:MI:SS.USOF') || ':00'").await.unwrap();
    let ended = stage.launch.run(&["replay", "--since", &later]).await;
    assert_eq!((ended.code, &*ended.stdout), (Some(1), "nothing was told since then\n"), "{ended:?}");
    shop.ask("order.created.web", order("e3", "3", "B")).await;
    shop.settled().await;
    let replayed = rows(&stage.launch.run(&["replay", "--since", &later, "--json"]).await);
    assert_eq!(replayed, HashMap::from([("STOCK".into(), 1), ("RESERVATIONS".into(), 1), ("DEAD".into(), 0)]));
    stage.close().await;
    for args in [&["replay"][..], &["replay", "--since", "soon"], &["replay", "--since", "1h", "--stream", "ORDERS"]] {
        assert_eq!(stage.launch.run(args).await.code, Some(2), "{args:?}");
    }
}

/// The outbox is pruned, and the streams are gone: what is not kept any more is told as it is now.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_kept_any_more_is_told_as_it_is_now() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    stage.day().await;
    sqlx::query("DELETE FROM outbox WHERE stream = 'STOCK' OR id < 3").execute(&shop.db).await.unwrap();
    for stream in ["STOCK", "STOCK_LATEST"] {
        shop.js.delete_stream(stream).await.unwrap();
    }
    let ended = stage.launch.run(&["replay", "--since", "30d"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("what was told is kept from 20"), "{ended:?}");
    stage.close().await;
    let mut told: Vec<String> =
        shop.stream("STOCK").await.iter().map(|told| told.body["sku"].as_str().unwrap().to_owned()).collect();
    told.sort();
    assert_eq!(told, ["A", "B", "C"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_without_a_server_ends_as_all_commands_do() {
    let stage = Stage::open().await;
    let nobody = Launch::new(&stage.ground).env("NATS_URL", "nats://127.0.0.1:1");
    let ended = nobody.run(&["replay", "--since", "1h"]).await;
    assert!(ended.code == Some(3) && ended.stderr.contains("NATS"), "{ended:?}");
    assert_eq!(stage.shop.number("SELECT count(*) FROM outbox_replay").await, 0);
}
