//! Streams and durable consumers against a private server of its own for each test.

use async_nats::jetstream::{self, Context, consumer, stream};
use futures::StreamExt;
use lastunit::topology::{Action, Nature, State, Topology, TopologyError};

use lastunit::dev::{NatsOptions, PrivateNats, Scratch};

use crate::support::binaries;

/// A server of the test's own, and its directory.
struct Server {
    _nats: PrivateNats,
    _scratch: Scratch,
}

async fn server() -> (Server, Context, Topology) {
    let scratch = Scratch::new().unwrap();
    let nats = PrivateNats::start(binaries().await, scratch.path(), NatsOptions::default()).await.unwrap();
    let js = jetstream::new(async_nats::connect(nats.url()).await.unwrap());
    let topology = Topology::load(None, "").expect("the shipped files");
    (Server { _nats: nats, _scratch: scratch }, js, topology)
}

async fn config(js: &Context, name: &str) -> stream::Config {
    let found = js.get_stream(name).await.expect(name);
    found.cached_info().config.clone()
}

async fn edit(js: &Context, name: &str, change: impl FnOnce(&mut stream::Config)) {
    let mut config = config(js, name).await;
    change(&mut config);
    js.update_stream(config).await.expect(name);
}

#[tokio::test]
async fn applying_is_idempotent() {
    let (_server, js, topology) = server().await;
    assert!(topology.missing(&js).await.expect("asked"));
    let made = topology.apply(&js, false).await.expect("applied");
    assert_eq!(made.len(), topology.streams.len() + topology.consumers.len());
    assert!(made.iter().all(|change| change.action == Action::Created));
    assert_eq!(topology.diff(&js).await.expect("asked"), []);
    assert_eq!(topology.apply(&js, false).await.expect("applied"), []);
    assert!(!topology.missing(&js).await.expect("asked"));
}

#[tokio::test]
async fn two_copies_may_apply_at_once() {
    let (_server, js, topology) = server().await;
    let copies = (0..8).map(|_| topology.apply(&js, false));
    for made in futures::future::join_all(copies).await {
        made.expect("applied");
    }
    assert_eq!(topology.diff(&js).await.expect("asked"), []);
}

#[tokio::test]
async fn what_has_vanished_is_made_again() {
    let (_server, js, topology) = server().await;
    topology.apply(&js, false).await.expect("applied");
    let orders = topology.consumer_of("ORDERS").expect("orders");
    js.delete_consumer_from_stream(&orders.durable, &orders.stream).await.expect("deleted");
    assert!(topology.missing(&js).await.expect("asked"));
    let made = topology.ensure(&js).await.expect("applied");
    assert_eq!(made.len(), 1);
    assert_eq!(made[0].id, "ORDERS/lastunit-orders");
}

#[tokio::test]
async fn nothing_is_shrunk_in_silence() {
    let (_server, js, topology) = server().await;
    topology.apply(&js, false).await.expect("applied");
    let shipped = config(&js, "ORDERS").await;
    edit(&js, "ORDERS", |orders| {
        orders.max_bytes *= 2;
        orders.max_age /= 2;
        orders.subjects.push("extra.>".to_owned());
    })
    .await;

    let differences = topology.diff(&js).await.expect("asked");
    let natures = differences[0].fields().iter().map(|one| (one.field, one.nature));
    assert_eq!(
        natures.collect::<Vec<_>>(),
        [("subjects", Nature::Shrinks), ("max_bytes", Nature::Shrinks), ("max_age", Nature::Applies)]
    );
    let refused = topology.apply(&js, false).await.expect_err("refused");
    assert!(matches!(refused, TopologyError::Shrinks(_)), "{refused}");
    assert_eq!(config(&js, "ORDERS").await.max_age, shipped.max_age / 2);

    topology.ensure(&js).await.expect("the rest");
    let left = config(&js, "ORDERS").await;
    assert_eq!(left.max_bytes, shipped.max_bytes * 2);
    assert_eq!(left.subjects, ["order.>", "extra.>"]);
    assert_eq!(left.max_age, shipped.max_age);

    topology.apply(&js, true).await.expect("allowed");
    assert_eq!(config(&js, "ORDERS").await, shipped);
}

