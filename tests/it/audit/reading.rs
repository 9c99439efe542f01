//! What reads a stream goes on when the broker has lost its consumer.

use futures::TryStreamExt;
use lastunit::broker::{From, Reading};

use crate::support::{Ground, Shop};

/// More than two windows.
const MESSAGES: u64 = 600;

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_whose_consumer_is_lost_goes_on_where_it_was() {
    let ground = Ground::new().await;
    let shop = Shop::open(&ground).await;
    let stream = shop.js.create_stream("READ").await.unwrap();
    for n in 0..MESSAGES {
        shop.js.publish("READ", n.to_string().into()).await.unwrap().await.unwrap();
    }
    let mut reading = Reading::open(&shop.js, "READ", From::First, None).await.unwrap();
    let mut read = Vec::new();
    loop {
        let window = reading.next().await.unwrap();
        if window.is_empty() {
            break;
        }
        read.extend(window.into_iter().map(|(sequence, message)| (sequence, message.payload.clone())));
        for consumer in stream.consumer_names().try_collect::<Vec<_>>().await.unwrap() {
            stream.delete_consumer(&consumer).await.unwrap();
        }
    }
    let wanted: Vec<_> = (0..MESSAGES).map(|n| (n + 1, n.to_string().into())).collect();
    assert_eq!(read, wanted);
}
