//! Messages whose headers or subject the client cannot read: the broker takes anything.

use std::collections::{HashMap, HashSet};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Ground, Launch, PATIENCE, Shop, order, wait_until};

/// Publishes a header block as it is, past every client, and waits until the broker has it.
async fn publish(ground: &Ground, subject: impl AsRef<[u8]>, block: &str, body: &str) {
    let mut stream = TcpStream::connect(ground.nats.url().trim_start_matches("nats://")).await.unwrap();
    let (header, total) = (block.len(), block.len() + body.len());
    let sizes = format!(" {header} {total}\r\n{block}{body}\r\nPING\r\n");
    let hello = b"CONNECT {\"verbose\":false,\"headers\":true}\r\nHPUB ";
    stream.write_all(&[hello, subject.as_ref(), sizes.as_bytes()].concat()).await.unwrap();
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("PONG") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
    }
}

/// The message stands among orders, and more orders come after it; two copies meet it.
async fn is_laid_to_rest(block: &str, kept: &[(&str, &str)]) {
    let ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    shop.say("order.created.web", order("e1", "o1", "A")).await;
    let body = order("poison", "poison", "A").to_string();
    publish(&ground, "order.created.web", block, &body).await;
    shop.say("order.created.web", order("e2", "o2", "A")).await;

    let dead = shop.wait_for("DEAD", 1).await.remove(0);
    shop.say("order.created.web", order("e3", "o3", "A")).await;
    shop.settled().await;
    assert_eq!(dead.header("Lastunit-Reason"), Some("invalid_field"));
    assert_eq!(dead.header("Lastunit-Sequence"), Some("2"));
    assert_eq!(dead.raw, body.as_bytes());
    for (name, value) in kept {
        assert_eq!(dead.header(name), Some(*value));
    }
    let ids = ["e1", "poison", "e2", "e3"].map(str::to_owned);
    let tally = shop.assert_answered_once(&ids).await;
    assert_eq!(tally, HashMap::from([("held".into(), 3), ("dead".into(), 1)]));
    shop.audit().await;
    for copy in &copies {
        // A client that died is replaced; until then the copy says that it is not ready.
        wait_until("the copy to be ready again", PATIENCE, async || copy.get("/readyz").await.0 == 200).await;
    }
}

/// The client's connection dies of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_carriage_return_in_a_header_ends_no_copy() {
    is_laid_to_rest("NATS/1.0\r\nX-Shop: one\r\nX-Bad: a\rb\r\n\r\n", &[("X-Shop", "one")]).await;
}

/// The client connects anew because of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_header_without_a_colon_ends_no_copy() {
    is_laid_to_rest("NATS/1.0\r\nX-Shop: one\r\nno colon\r\n\r\n", &[("X-Shop", "one")]).await;
}

/// The client takes it for the broker's own word. Newer servers take the status out and leave an ordinary order.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_looks_like_a_heartbeat_has_one_fate() {
    let ground = Ground::new().await;
    let _program = Launch::impatient(&ground).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    let body = order("poison", "poison", "A").to_string();
    publish(&ground, "order.created.web", "NATS/1.0 100 Idle Heartbeat\r\nX-Shop: one\r\n\r\n", &body).await;
    shop.say("order.created.web", order("e1", "o1", "A")).await;
    shop.settled().await;
    shop.audit().await;
    shop.assert_answered_once(&["poison", "e1"].map(str::to_owned)).await;
}

/// Where the order counts, one copy holds the turn and waits for what comes again.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_cannot_be_read_holds_up_no_other() {
    let ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    let received = |id: &str| json!({ "event_id": id, "lines": [{ "sku": "A", "qty": 1 }] });
    let block = "NATS/1.0\r\nX-Bad: a\rb\r\n\r\n";
    publish(&ground, "inventory.received.main", block, &received("poison").to_string()).await;
    shop.say("inventory.received.main", received("i1")).await;
    let dead = shop.wait_for("DEAD", 1).await.remove(0);
    assert_eq!(dead.header("Lastunit-Stream"), Some("INVENTORY"));
    shop.say("inventory.received.main", received("i2")).await;
    shop.settled().await;
    shop.audit().await;
    assert_eq!(shop.figures("A", "main").await.unwrap().on_hand, 12);
}

/// The client drops its connection over a subject that is no text, and what came with it comes again.
#[tokio::test(flavor = "multi_thread")]
async fn a_subject_that_is_no_text_holds_up_no_other() {
    let ground = Ground::new().await;
    let launch = Launch::impatient(&ground);
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    // With headers, and without any.
    publish(&ground, b"order.created.\xff", "NATS/1.0\r\nX-Shop: one\r\n\r\n", "{}").await;
    publish(&ground, b"inventory.counted.\xc3", "NATS/1.0\r\n\r\n", "{}").await;
    shop.say("order.created.web", order("e1", "o1", "A")).await;
    let received = json!({ "event_id": "i1", "lines": [{ "sku": "A", "qty": 1 }] });
    shop.say("inventory.received.main", received).await;
    let dead = shop.wait_for("DEAD", 2).await;
    shop.settled().await;
    for letter in &dead {
        assert_eq!(letter.header("Lastunit-Reason"), Some("unknown_subject"));
        assert_eq!(letter.raw, b"{}");
    }
    let subjects: HashSet<&str> = dead.iter().map(|letter| letter.subject.as_str()).collect();
    assert_eq!(subjects, HashSet::from(["dead.order.created.\u{fffd}", "dead.inventory.counted.\u{fffd}"]));
    assert_eq!(shop.number("SELECT count(*) FROM dead_letter WHERE headers = '{\"X-Shop\": [\"one\"]}'").await, 1);
    shop.assert_answered_once(&["e1".to_owned()]).await;
    assert_eq!(shop.figures("A", "main").await.unwrap().on_hand, 11);
    shop.audit().await;
}

/// What was asked of a connection that is gone is never answered: nobody runs who would lay the message to rest.
#[tokio::test(flavor = "multi_thread")]
async fn an_audit_that_is_not_answered_ends() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.say("order.created.web", order("e1", "o1", "A")).await;
    shop.say("order.created.web", order("e2", "o2", "A")).await;
    shop.settled().await;
    assert_eq!(program.terminate().await, Some(0));
    // Two places were acknowledged: what comes after the first message is the one that cannot be read.
    shop.js.get_stream("ORDERS").await.unwrap().delete_message(2).await.unwrap();
    publish(&ground, b"order.created.\xff", "NATS/1.0\r\n\r\n", "{}").await;
    let ended = launch.run(&["audit"]).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("was not checked: the broker does not answer"), "{ended:?}");
}
