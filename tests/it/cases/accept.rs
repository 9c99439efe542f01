//! `orders.accept = false`: nothing new, and what there is is honoured.

use serde_json::json;

use super::{Stage, plain};
use crate::support::{Launch, order};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_new_is_taken_and_holds_are_honoured() {
    let mut stage = Stage::open_with("sweeper.max_interval_ms = 10").await;
    let shop = &stage.shop;
    shop.count("A", "main", 9).await;
    shop.ask("order.created.web", order("o1", "held", "A")).await;
    shop.ask("order.created.web", order("o2", "expired", "A")).await;
    shop.ask("order.created.web", order("o3", "rejected", "GHOST")).await;
    shop.end_hold("expired").await;
    shop.wait_for("RESERVATIONS", 4).await;
    stage.launch = Launch::new(&stage.ground).config("orders.accept = false");
    stage.restart(async |_| ()).await;
    let shop = &stage.shop;

    let rejected = |id: &str, order_ref: &str, reason: &str, shortages| {
        json!({ "channel": "web", "order_ref": order_ref, "in_reply_to": id, "duplicate": false, "lines": [],
                "reason": reason, "shortages": shortages })
    };
    let told = shop.ask("order.created.web", order("n1", "new", "A")).await;
    assert_eq!(plain(&told), rejected("n1", "new", "not_accepting", json!([])));
    let told = shop.ask("order.created.web", order("n2", "rejected", "A")).await;
    assert_eq!(plain(&told), rejected("n2", "rejected", "not_accepting", json!([])));
    let told = shop.ask("order.created.web", order("n3", "ghost", "GHOST")).await;
    assert_eq!(told.body["reason"], "unknown_sku");
    let told = shop.ask("order.renewed.web", json!({ "event_id": "r1", "order_ref": "expired" })).await;
    assert_eq!(told.subject, "reservation.expired.web");
    assert_eq!((&told.body["duplicate"], &told.body["reason"]), (&json!(true), &json!("not_accepting")));

    let told = shop.ask("order.created.web", order("n4", "held", "A")).await;
    assert_eq!((told.what(), &told.body["duplicate"]), ("held", &json!(true)));
    let told =
        shop.ask("order.renewed.web", json!({ "event_id": "r2", "order_ref": "held", "hold_for_s": 5000 })).await;
    assert_eq!((told.what(), &told.body["duplicate"]), ("held", &json!(false)));
    let told = shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "held" })).await;
    assert_eq!((told.what(), &told.body["duplicate"]), ("released", &json!(false)));
    stage.close().await;
}
