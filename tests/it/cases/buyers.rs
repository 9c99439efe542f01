//! The last unit, and many who want it.

use serde_json::json;

use super::Stage;
use crate::support::{Figures, order};

#[tokio::test(flavor = "multi_thread")]
async fn the_last_unit_has_one_buyer_through_every_way_in() {
    let stage = Stage::open_with("sweeper.max_interval_ms = 10\nchannels.ozon.kind = 'ozon'").await;
    let _second = stage.launch.ready(&["run"]).await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    for n in 0..10 {
        shop.say("order.created.web", order(&format!("old{n}"), &format!("old{n}"), "A")).await;
    }
    shop.settled().await;
    for n in 0..10 {
        shop.end_hold(&format!("old{n}")).await;
    }
    shop.wait_for("RESERVATIONS", 20).await;
    shop.count("A", "main", 1).await;

    let mut buyers = Vec::new();
    for n in 0..50 {
        let id = format!("e{n}");
        let mut new = order(&id, &id, "A");
        let subject = match n % 5 {
            0 => {
                new = json!({ "event_id": id, "order_ref": format!("old{}", n / 5) });
                "order.renewed.web"
            }
            1 => "order.created.web",
            2 => {
                new["payment"] = json!("prepaid");
                "order.created.web"
            }
            3 => {
                new["lines"][0]["warehouse"] = json!("main");
                "order.created.shop"
            }
            _ => "order.created.ozon",
        };
        buyers.push((subject.to_owned(), new));
    }
    fastrand::shuffle(&mut buyers);
    shop.say_many(buyers).await;
    shop.settled().await;

    let live = "SELECT count(*) FROM reservation WHERE state IN ('held', 'confirmed')";
    assert_eq!(shop.number(live).await, 1);
    assert_eq!(shop.number("SELECT sum(qty)::bigint FROM reservation_event").await, 1);
    let told = shop.stream("RESERVATIONS").await;
    let answers: Vec<_> =
        told.iter().filter(|told| told.body["in_reply_to"].as_str().is_some_and(|id| id.starts_with('e'))).collect();
    assert_eq!(answers.len(), 50);
    let winners = answers.iter().filter(|told| matches!(told.what(), "held" | "confirmed")).count();
    assert_eq!(winners, 1);
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 1);
    stage.close().await;
}

/// Somebody holds the row while the order comes, and leaves it with one unit less than there was.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_the_row_decides_on_what_is_there_then() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 1).await;
    let mut other = shop.db.begin().await.unwrap();
    sqlx::query("UPDATE stock SET on_hand = 0, version = version + 1 WHERE sku = 'A'")
        .execute(&mut *other)
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO stock_movement (sku, warehouse, delta, kind, at) VALUES ('A', 'main', -1, 'counted', now())",
    )
    .execute(&mut *other)
    .await
    .unwrap();
    shop.say("order.created.web", order("e1", "1", "A")).await;
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'lastunit' AND wait_event_type = 'Lock'
                   AND query LIKE '%stock%'";
    crate::support::wait_until("the order to wait for the row", super::PATIENCE, async || {
        shop.number(waiting).await > 0
    })
    .await;
    other.commit().await.unwrap();
    let told = shop.answer_to("e1").await;
    assert_eq!((told.what(), &told.body["reason"]), ("rejected", &json!("insufficient_stock")));
    // Told again by the next change, so that the world has the row's figures.
    shop.count("A", "main", 2).await;
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 2, reserved: 0, version: 3 });
    stage.close().await;
}
