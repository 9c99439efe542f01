//! Shipped from another warehouse than reserved.

use serde_json::json;

use super::{Stage, line, lines, parcel, plain};

#[tokio::test(flavor = "multi_thread")]
async fn units_that_are_free_elsewhere_leave_there_and_the_hold_is_given_back() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    shop.count("A", "far", 2).await;
    let shipped = shop.ask("shipment.dispatched.far", parcel("s1", "S-1", "1", &[("A", 2)])).await;
    assert_eq!(
        *lines(&shipped),
        json!([line("A", "main", (3, 2, 0), "confirmed"), line("B", "main", (1, 0, 0), "confirmed")])
    );
    assert_eq!((shop.shelf("A", "far").await, shop.shelf("A", "main").await), ((0, 0), (5, 1)));
    assert_eq!(shop.moved("shipped").await, [("A".into(), "far".into(), -2, "s1".into())]);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn units_that_are_not_free_there_ask_a_person_and_nothing_is_half_done() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    shop.count_many(&[("A", 1), ("B", 5)], "far").await;
    let body = parcel("s1", "S-1", "1", &[("B", 1), ("A", 2)]);
    shop.say("shipment.dispatched.far", body.clone()).await;
    // A redelivery asks nobody again.
    shop.say("shipment.dispatched.far", body.clone()).await;
    shop.settled().await;
    let told = shop.stream("RESERVATIONS").await;
    let reviews: Vec<_> = told.iter().filter(|told| told.subject.starts_with("review.")).collect();
    assert_eq!(reviews.len(), 1);
    let mut review = plain(reviews[0]);
    let id = review["review_id"].take().as_i64().unwrap();
    let detail = "2 of sku A left warehouse far for order 1 of channel web, which holds them in warehouse main; 1 are free in far";
    let subject =
        json!({ "subject": "shipment.dispatched.far", "event_id": "s1", "rows": [{ "sku": "A", "warehouse": "far" }] });
    let expected = json!({ "review_id": null, "kind": "shipped_elsewhere", "subject": subject, "detail": detail });
    assert_eq!(review, expected);
    let kept: (String, Vec<u8>) = sqlx::query_as("SELECT subject, body FROM waiting_message WHERE review_id = $1")
        .bind(id)
        .fetch_one(&shop.db)
        .await
        .unwrap();
    assert_eq!(kept, ("shipment.dispatched.far".to_owned(), body.to_string().into_bytes()));
    assert_eq!((shop.shelf("A", "far").await, shop.shelf("B", "far").await), ((1, 0), (5, 0)));
    assert_eq!((shop.shelf("A", "main").await, shop.shelf("B", "main").await), ((5, 3), (2, 1)));
    assert_eq!(shop.moved("shipped").await, []);

    shop.say("shipment.dispatched.nowhere", parcel("s2", "S-2", "1", &[("A", 1)])).await;
    shop.wait_for("DEAD", 1).await;
    assert_eq!(shop.dead().await, [("unknown_warehouse".to_owned(), "s2".to_owned())]);
    stage.close().await;
}

/// It waited for its order, and waits for a person now.
#[tokio::test(flavor = "multi_thread")]
async fn an_early_parcel_that_cannot_leave_there_is_put_before_a_person() {
    let stage = Stage::open().await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.count("A", "far", 1).await;
    shop.say("shipment.dispatched.far", parcel("s1", "S-1", "1", &[("A", 2)])).await;
    shop.waiting(1).await;
    shop.ask("order.created.web", crate::support::Shop::confirmed("e1", "1", &[("A", 3)])).await;
    shop.settled().await;
    assert_eq!(shop.reviews_opened().await, ["shipped_elsewhere"]);
    let waits = "SELECT count(*) FROM waiting_message JOIN review_item ON review_item.id = waiting_message.review_id
                 WHERE waiting_message.event_id = 's1' AND order_ref IS NULL AND resolved_at IS NULL";
    assert_eq!(shop.number(waits).await, 1);
    assert_eq!((shop.shelf("A", "far").await, shop.shelf("A", "main").await), ((1, 0), (5, 3)));
    stage.close().await;
}
