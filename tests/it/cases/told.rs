//! Every transition is told, with the row's figures, once, in the order of the commits.

use lastunit::store::outbox::{self, Entry, Lane, Parcel};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::{PATIENT, Stage};
use crate::support::{Figures, Shop, order, wait_until};

async fn last_figures(shop: &Shop) -> (usize, Figures) {
    shop.settled().await;
    let told = shop.stream("STOCK").await;
    let body = &told.last().unwrap().body;
    let number = |field: &str| body[field].as_i64().unwrap();
    assert_eq!(number("available"), number("on_hand") - number("reserved"));
    (told.len(), Figures { on_hand: number("on_hand"), reserved: number("reserved"), version: number("version") })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_transition_is_told_once_with_the_figures_of_the_row() {
    let stage = Stage::open_with("sweeper.max_interval_ms = 10").await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    let mut held = order("o1", "1", "A");
    held["lines"][0]["qty"] = json!(4);
    let mut confirmed = order("o2", "2", "A");
    confirmed["payment"] = json!("prepaid");
    let part = json!({ "event_id": "c1", "order_ref": "1", "lines": [{ "sku": "A", "qty": 1 }] });
    let steps: [(&str, Value, i64, i64); 9] = [
        ("order.created.web", held, 10, 4),
        ("order.created.web", confirmed, 10, 5),
        ("order.cancelled.web", part, 10, 4),
        ("end of hold", json!(null), 10, 1),
        ("order.renewed.web", json!({ "event_id": "r1", "order_ref": "1" }), 10, 4),
        ("order.cancelled.web", json!({ "event_id": "c2", "order_ref": "1" }), 10, 1),
        ("order.cancelled.web", json!({ "event_id": "c3", "order_ref": "2" }), 10, 0),
        ("inventory.received.main", json!({ "event_id": "i1", "lines": [{ "sku": "A", "qty": 1 }] }), 11, 0),
        ("inventory.written_off.main", json!({ "event_id": "i2", "lines": [{ "sku": "A", "qty": 11 }] }), 0, 0),
    ];
    for (n, (subject, body, on_hand, reserved)) in steps.into_iter().enumerate() {
        let version = i64::try_from(n).unwrap() + 2;
        if body.is_null() {
            shop.end_hold("1").await;
        } else {
            shop.say(subject, body).await;
        }
        shop.wait_for("STOCK", n + 2).await;
        let expected = Figures { on_hand, reserved, version };
        assert_eq!(last_figures(shop).await, (n + 2, expected), "{subject}");
        assert_eq!(shop.figures("A", "main").await.unwrap(), expected, "{subject}");
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_committed_together_shares_one_event() {
    let stage = Stage::open_with(PATIENT).await;
    let shop = &stage.shop;
    shop.count("A", "main", 1000).await;
    let orders = (0..300).map(|n| ("order.created.web".to_owned(), order(&format!("e{n}"), &format!("o{n}"), "A")));
    shop.in_one_batch(orders.collect()).await;
    let told = shop.stream("STOCK").await;
    let told: Vec<_> = told.iter().filter(|told| told.subject == "stock.changed.main.A").collect();
    let transactions = shop.number("SELECT count(DISTINCT xmin::text) FROM reservation WHERE sku = 'A'").await;
    assert!(transactions < 300, "{transactions}");
    assert_eq!(i64::try_from(told.len()).unwrap(), 1 + transactions, "one of the count, and one a transaction");
    let figures = Figures { on_hand: 1000, reserved: 300, version: 1 + transactions };
    assert_eq!(shop.figures("A", "main").await.unwrap(), figures);
    let held = shop.stream("RESERVATIONS").await.into_iter().filter(|told| told.subject == "reservation.held.web");
    assert_eq!(held.count(), 300);
    stage.close().await;
}

/// The figures are what they were, and yet they changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_given_back_in_the_same_batch_is_told_all_the_same() {
    let stage = Stage::open_with(PATIENT).await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    let both = [
        ("order.created.web".to_owned(), order("o1", "1", "A")),
        ("order.cancelled.web".to_owned(), json!({ "event_id": "c1", "order_ref": "1" })),
    ];
    shop.in_one_batch(both.into()).await;
    let transactions = shop.number("SELECT count(DISTINCT xmin::text) FROM reservation_event WHERE sku = 'A'").await;
    let figures = Figures { on_hand: 5, reserved: 0, version: 1 + transactions };
    assert_eq!(shop.figures("A", "main").await.unwrap(), figures, "the version grows with every change");
    stage.close().await;
}

/// Ids are given in one order, commits come in another.
#[tokio::test(flavor = "multi_thread")]
async fn what_commits_late_with_an_earlier_id_is_not_skipped() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    let now = OffsetDateTime::UNIX_EPOCH;
    let late = Parcel {
        at_us: 0,
        entries: vec![Entry::Event {
            event_id: uuid::Uuid::from_u128(7),
            subject: "reservation.held.late",
            body: b"{\"order_ref\":\"late\"}",
            traceparent: None,
        }],
    };
    let mut slow = shop.db.begin().await.unwrap();
    outbox::insert_many(&mut slow, &[(Lane::Reservations, late)], now).await.unwrap();
    for n in 0..3 {
        shop.ask("order.created.web", order(&format!("e{n}"), &format!("o{n}"), "A")).await;
    }
    slow.commit().await.unwrap();
    wait_until("the late one to be told", super::PATIENCE, async || !shop.told_of("late").await.is_empty()).await;
    shop.ask("order.created.web", order("e3", "o3", "A")).await;
    shop.settled().await;
    assert_eq!(shop.stream("RESERVATIONS").await.len(), 5);
    stage.close().await;
}

/// The same with more rows between than the relay looks back.
#[tokio::test(flavor = "multi_thread")]
async fn what_commits_very_late_is_not_skipped_either() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 10).await;
    let mut slow = shop.db.begin().await.unwrap();
    let body = b"{\"order_ref\":\"late\"}";
    let subject = "reservation.held.late";
    let late = Entry::Event { event_id: uuid::Uuid::from_u128(7), subject, body, traceparent: None };
    let late = Parcel { at_us: 0, entries: vec![late] };
    outbox::insert_many(&mut slow, &[(Lane::Reservations, late)], OffsetDateTime::UNIX_EPOCH).await.unwrap();
    shop.number("SELECT setval('outbox_number', nextval('outbox_number') + 100000)").await;
    for n in 0..3 {
        shop.ask("order.created.web", order(&format!("e{n}"), &format!("o{n}"), "A")).await;
    }
    slow.commit().await.unwrap();
    wait_until("the late one to be told", super::PATIENCE, async || !shop.told_of("late").await.is_empty()).await;
    shop.settled().await;
    assert_eq!(shop.stream("RESERVATIONS").await.len(), 4);
    stage.close().await;
}
