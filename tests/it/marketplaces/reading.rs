//! What a channel shows, and what it knows of us.

use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::Fault;
use lastunit::publish::{Card, ExternalWarehouse, Outcome, ReadFault};
use time::macros::datetime;

use super::bench::{Bench, WAREHOUSES};

pub async fn a_lie_is_seen_by_reading(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    assert_eq!(bench.tell("1", 5, 1).await, Outcome::Accepted);
    bench.simulator.arm_item(&bench.address("1"), Fault::Lie, 1);
    assert_eq!(bench.tell("1", 4, 2).await, Outcome::Accepted);
    assert_eq!(bench.observe(&["1"]).await, [Some(5)]);
}

pub async fn a_hand_edit_and_a_sale_are_read(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.set(&bench.address("1"), 9);
    assert_eq!(bench.observe(&["1"]).await, [Some(9)]);
    assert_eq!(bench.simulator.sell(&bench.address("1"), 2), 2);
    assert_eq!(bench.observe(&["1"]).await, [Some(7)]);
    assert_eq!(bench.simulator.sell(&bench.address("1"), 20), 7);
    assert_eq!(bench.observe(&["1"]).await, [Some(0)]);
}

pub async fn what_is_not_listed_is_none(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    assert_eq!(bench.observe(&[]).await, []);
    assert_eq!(bench.tell("1", 0, 1).await, Outcome::Accepted);
    assert_eq!(bench.observe(&["1", "2", "no number"]).await, [Some(0), None, None]);
    bench.simulator.hide_zeros(true);
    assert_eq!(bench.observe(&["1"]).await, [None]);
    let reads = bench.market.capabilities().reads.unwrap();
    assert_eq!(reads.absent_is_zero, kind.is_marketplace(), "as the settings have it by default");
}

pub async fn a_reading_that_fails_is_no_zero(kind: ChannelKind) {
    let bench = Bench::with(kind, |settings| settings.timeout_s = 1).await;
    assert_eq!(bench.tell("1", 5, 1).await, Outcome::Accepted);
    for fault in [Fault::Status(500), Fault::HalfBody, Fault::Cut, Fault::Drip, Fault::Throttled(Some(0))] {
        bench.simulator.arm_read(kind, fault.clone());
        let read = bench.market.observe(WAREHOUSES[0], &["1".to_owned()]).await;
        assert!(matches!(read, Err(ReadFault::Failed(_))), "{fault:?}: {read:?}");
    }
    // What is no number of units in the middle of a recount.
    bench.simulator.set(&bench.address("1"), -3);
    let read = bench.market.observe(WAREHOUSES[0], &["1".to_owned()]).await;
    assert!(matches!(&read, Err(ReadFault::Failed(why)) if why.contains("no number of units")), "{read:?}");
    bench.simulator.set(&bench.address("1"), 5);
    assert_eq!(bench.observe(&["1"]).await, [Some(5)]);
}

pub async fn a_reading_that_is_forbidden_halts(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm_read(kind, Fault::Status(403));
    let read = bench.market.observe(WAREHOUSES[0], &["1".to_owned()]).await;
    assert!(matches!(read, Err(ReadFault::Halted(_))), "{read:?}");
}

pub async fn the_catalogue_is_whole_or_not_to_be_had(kind: ChannelKind) {
    const NOW: time::OffsetDateTime = datetime!(2026-12-01 10:00 UTC);
    let bench = Bench::new(kind).await;
    if kind == ChannelKind::Webhook {
        assert_eq!(bench.market.cards().await, Err(ReadFault::Unsupported));
        assert_eq!(bench.market.warehouses().await, Err(ReadFault::Unsupported));
        assert_eq!(bench.market.credentials(NOW).await, Err(ReadFault::Unsupported));
        return;
    }
    // More than a page of Wildberries; exactly two at that, so that the last one is full.
    for id in 4..=200 {
        bench.simulator.add_item(kind, &id.to_string(), &format!("SKU-{id}"));
    }
    let mut cards = bench.market.cards().await.unwrap();
    cards.sort_by_key(|card| card.external_id.parse::<u32>().unwrap());
    let ids: Vec<String> = cards.iter().map(|card| card.external_id.clone()).collect();
    assert_eq!(ids, (1..=200).map(|id| id.to_string()).collect::<Vec<_>>());
    let Card { seller_code, .. } = &cards[11];
    assert_eq!(seller_code, if kind == ChannelKind::Ozon { "12" } else { "SKU-12" });
    let warehouse = |id: &str| ExternalWarehouse { id: id.into(), name: format!("warehouse {id}"), trouble: None };
    assert_eq!(bench.market.warehouses().await, Ok(WAREHOUSES.map(warehouse).to_vec()));
    let credentials = bench.market.credentials(NOW).await.unwrap();
    assert_eq!((credentials.expires_at, credentials.trouble), (Some(datetime!(2030-01-01 00:00 UTC)), None));
}
