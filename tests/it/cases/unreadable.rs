//! The broker takes any bytes for headers and subjects; client libraries do not.

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{PATIENCE, Stage};
use crate::support::order;

/// Publishes as no library would, and waits until the broker has read it.
async fn publish(stage: &Stage, messages: &[(&[u8], &[u8], Value)]) {
    let mut bytes = b"CONNECT {\"verbose\":false,\"headers\":true}\r\n".to_vec();
    for (subject, headers, body) in messages {
        let body = body.to_string();
        bytes.extend(
            [b"HPUB ", *subject, format!(" {} {}\r\n", headers.len(), headers.len() + body.len()).as_bytes()].concat(),
        );
        bytes.extend([*headers, body.as_bytes(), b"\r\n"].concat());
    }
    bytes.extend(b"PING\r\n");
    let url = stage.ground.nats.url();
    let mut connection = TcpStream::connect(url.strip_prefix("nats://").unwrap()).await.unwrap();
    connection.write_all(&bytes).await.unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"PONG\r\n") {
        assert_ne!(connection.read_buf(&mut said).await.unwrap(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_client_can_read_is_a_dead_letter_and_stops_nobody() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 9).await;
    let created: &[u8] = b"order.created.web";
    let plain: &[u8] = b"NATS/1.0\r\n\r\n";
    publish(
        &stage,
        &[
            (created, b"NATS/1.0\r\nX-Bad: M\xfcller\r\n\r\n", order("e1", "1", "A")),
            (b"order.created.caf\xe9", plain, order("e2", "2", "A")),
            (created, b"NATS/1.0\r\nno colon\r\n\r\n", order("e3", "3", "A")),
            (created, b"NATS/1.0 409 Consumer Deleted\r\n\r\n", order("e4", "4", "A")),
            (created, plain, order("good", "good", "A")),
        ],
    )
    .await;
    assert_eq!(shop.answer_to("good").await.what(), "held");
    let words: Vec<_> = ["e1", "e2", "e3", "e4"].map(|id| ("malformed_json".to_owned(), id.to_owned())).into();
    shop.wait_for("DEAD", 4).await;
    assert_eq!(shop.dead().await, words);
    assert_eq!(shop.number("SELECT count(*) FROM sales_order").await, 1);
}

/// A lone carriage return in a header makes the library's task panic: nothing is left of the client, and a new process begins anew.
#[tokio::test(flavor = "multi_thread")]
async fn what_kills_the_client_ends_the_process_and_the_next_one_goes_on() {
    let mut stage = Stage::open().await;
    stage.shop.count("A", "main", 9).await;
    let created: &[u8] = b"order.created.web";
    publish(&stage, &[(created, b"NATS/1.0\r\nX-Bad: a\rb\r\n\r\n", order("e1", "1", "A"))]).await;
    assert_eq!(stage.program.wait(PATIENCE).await.code(), Some(1));
    stage.program = stage.launch.ready(&["run"]).await;
    let told = stage.shop.ask("order.created.web", order("e2", "2", "A")).await;
    assert_eq!(told.what(), "held");
    stage.shop.wait_for("DEAD", 1).await;
    assert_eq!(stage.shop.dead().await, [("malformed_json".to_owned(), "e1".to_owned())]);
    assert_eq!(stage.shop.number("SELECT count(*) FROM sales_order").await, 1);
}
