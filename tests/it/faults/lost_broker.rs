//! F5 and F6: the broker comes back with nothing, or with less than it had. Work goes on, somebody is told, and `replay` makes it good.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use async_nats::jetstream::consumer::PullConsumer;
use serde_json::json;

use super::sale::{SKUS, Sale};
use crate::support::{Ground, Launch, PATIENCE, Program, Shop, buyers, order, wait_until};

/// What `/readyz` warns of: names of streams and consumers. It is ready all the same.
async fn warnings(program: &Program) -> HashSet<String> {
    let (status, text) = program.get("/readyz").await;
    let warning = |line: &str| Some(line.strip_prefix("warning: ")?.split_once(": ")?.0.to_owned());
    if status == 200 { text.lines().filter_map(warning).collect() } else { HashSet::new() }
}

async fn warned_of(program: &Program, names: &[&str]) {
    let names: HashSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    wait_until(&format!("warnings of {names:?}"), PATIENCE, async || warnings(program).await == names).await;
    assert_eq!(program.metric("lastunit_broker_losses").await, names.len());
}

const COMMANDS: [&str; 8] = [
    "INVENTORY",
    "INVENTORY/lastunit-inventory",
    "ORDERS",
    "ORDERS/lastunit-orders",
    "PAYMENTS",
    "PAYMENTS/lastunit-payments",
    "SHIPMENTS",
    "SHIPMENTS/lastunit-shipments",
];
const TOLD: [&str; 4] = ["DEAD", "RESERVATIONS", "STOCK", "STOCK_LATEST"];

/// A consumer that is made again within a second is taken for the same.
async fn consumers_are_old(shop: &Shop) {
    let consumers = [
        ("ORDERS", "lastunit-orders"),
        ("PAYMENTS", "lastunit-payments"),
        ("INVENTORY", "lastunit-inventory"),
        ("SHIPMENTS", "lastunit-shipments"),
    ];
    for (stream, durable) in consumers {
        let consumer: PullConsumer = shop.js.get_consumer_from_stream(durable, stream).await.unwrap();
        let made_at = consumer.cached_info().created.unix_timestamp();
        wait_until("the consumer to be two seconds old", PATIENCE, async || {
            shop.number("SELECT extract(epoch FROM clock_timestamp())::bigint").await > made_at + 2
        })
        .await;
    }
}

