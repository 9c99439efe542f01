//! F6: consumers and streams vanish under the program.

use async_nats::jetstream::consumer::PullConsumer;
use serde_json::json;

use super::sale::Sale;
use crate::support::{Ground, Launch, PATIENCE, Shop, order, wait_until};

async fn forget_consumer(shop: &Shop, stream: &str, durable: &str) {
    assert!(shop.js.get_stream(stream).await.unwrap().delete_consumer(durable).await.unwrap().success);
}

/// The consumer is there again and everything was delivered once more.
async fn all_delivered_again(shop: &Shop, stream: &str, durable: &str) {
    wait_until(&format!("{durable} to be there again and to have delivered everything"), PATIENCE, async || {
        let consumer: Result<PullConsumer, _> = shop.js.get_consumer_from_stream(durable, stream).await;
        let messages = shop.js.get_stream(stream).await.unwrap().cached_info().state.messages;
        consumer.is_ok_and(|consumer| consumer.cached_info().ack_floor.stream_sequence >= messages)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_is_deleted_under_load_is_made_again_and_nothing_counts_twice() {
    let sale = Sale::on(Ground::new().await).await;
    forget_consumer(&sale.shop, "ORDERS", "lastunit-orders").await;
    sale.decided(3_000).await;
    all_delivered_again(&sale.shop, "ORDERS", "lastunit-orders").await;
    sale.ends_well().await;
}

/// What was refused once stays refused when it is delivered again, although it could be done by now.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_has_no_second_fate_when_everything_is_delivered_again() {
    let ground = Ground::new().await;
    let _program = Launch::new(&ground).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    let about = |event: &str| json!({ "event_id": event, "order_ref": "o" });
    let lines = json!([{ "sku": "A", "qty": 2 }]);

    // Nobody knows A yet.
    shop.say("inventory.written_off.main", json!({ "event_id": "too-early", "lines": lines })).await;
    shop.wait_for("DEAD", 1).await;
    shop.count("A", "main", 10).await;
    shop.say("order.created.web", order("new", "o", "A")).await;
    let mut too_many = about("too-many");
    too_many["lines"] = lines;
    shop.say("order.cancelled.web", too_many).await;
    shop.wait_for("DEAD", 2).await;
    shop.say("order.cancelled.web", about("cancel")).await;
    shop.answer_to("cancel").await;
    let answers = shop.stream("RESERVATIONS").await.len();

    forget_consumer(&shop, "ORDERS", "lastunit-orders").await;
    forget_consumer(&shop, "INVENTORY", "lastunit-inventory").await;
    all_delivered_again(&shop, "ORDERS", "lastunit-orders").await;
    all_delivered_again(&shop, "INVENTORY", "lastunit-inventory").await;
    shop.settled().await;
    shop.audit().await;
    assert_eq!(shop.figures("A", "main").await.unwrap().on_hand, 10);
    assert_eq!(shop.stream("RESERVATIONS").await.len(), answers);
    assert_eq!(shop.stream("DEAD").await.len(), 2);
    shop.assert_answered_once(&["new", "too-many", "cancel"].map(str::to_owned)).await;

    // Said anew, it is decided anew.
    let mut again = about("too-many");
    again["lines"] = json!([{ "sku": "A", "qty": 2 }]);
    shop.say("order.cancelled.web", again).await;
    assert_eq!(shop.answer_to("too-many").await.what(), "released");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_deleted_is_made_again_and_new_orders_flow() {
    let ground = Ground::new().await;
    let _program = Launch::new(&ground).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    shop.say("order.created.web", order("before", "o1", "A")).await;
    shop.settled().await;
    shop.js.delete_stream("ORDERS").await.unwrap();
    // A stream that is there again does not listen at once: a checkout tries until its order is acknowledged.
    let after = order("after", "o2", "A").to_string();
    wait_until("ORDERS to take an order again", PATIENCE, async || {
        shop.js.publish("order.created.web", after.clone().into()).await.unwrap().await.is_ok()
    })
    .await;
    assert_eq!(shop.answer_to("after").await.what(), "held");
    shop.settled().await;
    shop.audit().await;
    shop.assert_answered_once(&["before", "after"].map(str::to_owned)).await;
}
