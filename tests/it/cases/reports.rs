//! `lastunit report`: what it counts, and by which figures.

use serde_json::{Value, json};

use super::Stage;
use crate::support::{Ended, Shop, order};

fn document(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

impl Shop {
    /// Money for an order of channel `web`, decided and told.
    async fn gets_paid(&self, order_ref: &str) {
        let id = format!("pay-{order_ref}");
        let body = json!({ "event_id": id, "payment_id": id, "channel": "web", "order_ref": order_ref });
        self.say("payment.succeeded.stripe", body).await;
        self.settled().await;
    }

    /// As if the order had been made so many seconds before its money came, and held for 200.
    async fn was_paid_after(&self, order_ref: &str, seconds: i32) {
        sqlx::query(
            "UPDATE sales_order SET created_at = made.at, held_since = made.at, expires_at = made.at + interval '200 s'
             FROM (SELECT at - make_interval(secs => $2) AS at FROM payment_report WHERE payment_id = 'pay-' || $1) AS made
             WHERE order_ref = $1",
        )
        .bind(order_ref)
        .bind(f64::from(seconds))
        .execute(&self.db)
        .await
        .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_on_holds_counts_each_order_once_and_times_its_money() {
    let stage = Stage::open_with("sweeper.enabled = false").await;
    let shop = &stage.shop;
    shop.count_many(&[("A", 9), ("B", 1), ("C", 1)], "main").await;
    for (order_ref, sku) in [("in-time", "A"), ("again", "A"), ("back", "B"), ("never", "C"), ("cancelled", "A")] {
        shop.ask("order.created.web", order(order_ref, order_ref, sku)).await;
    }
    shop.ask("order.created.app", order("elsewhere", "elsewhere", "A")).await;
    shop.gets_paid("in-time").await;
    for order_ref in ["again", "back", "never"] {
        shop.end_hold(order_ref).await;
    }
    shop.gets_paid("again").await;
    // Each ends a hold and takes what was held; what is prepaid is held for no money, and counts nowhere.
    shop.ask("order.created.web", order("open", "open", "B")).await;
    let mut prepaid = order("prepaid", "prepaid", "C");
    prepaid["payment"] = json!("prepaid");
    shop.ask("order.created.web", prepaid).await;
    shop.ask("order.created.web", order("rejected", "rejected", "C")).await;
    shop.gets_paid("back").await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c", "order_ref": "cancelled", "reason": "had_again" })).await;
    for (order_ref, seconds) in [("in-time", 100), ("again", 300), ("back", 400)] {
        shop.was_paid_after(order_ref, seconds).await;
    }

    let ended = stage.launch.run(&["report", "holds", "--channel", "web", "--json"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = document(&ended);
    let counts = ["orders", "paid_in_time", "expired_never_paid", "still_held", "otherwise"];
    assert_eq!(counts.map(|name| report[name].as_i64().unwrap()), [6, 1, 1, 1, 1], "{report:#}");
    assert_eq!(report["paid_late"], json!({ "had_again": 1, "refund_required": 1 }));
    assert_eq!(report["late_share"], 2.0 / 3.0);
    assert_eq!(report["never_paid_share"], 0.2);
    let expected = json!({ "p50": 300.0, "p90": 400.0, "p95": 400.0, "p99": 400.0, "max": 400.0 });
    assert_eq!(report["payment_after_s"], expected);
    let expected = json!({ "p50": 1.5, "p90": 2.0, "p95": 2.0, "p99": 2.0, "max": 2.0 });
    assert_eq!(report["payment_of_hold"], expected);
    assert_eq!(report["suggested_hold_s"], Value::Null);
    assert_eq!(report["reason"], "3 orders were paid: below 100 nothing is suggested");

    let all = document(&stage.launch.run(&["report", "holds", "--json"]).await);
    assert_eq!((&all["orders"], &all["still_held"]), (&json!(7), &json!(2)));
    let text = stage.launch.run(&["report", "holds"]).await;
    assert!(text.stdout.contains("no hold suggested: 3 orders were paid"), "{text:?}");
    let none = stage.launch.run(&["report", "holds", "--since", "2100-01-01T00:00:00Z", "--json"]).await;
    assert_eq!((none.code, &document(&none)["orders"]), (Some(1), &json!(0)));
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_on_stages_tells_where_the_time_of_each_order_went() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 2).await;
    for event in ["1", "2", "3"] {
        shop.ask("order.created.web", order(event, event, "A")).await;
    }
    shop.ask("order.created.web", order("repeat", "1", "A")).await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c", "order_ref": "1" })).await;
    shop.settled().await;
    // Three hours for locks, and seven seconds for telling.
    for moved in [
        "UPDATE sales_order SET created_at = step.at - interval '3 h' FROM reservation JOIN reservation_event AS step
            ON step.reservation_id = reservation.id AND from_state IS NULL
         WHERE sales_order.order_ref = reservation.order_ref",
        "UPDATE outbox SET sent_at = written_at + interval '7 s' WHERE stream = 'RESERVATIONS'",
    ] {
        sqlx::query(moved).execute(&shop.db).await.unwrap();
    }

    let ended = stage.launch.run(&["report", "stages", "--json"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = document(&ended);
    assert_eq!(report["messages"], 4, "a cancel makes no order: {report:#}");
    let orders =
        ["waiting", "locks", "telling", "all"].map(|stage| report["stages"][stage]["orders"].as_u64().unwrap());
    assert_eq!(orders, [3, 2, 2, 2], "a repeat made none, and of a rejected order nothing is journaled: {report:#}");
    let near = |stage: &str, ms: f64| {
        let p50 = report["stages"][stage]["p50_ms"].as_f64().unwrap();
        assert!((p50 - ms).abs() <= ms / 1_000.0, "{stage} {p50} instead of {ms}");
    };
    near("locks", 10_800_000.0);
    near("telling", 7_000.0);
    assert_eq!(report["clocks_ahead"], 2, "of two orders it was said that they were claimed before they were received");

    let text = stage.launch.run(&["report", "stages"]).await;
    assert!(text.stdout.contains("received → claimed: waiting in the stream"), "{text:?}");
    let none = stage.launch.run(&["report", "stages", "--since", "2100-01-01T00:00:00Z"]).await;
    assert_eq!(none.code, Some(1), "{none:?}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reports_on_safety_count_what_was_sold_or_shown_beyond_what_was_free_and_change_nothing() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    let empty = stage.launch.run(&["report", "stockouts", "--json"]).await;
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(1), "[]\n"));
    shop.count_many(&[("A", 2), ("B", 1)], "main").await;
    // Sold already where it comes from: prepaid.
    let prepaid = |id: &str, sku: &str, qty: i64| json!({ "event_id": id, "order_ref": id, "payment": "prepaid", "lines": [{ "sku": sku, "qty": qty }] });
    for (id, qty) in [("o1", 3), ("o2", 5), ("kept", 2)] {
        shop.ask("order.created.web", prepaid(id, "A", qty)).await;
    }
    let asked = |id: &str, qty: i64| json!({ "event_id": id, "order_ref": id, "lines": [{ "sku": "B", "qty": qty }] });
    shop.ask("order.created.app", asked("o3", 4)).await;
    let report = document(&stage.launch.run(&["report", "stockouts", "--json"]).await);
    let sold = "the channel sold 2 of these orders, and 95 of 100 lacked no more than 3 units";
    let none = "the channel had sold none of these orders: it showed no more than there was";
    let expected = json!([
        { "id": "web/A", "channel": "web", "sku": "A", "denied_orders": 2, "oversold_orders": 2, "most_units": 3,
          "suggested_safety_stock": 3, "reason": sold },
        { "id": "app/B", "channel": "app", "sku": "B", "denied_orders": 1, "oversold_orders": 0, "most_units": null,
          "suggested_safety_stock": null, "reason": none },
    ]);
    assert_eq!(report, expected);
    let of_app = document(&stage.launch.run(&["report", "stockouts", "--channel", "app", "--json"]).await);
    assert_eq!(of_app, json!([expected[1]]));
    let later = stage.launch.run(&["report", "stockouts", "--since", "2100-01-01T00:00:00Z"]).await;
    assert_eq!((later.code, later.stdout.as_str()), (Some(1), "nothing to report on\n"));

    assert_eq!(stage.launch.run(&["report", "drift"]).await.code, Some(1));
    let seen = "INSERT INTO stock_observation (sku, channel, warehouse, observed_qty, desired_qty, verdict, at, generation)
         SELECT 'A', 'oz', 'main', shown, 5, verdict, '2027-01-01T12:00:00Z', 0
         FROM (VALUES (5, 'in_sync'), (9, 'lagging'), (7, 'drift'), (6, 'drift'), (0, 'drift')) AS seen (shown, verdict)";
    sqlx::query(seen).execute(&shop.db).await.unwrap();
    let text = stage.launch.run(&["report", "drift"]).await;
    let expected = "A on oz: 3 drifts, 2 above\n  suggested safety stock: 2: it showed more than it had been told 2 times, \
                    95 of 100 by no more than 2 units\n";
    assert_eq!((text.code, text.stdout.as_str()), (Some(0), expected));
    stage.close().await;
}