/// Every order that was decided is answered in RESERVATIONS.
async fn all_answered(shop: &Shop) {
    let told = shop.stream("RESERVATIONS").await;
    let answered: HashSet<&str> = told.iter().filter_map(|told| told.body["in_reply_to"].as_str()).collect();
    let decided: Vec<String> = sqlx::query_scalar("SELECT event_id FROM sales_order WHERE state <> 'awaited'")
        .fetch_all(&shop.db)
        .await
        .unwrap();
    let silent: Vec<_> = decided.iter().filter(|event| !answered.contains(event.as_str())).collect();
    assert!(silent.is_empty(), "{} of {} unanswered, such as {:?}", silent.len(), decided.len(), silent.first());
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_that_lost_its_directory_under_load_is_refilled() {
    let mut sale = Sale::on(Ground::new().await).await;
    consumers_are_old(&sale.shop).await;
    let before = sale.shop.number("SELECT count(*) FROM sales_order").await;
    let more = sale.shop.load(buyers("more", &SKUS).take(3_000));
    sale.decided(usize::try_from(before).unwrap() + 500).await;
    sale.ground.nats.kill().await.unwrap();
    sale.ground.nats.wipe_store().unwrap();
    sale.ground.nats.restart().await.unwrap();
    // By itself.
    let before = sale.shop.number("SELECT count(*) FROM sales_order").await;
    sale.decided(usize::try_from(before).unwrap() + 300).await;
    more.all().await;
    let Sale { launch, mut copies, shop, ground: _ground, load } = sale;
    load.all().await;
    shop.settled().await;
    warned_of(&copies[0], &[&COMMANDS[..], &TOLD].concat()).await;
    let (_, text) = copies[0].get("/readyz").await;
    assert!(text.contains("warning: STOCK: it was made anew"), "{text}");
    assert_eq!(copies[0].stderr().matches("STOCK: it was made anew").count(), 1, "one line");

    // Not far enough back: nothing of what was lost.
    let late = launch.run(&["replay", "--since", "0s"]).await;
    assert_eq!((late.code, late.stdout.as_str()), (Some(1), "nothing was told since then\n"), "{late:?}");
    assert!(late.stderr.contains("still so: STOCK: it was made anew"), "{late:?}");
    warned_of(&copies[0], &[&COMMANDS[..], &TOLD].concat()).await;

    let replayed = launch.run(&["replay", "--since", "1h", "--json"]).await;
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    shop.settled().await;
    shop.audit().await;
    all_answered(&shop).await;
    warned_of(&copies[0], &COMMANDS).await;

    // Nobody forgets it by ending.
    assert_eq!(copies[1].terminate().await, Some(0));
    copies[1] = launch.ready(&["run"]).await;
    warned_of(&copies[1], &COMMANDS).await;
    let acknowledged = launch.run(&["streams", "acknowledge"]).await;
    assert_eq!((acknowledged.code, acknowledged.stdout.lines().count()), (Some(0), COMMANDS.len()), "{acknowledged:?}");
    warned_of(&copies[0], &[]).await;
    assert_eq!(copies[0].get("/readyz").await, (200, "ready\n".to_owned()));
    assert_eq!(launch.run(&["streams", "acknowledge"]).await.code, Some(1));
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_that_is_back_with_an_older_copy_of_its_store_is_refilled() {
    let mut ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    let skus = ["A", "B", "C"];
    shop.count_many(&skus.map(|sku| (sku, 1_000)), "main").await;
    shop.load(buyers("early", &skus).take(100)).all().await;
    shop.settled().await;
    let copied = ground.dir().join("older");
    ground.nats.stop().await.unwrap();
    copy(&ground.nats.store(), &copied);
    ground.nats.restart().await.unwrap();
    shop.load(buyers("late", &skus).take(200)).all().await;
    shop.settled().await;
    let told = shop.stream("STOCK").await.len();
    // What is told is remembered as it is acknowledged, everything else as it is looked at.
    for (stream, query) in [
        ("ORDERS", "SELECT last_seq FROM broker_object WHERE name = 'ORDERS'"),
        ("STOCK_LATEST", "SELECT last_seq FROM broker_object WHERE name = 'STOCK_LATEST'"),
    ] {
        let last = shop.js.get_stream(stream).await.unwrap().cached_info().state.last_sequence;
        let last = i64::try_from(last).unwrap();
        wait_until(&format!("{stream} to be remembered"), PATIENCE, async || shop.number(query).await == last).await;
    }

    ground.nats.stop().await.unwrap();
    fs::remove_dir_all(ground.nats.store()).unwrap();
    fs::rename(&copied, ground.nats.store()).unwrap();
    ground.nats.restart().await.unwrap();
    warned_of(&program, &["ORDERS", "RESERVATIONS", "STOCK", "STOCK_LATEST"]).await;
    assert!(shop.stream("STOCK").await.len() < told);
    let (_, text) = program.get("/readyz").await;
    assert!(text.contains("warning: RESERVATIONS: what came after its message 100 is gone, up to 300: "), "{text}");
    shop.say("order.created.web", order("after", "after", "A")).await;
    assert_eq!(shop.answer_to("after").await.what(), "held");

    let replayed = launch.run(&["replay", "--since", "1h"]).await;
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    shop.settled().await;
    shop.audit().await;
    all_answered(&shop).await;
    warned_of(&program, &["ORDERS"]).await;
    assert_eq!(launch.run(&["streams", "acknowledge", "ORDERS"]).await.code, Some(0));
    warned_of(&program, &[]).await;
}

/// The tail is lost while nobody runs, and noticed by who runs next.
#[tokio::test(flavor = "multi_thread")]
async fn a_loss_while_nobody_runs_is_noticed_at_the_next_start() {
    let mut ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    shop.say("order.created.web", order("e1", "1", "A")).await;
    shop.settled().await;
    consumers_are_old(&shop).await;
    assert_eq!(program.terminate().await, Some(0));
    ground.nats.stop().await.unwrap();
    ground.nats.wipe_store().unwrap();
    ground.nats.restart().await.unwrap();
    let applied = launch.run(&["streams", "apply"]).await;
    assert_eq!(applied.code, Some(0), "{applied:?}");
    program = launch.ready(&["run"]).await;
    warned_of(&program, &[&COMMANDS[..], &TOLD].concat()).await;
    assert_eq!(program.terminate().await, Some(0));

    // And where nobody runs, the command tells again by itself.
    let replayed = launch.run(&["replay", "--since", "1h"]).await;
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    assert!(replayed.stdout.contains("STOCK: 2 rows told again and acknowledged"), "{replayed:?}");
    shop.settled().await;
    shop.audit().await;
    all_answered(&shop).await;
    program = launch.ready(&["run"]).await;
    warned_of(&program, &COMMANDS).await;
    shop.say("order.created.web", order("e2", "2", "A")).await;
    shop.answer_to("e2").await;
    shop.settled().await;
    shop.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_was_deleted_is_warned_of_until_somebody_takes_note() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    consumers_are_old(&shop).await;
    let orders = shop.js.get_stream("ORDERS").await.unwrap();
    orders.delete_consumer("lastunit-orders").await.unwrap();
    warned_of(&program, &["ORDERS/lastunit-orders"]).await;
    // A replay refills what is told; this is none of it.
    assert_eq!(launch.run(&["replay", "--since", "1h"]).await.code, Some(0));
    warned_of(&program, &["ORDERS/lastunit-orders"]).await;
    assert_eq!(launch.run(&["streams", "acknowledge", "STOCK"]).await.code, Some(1));
    let taken = launch.run(&["streams", "acknowledge", "ORDERS/lastunit-orders"]).await;
    assert_eq!((taken.code, &*taken.stdout), (Some(0), "acknowledged ORDERS/lastunit-orders\n"));
    warned_of(&program, &[]).await;
}

/// The relay that tells again dies between the acknowledgement and its own note; whoever has the turn next goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_dies_while_it_tells_again_forgets_no_doubt() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut doomed = launch.clone().env("FAILPOINTS", "relay::told_again=1*return").ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    shop.say("order.created.web", order("e1", "1", "A")).await;
    shop.settled().await;
    let version = shop.figures("A", "main").await.unwrap().version;
    let mut replay = launch.start(&["replay", "--since", "1h", "--stream", "STOCK"]).await;
    doomed.wait(PATIENCE).await;
    assert_eq!(replay.wait(PATIENCE).await.code(), Some(0), "{}", replay.stderr());
    assert!(replay.stdout().contains("STOCK: "), "{}", replay.stdout());
    assert_eq!(shop.number("SELECT count(*) FROM stock_doubt").await, 0);
    assert!(shop.figures("A", "main").await.unwrap().version > version);
    let _program = launch.ready(&["run"]).await;
    shop.settled().await;
    shop.audit().await;
}

/// Deliveries that never succeed: it does not stay unseen.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_decision_always_fails_ends_in_dead_and_can_be_replayed() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let _program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    let trigger = "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
                   BEGIN
                      IF NEW.order_ref = 'never' THEN RAISE EXCEPTION 'forced' USING ERRCODE = '40001'; END IF;
                      RETURN NEW;
                   END $$;
                   CREATE TRIGGER fail BEFORE INSERT ON reservation FOR EACH ROW EXECUTE FUNCTION fail();";
    sqlx::raw_sql(trigger).execute(&shop.db).await.unwrap();
    shop.say("order.created.web", order("never", "never", "A")).await;
    shop.say("order.created.web", order("e1", "1", "A")).await;
    assert_eq!(shop.answer_to("e1").await.what(), "held", "its neighbour flows");
    wait_until("it to be given up", PATIENCE * 3, async || !shop.stream("DEAD").await.is_empty()).await;
    let dead = shop.stream("DEAD").await.remove(0);
    assert_eq!(dead.header("Lastunit-Reason"), Some("internal"));
    assert_eq!(dead.body, order("never", "never", "A"));
    shop.settled().await;
    shop.audit().await;

    sqlx::raw_sql("DROP TRIGGER fail ON reservation").execute(&shop.db).await.unwrap();
    let replayed = launch.run(&["dead-letters", "replay", "--reason", "internal", "--json"]).await;
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    let rows: serde_json::Value = serde_json::from_str(&replayed.stdout).unwrap();
    assert_eq!(rows[0]["outcome"], json!("processed"));
    assert_eq!(shop.answer_to("never").await.what(), "held");
    shop.settled().await;
    shop.audit().await;
}

