//! The shopper is back: the hold is prolonged, or had again, whole or not at all.

use serde_json::{Value, json};
use time::Duration;

use super::{Stage, instant, line, plain};
use crate::support::order;

const CONFIG: &str = "sweeper.max_interval_ms = 10\nhold.max_s = 5000";

fn renew(event_id: &str, order_ref: &str, hold_for_s: i64) -> Value {
    json!({ "event_id": event_id, "order_ref": order_ref, "hold_for_s": hold_for_s })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_prolonged_never_shortened_and_never_beyond_the_longest() {
    let stage = Stage::open_with(CONFIG).await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    let held = shop.ask("order.created.web", order("o1", "1", "A")).await;
    let longer = shop.ask("order.renewed.web", renew("r1", "1", 4000)).await;
    assert_eq!(
        plain(&longer),
        json!({ "channel": "web", "order_ref": "1", "in_reply_to": "r1", "duplicate": false,
                "lines": [line("A", "main", 1, "held")] })
    );
    assert_eq!(
        instant(&longer.body["expires_at"]) - instant(&longer.body["occurred_at"]),
        Duration::seconds(4000),
        "from the renewal on"
    );
    let shorter = shop.ask("order.renewed.web", renew("r2", "1", 10)).await;
    assert_eq!(shorter.body["duplicate"], true);
    assert_eq!(shorter.body["expires_at"], longer.body["expires_at"]);
    let longest = shop.ask("order.renewed.web", renew("r3", "1", 1_000_000)).await;
    let since = instant(&held.body["expires_at"]) - Duration::seconds(900);
    assert_eq!(instant(&longest.body["expires_at"]) - since, Duration::seconds(5000));
    let again = shop.ask("order.renewed.web", renew("r4", "1", 1_000_000)).await;
    assert_eq!((&again.body["duplicate"], &again.body["expires_at"]), (&json!(true), &longest.body["expires_at"]));
    shop.settled().await;
    assert_eq!(shop.figures("A", "main").await.unwrap().version, 2, "no figures change");
    assert_eq!(
        shop.number(
            "SELECT count(*) FROM reservation r JOIN sales_order o USING (order_ref) WHERE r.expires_at = o.expires_at"
        )
        .await,
        1
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_ended_is_had_again_whole_or_not_at_all() {
    let stage = Stage::open_with(CONFIG).await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    shop.count("B", "main", 2).await;
    let body =
        json!({ "event_id": "o1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 1 }, { "sku": "B", "qty": 2 }] });
    shop.ask("order.created.web", body).await;
    shop.end_hold("1").await;
    shop.wait_for("RESERVATIONS", 2).await;
    shop.ask("order.created.web", order("o2", "2", "A")).await;

    let told = shop.ask("order.renewed.web", renew("r1", "1", 60)).await;
    assert_eq!(told.subject, "reservation.expired.web");
    assert_eq!(
        plain(&told),
        json!({ "channel": "web", "order_ref": "1", "in_reply_to": "r1", "duplicate": true, "reason": "hold_ended",
                "lines": [line("A", "main", 1, "expired"), line("B", "main", 2, "expired")],
                "shortages": [{ "sku": "A", "requested": 1, "available": 0 }] })
    );
    assert_eq!(shop.figures("B", "main").await.unwrap().reserved, 0);

    shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "2" })).await;
    let told = shop.ask("order.renewed.web", renew("r2", "1", 60)).await;
    assert_eq!(told.subject, "reservation.held.web");
    assert_eq!(told.body["duplicate"], false);
    assert_eq!(told.body["lines"], json!([line("A", "main", 1, "held"), line("B", "main", 2, "held")]));
    assert_eq!(instant(&told.body["expires_at"]) - instant(&told.body["occurred_at"]), Duration::seconds(60));
    // Held since then: the longest hold is counted anew.
    let told = shop.ask("order.renewed.web", renew("r3", "1", 1_000_000)).await;
    let since: time::OffsetDateTime =
        sqlx::query_scalar("SELECT at FROM reservation_event WHERE event_id = 'r2' LIMIT 1")
            .fetch_one(&shop.db)
            .await
            .unwrap();
    assert_eq!(instant(&told.body["expires_at"]) - since, Duration::seconds(5000));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_cancelled_is_never_had_again() {
    let stage = Stage::open_with(CONFIG).await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.count("B", "main", 5).await;
    for order_ref in ["before", "after", "part", "whole"] {
        let lines = json!([{ "sku": "A", "qty": 1 }, { "sku": "B", "qty": 1 }]);
        shop.ask("order.created.web", json!({ "event_id": order_ref, "order_ref": order_ref, "lines": lines })).await;
    }
    let cancel = |id: &str, order_ref: &str| json!({ "event_id": id, "order_ref": order_ref });
    let of_a = |id: &str, order_ref: &str| json!({ "event_id": id, "order_ref": order_ref, "lines": [{ "sku": "A", "qty": 1 }] });
    shop.ask("order.cancelled.web", of_a("c1", "before")).await;
    for order_ref in ["before", "after", "part", "whole"] {
        shop.end_hold(order_ref).await;
    }
    shop.wait_for("RESERVATIONS", 9).await;
    shop.ask("order.cancelled.web", of_a("c2", "after")).await;
    shop.ask("order.cancelled.web", cancel("c3", "whole")).await;
    let cases = [
        ("before", "held", false, ["released", "held"]),
        ("after", "held", false, ["expired", "held"]),
        ("part", "held", false, ["held", "held"]),
        ("whole", "expired", true, ["expired", "expired"]),
    ];
    for (order_ref, what, duplicate, states) in cases {
        let told = shop.ask("order.renewed.web", renew(&format!("r-{order_ref}"), order_ref, 60)).await;
        assert_eq!((told.what(), &told.body["duplicate"]), (what, &json!(duplicate)), "{order_ref}");
        let lines = json!([line("A", "main", 1, states[0]), line("B", "main", 1, states[1])]);
        assert_eq!(told.body["lines"], lines, "{order_ref}");
    }
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 1);
    assert_eq!(shop.figures("B", "main").await.unwrap().reserved, 3);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_held_is_told_how_it_stands_and_what_is_unknown_waits() {
    let stage = Stage::open_with(CONFIG).await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    let mut confirmed = order("o1", "confirmed", "A");
    confirmed["payment"] = json!("on_delivery");
    shop.ask("order.created.web", confirmed).await;
    shop.ask("order.created.web", order("o2", "rejected", "GHOST")).await;
    shop.ask("order.created.web", order("o3", "released", "A")).await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c", "order_ref": "released" })).await;
    for state in ["confirmed", "rejected", "released"] {
        let told = shop.ask("order.renewed.web", renew(state, state, 60)).await;
        assert_eq!((told.what(), &told.body["duplicate"]), (state, &json!(true)));
    }
    shop.say("order.renewed.web", renew("early", "late", 3000)).await;
    shop.settled().await;
    assert_eq!(shop.answers_to("early").await.len(), 0);
    shop.ask("order.created.web", order("o4", "late", "A")).await;
    let told = shop.answer_to("early").await;
    assert_eq!((told.what(), &told.body["duplicate"]), ("held", &json!(false)));
    assert_eq!(instant(&told.body["expires_at"]) - instant(&told.body["occurred_at"]), Duration::seconds(3000));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_had_from_where_it_was_else_from_elsewhere_unless_the_order_named_the_warehouse() {
    let stage = Stage::open_with(CONFIG).await;
    let shop = &stage.shop;
    shop.count("A", "east", 1).await;
    shop.count("A", "west", 5).await;
    shop.ask("order.created.web", order("o1", "free", "A")).await;
    let mut named = order("o2", "named", "A");
    named["lines"][0]["warehouse"] = json!("west");
    shop.ask("order.created.web", named).await;
    for order_ref in ["free", "named"] {
        shop.end_hold(order_ref).await;
    }
    shop.wait_for("RESERVATIONS", 4).await;
    // A warehouse that comes first by name now: the one it was held in is tried first all the same.
    shop.count("A", "a-new-one", 1).await;
    let told = shop.ask("order.renewed.web", renew("r1", "free", 60)).await;
    assert_eq!(told.body["lines"], json!([line("A", "east", 1, "held")]));
    shop.end_hold("free").await;
    shop.wait_for("RESERVATIONS", 6).await;
    shop.count("A", "east", 0).await;
    shop.count("A", "west", 0).await;
    let told = shop.ask("order.renewed.web", renew("r2", "free", 60)).await;
    assert_eq!(told.body["lines"], json!([line("A", "a-new-one", 1, "held")]));
    shop.count("A", "a-new-one", 5).await;
    let told = shop.ask("order.renewed.web", renew("r3", "named", 60)).await;
    assert_eq!(told.body["lines"], json!([line("A", "west", 1, "expired")]));
    assert_eq!(told.body["shortages"], json!([{ "sku": "A", "requested": 1, "available": 0 }]));
    stage.close().await;
}
