//! What comes back.

use serde_json::json;

use super::{Stage, line, lines, parcel, plain, returned};

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_back_goes_on_the_shelf_unless_it_is_damaged() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    shop.ask("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 3), ("B", 1)])).await;
    // To a warehouse that nobody knew.
    let back = returned("b1", "1", &[("A", 1, "resellable"), ("A", 1, "damaged"), ("B", 1, "damaged")]);
    let told = shop.ask("shipment.returned.new", back).await;
    let expected = json!({
        "channel": "web", "order_ref": "1", "in_reply_to": "b1", "duplicate": false,
        "lines": [line("A", "main", (3, 3, 2), "shipped"), line("B", "main", (1, 1, 1), "shipped")],
    });
    assert_eq!((told.subject.as_str(), plain(&told)), ("reservation.returned.web", expected));
    assert_eq!((shop.shelf("A", "new").await, shop.shelf("A", "main").await), ((1, 0), (2, 0)));
    assert_eq!(shop.figures("B", "new").await, None);
    assert_eq!(shop.moved("returned").await, [("A".into(), "new".into(), 1, "b1".into())]);
    let journal = "SELECT string_agg(concat_ws(' ', sku, warehouse, kind, qty, event_id), ', ' ORDER BY id)
                   FROM parcel_line WHERE kind <> 'shipped'";
    let expected = "A new returned 1 b1, A new damaged 1 b1, B new damaged 1 b1";
    assert_eq!(shop.text(journal).await.as_deref(), Some(expected));
    shop.settled().await;
    let told = shop.stream("STOCK").await;
    assert_eq!(told.last().unwrap().subject, "stock.changed.new.A");

    let two = returned("b2", "1", &[("A", 2, "resellable")]);
    shop.say("shipment.returned.main", two).await;
    shop.say("shipment.returned.main", returned("b3", "1", &[("C", 1, "resellable")])).await;
    shop.wait_for("DEAD", 2).await;
    assert_eq!(shop.dead().await, ["b2", "b3"].map(|id| ("over_return".to_owned(), id.to_owned())));
    assert_eq!(shop.figures("C", "main").await, None, "a refused return makes no row");
    let last = shop.ask("shipment.returned.main", returned("b4", "1", &[("A", 1, "resellable")])).await;
    assert_eq!(lines(&last)[0], line("A", "main", (3, 3, 3), "shipped"));
    assert_eq!(shop.shelf("A", "main").await, (3, 0));
    assert_eq!(shop.number("SELECT count(*) FROM review_item").await, 0);
    stage.close().await;
}

/// Return, cancel and return again give back no more than was sold.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_cancelled_and_comes_back_there_are_never_more_than_there_were() {
    let stage = Stage::with_a_confirmed_order().await;
    let shop = &stage.shop;
    shop.ask("shipment.dispatched.main", parcel("s1", "S-1", "1", &[("A", 2)])).await;
    shop.ask("shipment.returned.main", returned("b1", "1", &[("A", 2, "resellable")])).await;
    shop.ask("order.cancelled.web", json!({ "event_id": "c1", "order_ref": "1" })).await;
    shop.say("shipment.returned.main", returned("b2", "1", &[("A", 1, "resellable")])).await;
    shop.wait_for("DEAD", 1).await;
    assert_eq!(shop.dead().await, [("over_return".to_owned(), "b2".to_owned())]);
    assert_eq!((shop.shelf("A", "main").await, shop.shelf("B", "main").await), ((5, 0), (2, 0)));
    stage.close().await;
}