/// nats-server 2.9 forgets when it made a stream that is changed after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_changed_between_two_restarts_is_no_loss() {
    let mut ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    shop.settled().await;
    ground.nats.kill().await.unwrap();
    ground.nats.restart().await.unwrap();
    wait_until("NATS to answer", PATIENCE, async || shop.js.get_stream("STOCK").await.is_ok()).await;
    let mut config = shop.js.get_stream("STOCK").await.unwrap().cached_info().config.clone();
    config.description = Some("changed".to_owned());
    shop.js.update_stream(&config).await.unwrap();
    ground.nats.kill().await.unwrap();
    ground.nats.restart().await.unwrap();
    wait_until("NATS to answer", PATIENCE, async || shop.js.get_stream("STOCK").await.is_ok()).await;
    shop.count("A", "main", 11).await;
    shop.settled().await;
    // Only whoever looks for losses remembers this one, and whoever looks does so at all.
    let last = shop.js.get_stream("STOCK_LATEST").await.unwrap().cached_info().state.last_sequence;
    let last = i64::try_from(last).unwrap();
    wait_until("the streams to be looked at", PATIENCE, async || {
        shop.number("SELECT last_seq FROM broker_object WHERE name = 'STOCK_LATEST'").await == last
    })
    .await;
    assert_eq!(shop.number("SELECT count(*) FROM broker_loss").await, 0);
    assert_eq!(warnings(&program).await, HashSet::new());
}
