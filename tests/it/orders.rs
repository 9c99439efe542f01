//! Orders through the streams: held, rejected, repeated, cancelled, expired.

use std::collections::HashMap;

use serde_json::json;

use crate::support::{Figures, Ground, Launch, Shop, order};

/// Fifty buyers of one unit through two copies.
#[tokio::test(flavor = "multi_thread")]
async fn one_unit_goes_to_one_of_fifty_buyers() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let (_first, _second) = (launch.ready(&["run"]).await, launch.ready(&["run"]).await);
    let shop = Shop::open(&ground).await;
    shop.count("COFFEE-GRINDER", "main", 1).await;

    let buyers =
        (0..50).map(|n| ("order.created.web".to_owned(), order(&format!("e{n}"), &format!("o{n}"), "COFFEE-GRINDER")));
    shop.say_many(buyers).await;
    shop.settled().await;

    let mut tally: HashMap<String, usize> = HashMap::new();
    for told in shop.stream("RESERVATIONS").await {
        *tally.entry(told.what().to_owned()).or_default() += 1;
    }
    assert_eq!(tally, HashMap::from([("held".into(), 1), ("rejected".into(), 49)]));
    let figures = shop.figures("COFFEE-GRINDER", "main").await.unwrap();
    assert_eq!(figures, Figures { on_hand: 1, reserved: 1, version: 2 });
    shop.audit().await;
}

/// The same order ten times under ten event ids.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_order_ten_times_is_one_reservation_and_nine_equal_answers() {
    let ground = Ground::new().await;
    let _program = Launch::new(&ground).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 5).await;
    for n in 0..10 {
        shop.say("order.created.web", order(&format!("e{n}"), "1001", "A")).await;
    }
    shop.settled().await;
    let told = shop.stream("RESERVATIONS").await;
    assert_eq!(told.len(), 10);
    for (n, told) in told.iter().enumerate() {
        assert_eq!(told.what(), "held");
        assert_eq!(told.body["in_reply_to"], format!("e{n}"));
        assert_eq!(told.body["duplicate"], n > 0);
        assert_eq!(told.body["expires_at"], told.body["expires_at"]);
        assert_eq!(
            told.body["lines"],
            json!([{ "sku": "A", "warehouse": "main", "qty": 1, "shipped_qty": 0, "returned_qty": 0, "state": "held" }])
        );
    }
    assert_eq!(shop.number("SELECT count(*) FROM reservation").await, 1);
    assert_eq!(shop.figures("A", "main").await.unwrap().reserved, 1);
    shop.audit().await;
}
