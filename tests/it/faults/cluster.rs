//! Three nodes, every stream on each: one is lost, then the one that leads ORDERS. An order that was acknowledged is not lost with them.

use async_nats::jetstream;
use lastunit::dev::PrivateCluster;
use lastunit::topology::{Difference, Nature, Topology};
use serde_json::{Value, json};

use super::sale::Sale;
use crate::support::{Ground, Launch, PATIENCE, Shop, binaries, wait_until};

async fn cluster(ground: &Ground) -> PrivateCluster {
    PrivateCluster::start(binaries().await, &ground.dir().join("cluster"), "").await.unwrap()
}

/// What the broker says of a stream; null while nobody answers for it.
async fn info(js: &jetstream::Context, stream: &str) -> Value {
    let asked = js.request(format!("STREAM.INFO.{stream}"), &json!({})).await;
    asked.unwrap_or(Value::Null)
}

/// The node that leads a stream.
async fn leader(js: &jetstream::Context, stream: &str) -> Option<String> {
    info(js, stream).await["cluster"]["leader"].as_str().map(str::to_owned)
}

/// Waits until every stream has a leader and two followers that have all it has.
async fn whole(js: &jetstream::Context) {
    for stream in &Topology::load(None, "").unwrap().streams {
        wait_until(&format!("{} to stand on three nodes", stream.name), PATIENCE, async || {
            let cluster = &info(js, &stream.name).await["cluster"];
            let followers = cluster["replicas"].as_array().map_or(&[][..], Vec::as_slice);
            let current = followers.iter().filter(|node| node["current"] == true && node["offline"] != true).count();
            cluster["leader"].is_string() && current == 2
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_and_then_the_leader_of_orders_are_killed_under_load_and_no_order_is_lost() {
    let ground = Ground::new().await;
    let mut cluster = cluster(&ground).await;
    let shop = Shop::open_at(&ground, &cluster.url()).await;
    let js = shop.js.clone();
    let launch = Launch::impatient(&ground).env("NATS_URL", cluster.url()).env("LASTUNIT_STREAMS__REPLICAS", "3");
    let sale = Sale::of(ground, launch, shop).await;
    whole(&js).await;

    let leads = leader(&js, "ORDERS").await.unwrap();
    let follower = cluster.nodes.iter_mut().find(|node| node.name() != leads).unwrap();
    follower.kill().await.unwrap();
    sale.decided(1_000).await;
    follower.restart().await.unwrap();
    whole(&js).await;

    let led = leader(&js, "ORDERS").await.unwrap();
    cluster.named(&led).unwrap().kill().await.unwrap();
    wait_until("another node to lead ORDERS", PATIENCE, async || {
        leader(&js, "ORDERS").await.is_some_and(|now| now != led)
    })
    .await;
    sale.decided(2_000).await;
    cluster.named(&led).unwrap().restart().await.unwrap();
    whole(&js).await;
    sale.ends_well().await;
}

/// Streams that stand on one node are spread by `streams apply`, which says so before, and are drawn together only when that is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn the_replicas_of_streams_that_are_there_are_changed() {
    let ground = Ground::new().await;
    let cluster = cluster(&ground).await;
    let launch = Launch::new(&ground).env("NATS_URL", cluster.url());
    let spread = launch.clone().env("LASTUNIT_STREAMS__REPLICAS", "3");
    assert_eq!(launch.run(&["streams", "apply"]).await.code, Some(0));

    let diff = spread.run(&["streams", "diff"]).await;
    assert_eq!(diff.code, Some(1), "{diff:?}");
    assert!(diff.stdout.contains("stream ORDERS: num_replicas is 1, shall be 3\n"), "{diff:?}");
    let apply = spread.run(&["streams", "apply"]).await;
    assert_eq!(apply.code, Some(0), "{apply:?}");
    assert!(apply.stdout.contains("stream ORDERS: num_replicas was 1, is 3\n"), "{apply:?}");
    let js = Shop::open_at(&ground, &cluster.url()).await.js;
    whole(&js).await;
    let same = spread.run(&["streams", "diff"]).await;
    assert_eq!(same.code, Some(0), "{same:?}");

    let shrinks = launch.run(&["streams", "apply"]).await;
    assert_eq!(shrinks.code, Some(2), "{shrinks:?}");
    assert!(shrinks.stderr.contains("num_replicas is 3, shall be 1"), "{shrinks:?}");
    let differences = Topology::load(None, "").unwrap().diff(&js).await.unwrap();
    let natures: Vec<_> = differences.iter().flat_map(Difference::fields).map(|one| one.nature).collect();
    assert_eq!(natures, [Nature::Shrinks; 8]);
    assert_eq!(info(&js, "ORDERS").await["config"]["num_replicas"], 3);
}
