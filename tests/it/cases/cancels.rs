//! Cancels: in every state, in part, before their order.

use serde_json::{Value, json};

use super::{PATIENT, Stage, line, plain};
use crate::support::{Figures, Shop, Told, order};

fn cancel(event_id: &str, order_ref: &str) -> Value {
    json!({ "event_id": event_id, "order_ref": order_ref, "reason": "customer <b>changed</b> mind" })
}

fn cancel_part(event_id: &str, order_ref: &str, lines: &[(&str, i64)]) -> Value {
    let lines: Vec<_> = lines.iter().map(|(sku, qty)| json!({ "sku": sku, "qty": qty })).collect();
    json!({ "event_id": event_id, "order_ref": order_ref, "lines": lines })
}

fn two_lines(event_id: &str, order_ref: &str) -> Value {
    json!({ "event_id": event_id, "order_ref": order_ref, "lines": [{ "sku": "A", "qty": 5 }, { "sku": "B", "qty": 1 }] })
}

async fn stock(shop: &Shop) {
    shop.count("A", "main", 10).await;
    shop.count("B", "main", 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_can_be_cancelled_in_every_state() {
    let stage = Stage::open_with("sweeper.max_interval_ms = 10").await;
    let shop = &stage.shop;
    stock(shop).await;
    let mut confirmed = order("o2", "confirmed", "A");
    confirmed["payment"] = json!("on_delivery");
    shop.ask("order.created.web", order("o1", "held", "A")).await;
    shop.ask("order.created.web", confirmed).await;
    shop.ask("order.created.web", order("o3", "expired", "A")).await;
    shop.ask("order.created.web", order("o4", "rejected", "GHOST")).await;
    shop.end_hold("expired").await;
    shop.wait_for("RESERVATIONS", 5).await;

    let cases = [
        ("c1", "held", "released", false, Some(line("A", "main", 1, "released")), "cancelled"),
        ("c2", "held", "released", true, Some(line("A", "main", 1, "released")), "cancelled"),
        ("c3", "confirmed", "released", false, Some(line("A", "main", 1, "released")), "cancelled"),
        ("c4", "expired", "expired", true, Some(line("A", "main", 1, "expired")), "hold_ended"),
        ("c5", "rejected", "rejected", true, None, "unknown_sku"),
    ];
    for (id, order_ref, what, duplicate, line, reason) in cases {
        let told = shop.ask("order.cancelled.web", cancel(id, order_ref)).await;
        assert_eq!(told.subject, format!("reservation.{what}.web"));
        let lines: Vec<Value> = line.into_iter().collect();
        let mut expected = json!({ "channel": "web", "order_ref": order_ref, "in_reply_to": id, "duplicate": duplicate,
                                   "lines": lines, "reason": reason });
        if what == "rejected" {
            expected["shortages"] = told.body["shortages"].clone();
        }
        assert_eq!(plain(&told), expected, "{id}");
    }
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 0);
    let words = "SELECT string_agg(reason, ';') FROM reservation_event WHERE to_state = 'released'";
    assert_eq!(shop.text(words).await.unwrap(), "customer <b>changed</b> mind;customer <b>changed</b> mind");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_given_back_again_and_again_until_nothing_is_left() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    stock(shop).await;
    shop.ask("order.created.web", two_lines("o1", "1")).await;
    let steps = [
        ("c1", &[("A", 2)][..], json!([line("A", "main", 3, "held"), line("B", "main", 1, "held")]), 3),
        ("c2", &[("A", 1), ("A", 1)], json!([line("A", "main", 1, "held"), line("B", "main", 1, "held")]), 1),
        ("c3", &[("A", 1)], json!([line("A", "main", 1, "released"), line("B", "main", 1, "held")]), 0),
        ("c4", &[("B", 1)], json!([line("A", "main", 1, "released"), line("B", "main", 1, "released")]), 0),
    ];
    for (id, lines, left, reserved) in steps {
        let told = shop.ask("order.cancelled.web", cancel_part(id, "1", lines)).await;
        assert_eq!(told.body["lines"], left, "{id}");
        assert_eq!((&told.body["duplicate"], &told.body["reason"]), (&json!(false), &json!("cancelled")));
        assert_eq!(shop.figures("A", "main").await.unwrap().reserved, reserved, "{id}");
    }
    assert_eq!(shop.text("SELECT state FROM sales_order").await.unwrap(), "released");
    let steps = "SELECT string_agg(concat(from_state, '>', to_state, ' ', qty), ', ' ORDER BY id) FROM reservation_event WHERE sku = 'A'";
    assert_eq!(shop.text(steps).await.unwrap(), ">held 5, held>held -2, held>held -2, held>released -1");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_is_outstanding_is_refused_whole_and_decided_afresh_when_it_comes_again() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    stock(shop).await;
    shop.ask("order.created.web", two_lines("o1", "1")).await;
    let slot = json!([{ "resource": "room", "from": "2027-01-01T10:00:00Z", "to": "2027-01-01T11:00:00Z" }]);
    let mut of_slot = cancel("c3", "1");
    of_slot["lines"] = slot;
    let bad = [
        cancel_part("c1", "1", &[("B", 1), ("A", 6)]),
        cancel_part("c2", "1", &[("A", 1), ("C", 1)]),
        of_slot,
        cancel_part("c4", "1", &[("A", 3), ("A", 3)]),
    ];
    for bad in bad {
        shop.say("order.cancelled.web", bad).await;
    }
    shop.settled().await;
    let words = ["c1", "c2", "c3", "c4"].map(|id| ("over_cancel".to_owned(), id.to_owned()));
    assert_eq!(shop.dead().await, words);
    assert_eq!(shop.figures("A", "main").await.unwrap(), Figures { on_hand: 10, reserved: 5, version: 2 });

    let told = shop.ask("order.cancelled.web", cancel_part("c1", "1", &[("B", 1), ("A", 5)])).await;
    assert_eq!((told.what(), &told.body["duplicate"]), ("released", &json!(false)));
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 0);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_comes_first_waits_and_is_applied_when_its_order_comes() {
    let stage = Stage::open_with(PATIENT).await;
    stock(&stage.shop).await;
    // In another batch, and redelivered while it waits and afterwards.
    let shop = &stage.shop;
    shop.say("order.cancelled.web", cancel("c1", "1")).await;
    shop.say("order.cancelled.web", cancel("c1", "1")).await;
    shop.say("order.cancelled.web", cancel_part("c2", "2", &[("A", 2)])).await;
    shop.say("order.cancelled.web", cancel_part("c3", "2", &[("A", 9)])).await;
    shop.say("order.cancelled.web", cancel("c4", "rejected")).await;
    shop.settled().await;
    assert_eq!(shop.stream("RESERVATIONS").await.len(), 0, "nothing is answered before");
    assert_eq!(shop.number("SELECT count(*) FROM sales_order WHERE state = 'awaited'").await, 3);
    shop.audit().await;

    shop.ask("order.created.web", two_lines("o1", "1")).await;
    let told = shop.told_of("1").await;
    assert_eq!(told.iter().map(Told::what).collect::<Vec<_>>(), ["held", "released"]);
    assert_eq!(told[0].body["lines"], json!([line("A", "main", 5, "held"), line("B", "main", 1, "held")]));
    assert_eq!(told[1].body["in_reply_to"], "c1");
    assert_eq!(told[1].body["lines"], json!([line("A", "main", 5, "released"), line("B", "main", 1, "released")]));
    shop.say("order.cancelled.web", cancel("c1", "1")).await;

    shop.ask("order.created.web", two_lines("o2", "2")).await;
    let told = shop.told_of("2").await;
    assert_eq!(told.iter().map(|told| told.body["in_reply_to"].as_str().unwrap()).collect::<Vec<_>>(), ["o2", "c2"]);
    assert_eq!(told[1].body["lines"][0], line("A", "main", 3, "held"));
    shop.settled().await;
    assert_eq!(shop.dead().await, [("over_cancel".to_owned(), "c3".to_owned())]);

    shop.ask("order.created.web", order("o3", "rejected", "GHOST")).await;
    let told = shop.told_of("rejected").await;
    assert_eq!(told.iter().map(Told::what).collect::<Vec<_>>(), ["rejected", "rejected"]);
    assert_eq!((&told[1].body["in_reply_to"], &told[1].body["duplicate"]), (&json!("c4"), &json!(true)));
    assert_eq!(shop.told_of("1").await.len(), 2);
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);

    // In the same batch.
    let both =
        [("order.cancelled.web".to_owned(), cancel("c5", "5")), ("order.created.web".to_owned(), two_lines("o5", "5"))];
    stage.shop.in_one_batch(both.into()).await;
    let told = stage.shop.told_of("5").await;
    assert_eq!(told.iter().map(|told| told.body["in_reply_to"].as_str().unwrap()).collect::<Vec<_>>(), ["o5", "c5"]);
    assert_eq!(stage.shop.figures("A", "main").await.unwrap().reserved, 3);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prepaid_order_that_is_cancelled_is_paid_back_elsewhere_by_a_person() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    stock(shop).await;
    let mut prepaid = two_lines("o1", "1");
    prepaid["payment"] = json!("prepaid");
    shop.ask("order.created.web", prepaid).await;
    shop.ask("order.cancelled.web", cancel_part("c1", "1", &[("B", 1)])).await;
    shop.ask("order.cancelled.web", cancel("c2", "1")).await;
    shop.settled().await;
    let told = shop.stream("RESERVATIONS").await;
    let reviews: Vec<_> = told.iter().filter(|told| told.subject.starts_with("review.")).collect();
    assert_eq!(reviews.len(), 1, "one is open per kind and cause");
    assert_eq!(reviews[0].subject, "review.opened.refund_elsewhere");
    assert_eq!(reviews[0].body["subject"], json!({ "channel": "web", "order_ref": "1" }));
    stage.close().await;
}