#[tokio::test]
async fn another_programs_stream_is_left_alone_and_so_is_all_else() {
    let (_server, js, topology) = server().await;
    let alien = stream::Config {
        name: "DEAD".to_owned(),
        subjects: vec!["dead.>".to_owned()],
        retention: stream::RetentionPolicy::WorkQueue,
        ..stream::Config::default()
    };
    js.create_stream(alien).await.expect("made");
    let refused = topology.apply(&js, true).await.expect_err("refused");
    assert!(matches!(refused, TopologyError::Shaped(_)), "{refused}");
    assert!(refused.to_string().contains("DEAD: retention"), "{refused}");
    assert_eq!(js.stream_names().count().await, 1, "nothing half done");
}

#[tokio::test]
async fn another_programs_subjects_are_seen_before_anything_is_made() {
    let (_server, js, topology) = server().await;
    let alien = stream::Config {
        name: "AUDIT".to_owned(),
        subjects: vec!["dead.order.*".to_owned()],
        ..stream::Config::default()
    };
    js.create_stream(alien).await.expect("made");
    let differences = topology.diff(&js).await.expect("asked");
    let dead = differences.iter().find(|one| one.id == "DEAD").expect("dead");
    assert!(matches!(&dead.state, State::Overlaps { by, .. } if by == "AUDIT"), "{dead:?}");
    let refused = topology.ensure(&js).await.expect_err("refused");
    assert!(matches!(refused, TopologyError::Shaped(_)), "{refused}");
    assert_eq!(js.stream_names().count().await, 1, "nothing half done");
}

#[tokio::test]
async fn a_consumer_that_was_edited_is_put_right_and_one_of_another_kind_is_not() {
    let (_server, js, topology) = server().await;
    topology.apply(&js, false).await.expect("applied");
    let orders = topology.consumer_of("ORDERS").expect("orders");
    let edited = consumer::pull::Config {
        max_deliver: 3,
        filter_subject: "order.created.>".to_owned(),
        ..orders.config.clone()
    };
    js.create_consumer_on_stream(edited, "ORDERS").await.expect("edited");
    let made = topology.apply(&js, false).await.expect("applied");
    assert_eq!(made[0].action, Action::Updated);
    assert_eq!(made[0].fields.len(), 2);

    js.delete_consumer_from_stream(&orders.durable, "ORDERS").await.expect("deleted");
    let push = consumer::push::Config {
        durable_name: Some(orders.durable.clone()),
        deliver_subject: "push.here".to_owned(),
        ..consumer::push::Config::default()
    };
    js.create_consumer_on_stream(push, "ORDERS").await.expect("made");
    let refused = topology.apply(&js, true).await.expect_err("refused");
    assert!(matches!(refused, TopologyError::Shaped(_)), "{refused}");
}

#[tokio::test]
async fn the_latest_figures_go_on_when_their_stream_is_made_again() {
    let (_server, js, topology) = server().await;
    topology.apply(&js, false).await.expect("applied");
    for version in 0..50 {
        tell(&js, "stock.changed.main.A", version).await;
    }
    latest(&js, "stock.changed.main.A", 49).await;
    js.delete_stream("STOCK").await.expect("deleted");
    topology.ensure(&js).await.expect("applied");
    tell(&js, "stock.changed.main.A", 50).await;
    tell(&js, "stock.changed.main.B", 1).await;
    latest(&js, "stock.changed.main.A", 50).await;
    latest(&js, "stock.changed.main.B", 1).await;
    assert_eq!(topology.diff(&js).await.expect("asked"), []);
}

async fn tell(js: &Context, subject: &'static str, version: u32) {
    let ack = js.publish(subject, version.to_string().into()).await.expect("sent");
    ack.await.expect("kept");
}

/// Waits until the last message of `subject` says `version`.
async fn latest(js: &Context, subject: &str, version: u32) {
    let stream = js.get_stream("STOCK_LATEST").await.expect("latest");
    let arrived = async {
        loop {
            if let Ok(last) = stream.direct_get_last_for_subject(subject).await
                && last.payload == version.to_string().as_bytes()
            {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let limit = std::time::Duration::from_secs(8);
    tokio::time::timeout(limit, arrived).await.unwrap_or_else(|_| panic!("{subject} {version}"));
}
