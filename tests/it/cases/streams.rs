//! `lastunit streams`, and `run` on streams that are not as they should be.

use async_nats::jetstream::stream;
use futures::TryStreamExt as _;
use serde_json::Value;

use super::Stage;
use crate::support::{Ground, Launch, Shop, wait_until};

async fn names(shop: &Shop) -> Vec<String> {
    let mut names: Vec<String> = shop.js.stream_names().try_collect().await.unwrap();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_compared_and_applied() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let shop = Shop::open(&ground).await;
    let diff = launch.run(&["streams", "diff"]).await;
    assert_eq!(diff.code, Some(1), "{diff:?}");
    assert!(diff.stdout.contains("stream ORDERS: missing"), "{diff:?}");
    assert_eq!(names(&shop).await, Vec::<String>::new(), "looking changes nothing");

    let apply = launch.run(&["streams", "apply"]).await;
    assert_eq!(apply.code, Some(0), "{apply:?}");
    let all = ["DEAD", "INVENTORY", "ORDERS", "PAYMENTS", "RESERVATIONS", "SHIPMENTS", "STOCK", "STOCK_LATEST"];
    assert_eq!(names(&shop).await, all);
    let again = launch.run(&["streams", "apply"]).await;
    assert_eq!((again.code, &*again.stdout), (Some(0), "nothing to change\n"));
    let diff = launch.run(&["streams", "diff"]).await;
    assert_eq!((diff.code, &*diff.stdout), (Some(0), "no difference\n"));
    let json = launch.run(&["streams", "diff", "--json"]).await;
    assert_eq!((json.code, &*json.stdout), (Some(0), "[]\n"));

    // A stream with more room keeps it unless somebody says otherwise.
    let mut orders = shop.js.get_stream("ORDERS").await.unwrap().cached_info().config.clone();
    orders.max_bytes *= 2;
    shop.js.update_stream(&orders).await.unwrap();
    let json = launch.run(&["streams", "diff", "--json"]).await;
    let rows: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (json.code, &rows[0]["id"], &rows[0]["fields"][0]["field"]),
        (Some(1), &"ORDERS".into(), &"max_bytes".into())
    );
    let refused = launch.run(&["streams", "apply"]).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("ORDERS") && refused.stderr.contains("--allow-shrink"), "{refused:?}");
    let allowed = launch.run(&["streams", "apply", "--allow-shrink"]).await;
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_another_program_shaped_stops_everything_before_it_begins() {
    let ground = Ground::new().await;
    let shop = Shop::open(&ground).await;
    let foreign = stream::Config {
        name: "STOCK".into(),
        subjects: vec!["stock.changed.>".into()],
        retention: stream::RetentionPolicy::WorkQueue,
        ..stream::Config::default()
    };
    shop.js.create_stream(foreign.clone()).await.unwrap();
    let launch = Launch::new(&ground).config("startup.wait_s = 5");
    for command in [["streams", "apply"].as_slice(), &["streams", "diff"], &["run"]] {
        let ended = launch.run(command).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("STOCK") && ended.stderr.contains("retention"), "{ended:?}");
    }
    assert_eq!(names(&shop).await, ["STOCK"], "nothing half done");
    let kept = shop.js.get_stream("STOCK").await.unwrap();
    assert_eq!(kept.cached_info().config.retention, foreign.retention);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_permission_to_apply_it_waits_for_somebody_who_does() {
    let ground = Ground::new().await;
    let shop = Shop::open(&ground).await;
    let mut program = Launch::new(&ground).config("streams.apply = false").start(&["run"]).await;
    wait_until("it to say what it waits for", super::PATIENCE, async || {
        program.stderr().contains("lastunit streams apply")
    })
    .await;
    assert_eq!(names(&shop).await, Vec::<String>::new());
    assert_eq!(Launch::new(&ground).run(&["streams", "apply"]).await.code, Some(0));
    program.ready(super::PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_vanishes_is_made_again_and_nothing_counts_twice() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.ask("order.created.web", crate::support::order("e1", "1", "A")).await;
    shop.js.delete_consumer_from_stream("lastunit-orders", "ORDERS").await.unwrap();
    wait_until("the consumer to be made again", super::PATIENCE, async || {
        let consumer: Result<async_nats::jetstream::consumer::PullConsumer, _> =
            shop.js.get_consumer_from_stream("lastunit-orders", "ORDERS").await;
        consumer.is_ok()
    })
    .await;
    shop.ask("order.created.web", crate::support::order("e2", "2", "A")).await;
    shop.settled().await;
    assert_eq!(shop.stream("RESERVATIONS").await.len(), 2);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_and_subjects_take_the_configured_prefix() {
    let stage = Stage::open_with("streams.prefix = 'cell1'").await;
    let shop = &stage.shop;
    let count = serde_json::json!({ "event_id": "i1", "lines": [{ "sku": "A", "on_hand": 5 }] });
    shop.say("cell1.inventory.counted.main", count).await;
    let told = shop.wait_for("cell1_STOCK", 1).await;
    assert_eq!(told[0].subject, "cell1.stock.changed.main.A");
    shop.say("cell1.order.created.web", crate::support::order("e1", "1", "A")).await;
    let told = shop.wait_for("cell1_RESERVATIONS", 1).await;
    assert_eq!((&*told[0].subject, &told[0].body["in_reply_to"]), ("cell1.reservation.held.web", &"e1".into()));
    shop.say("cell1.order.created.web", serde_json::json!({ "event_id": "e2" })).await;
    let dead = shop.wait_for("cell1_DEAD", 1).await;
    assert_eq!(dead[0].subject, "cell1.dead.order.created.web");
    assert!(names(shop).await.iter().all(|name| name.starts_with("cell1_")));
}
