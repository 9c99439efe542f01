//! What is told, and what is refused.

use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::Fault;
use lastunit::publish::{Item, Outcome};

use super::bench::{Bench, STRANGER, WAREHOUSES, item, wait_of, words};

pub async fn what_is_told_is_shown_and_read(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.market.ready().await;
    assert_eq!(words(&bench.push(&[item("1", 5, 1), item("2", 7, 1)]).await), ["accepted"; 2]);
    assert_eq!((bench.shown("1"), bench.shown("2")), (Some(5), Some(7)));
    assert_eq!(bench.observe(&["2", "3", "1"]).await, [Some(7), None, Some(5)]);
    let elsewhere = bench.market.observe(WAREHOUSES[1], &["1".to_owned()]).await;
    assert_eq!(elsewhere, Ok(vec![None]), "another warehouse shows none of it");
}

pub async fn zero_is_told(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    assert_eq!(bench.tell("1", 3, 1).await, Outcome::Accepted);
    assert_eq!(bench.tell("1", 0, 2).await, Outcome::Accepted);
    assert_eq!(bench.simulator.told(&bench.address("1")), [3, 0]);
    assert_eq!(bench.observe(&["1"]).await, [Some(0)]);
}

pub async fn the_same_number_is_told_again_after_another(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    for (version, qty) in [(1, 5), (2, 4), (3, 5)] {
        assert_eq!(bench.tell("1", qty, version).await, Outcome::Accepted);
    }
    assert_eq!(bench.simulator.told(&bench.address("1")), [5, 4, 5]);
}

pub async fn outcomes_keep_the_order_of_the_items(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    let outcomes = bench.push(&[item("2", 5, 1), item(STRANGER, 6, 1), item("1", 7, 1)]).await;
    let shown = [bench.shown("2"), bench.shown(STRANGER), bench.shown("1")];
    if bench.market.capabilities().one_warehouse_a_call {
        assert_eq!(words(&outcomes), ["again", "rejected", "again"]);
        assert_eq!(wait_of(&outcomes[0]), Some(std::time::Duration::ZERO));
        assert_eq!(shown, [None; 3], "nothing of a call with a refused item is taken");
    } else {
        assert_eq!(words(&outcomes), ["accepted", "rejected", "accepted"]);
        assert_eq!(shown, [Some(5), None, Some(7)]);
    }
}

pub async fn a_whole_batch_is_told_at_once(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    let most = bench.market.capabilities().max_batch;
    let ids: Vec<String> = (1..=most).map(|id| id.to_string()).collect();
    for id in &ids {
        bench.simulator.add_item(kind, id, id);
    }
    let items: Vec<Item> = ids.iter().map(|id| item(id, id.parse().unwrap(), 1)).collect();
    assert!(bench.push(&items).await.iter().all(|outcome| *outcome == Outcome::Accepted));
    assert_eq!(bench.simulator.pushes(kind), 1);
    let told: Vec<_> = items.iter().map(|item| Some(item.qty)).collect();
    assert_eq!(bench.market.observe(WAREHOUSES[0], &ids).await, Ok(told));
}

pub async fn an_item_or_warehouse_that_is_not_known_is_rejected(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    let elsewhere = |id: &str| Item { external_warehouse_id: id.to_owned(), ..item("1", 5, 1) };
    for stranger in [item(STRANGER, 5, 1), elsewhere(STRANGER), item("no number", 5, 1), elsewhere("no number")] {
        assert_eq!(words(&bench.push(std::slice::from_ref(&stranger)).await), ["rejected"], "{stranger:?}");
    }
    assert_eq!(bench.shown("1"), None);
}

pub async fn more_than_it_takes_is_told_as_what_it_takes(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    let most = bench.market.capabilities().max_qty;
    assert_eq!(bench.tell("1", most, 1).await, Outcome::Accepted);
    assert_eq!(bench.shown("1"), Some(most));
}

pub async fn a_refusal_that_names_nothing_is_split_and_alone_rejected(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm(kind, Fault::Unnamed);
    assert_eq!(words(&bench.push(&[item("1", 5, 1), item("2", 5, 1)]).await), ["split"; 2]);
    bench.simulator.arm(kind, Fault::Unnamed);
    assert_eq!(bench.tell("1", 5, 1).await.word(), "rejected");
    assert_eq!((bench.shown("1"), bench.shown("2")), (None, None));
}

pub async fn an_item_that_is_refused_is_rejected_with_its_reason(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    let code = match kind {
        ChannelKind::Ozon => "NON_KGT_ON_KGT_WAREHOUSE",
        ChannelKind::Wildberries => "CargoWarehouseRestrictionMGT",
        ChannelKind::Webhook => "not sold there",
    };
    bench.simulator.arm_item(&bench.address("2"), Fault::Refused(code), 1);
    let outcomes = bench.push(&[item("1", 5, 1), item("2", 5, 1)]).await;
    assert_eq!(outcomes[1].word(), "rejected");
    assert!(outcomes[1].reason().unwrap().contains(code), "{outcomes:?}");
    assert_ne!(outcomes[0].word(), "rejected");
    assert_eq!(
        words(&bench.push(&[item("1", 5, 1), item("2", 5, 1)]).await),
        ["accepted"; 2],
        "only as often as it was armed"
    );
}
