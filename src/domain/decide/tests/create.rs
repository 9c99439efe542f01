//! A new order: held, confirmed or rejected.

use super::ask::{Besides, create, line, line_at, slot};
use super::world::World;
use crate::domain::EventId;
use crate::domain::PaymentMode::{OnDelivery, Online, Prepaid};

fn shop() -> World {
    World::with(&[("A", "main", 5), ("A", "far", 3), ("B", "main", 1)]).route("web", &["main", "far"])
}

#[test]
fn an_order_is_held_until_paid_or_confirmed_where_nobody_pays_first() {
    for (payment, state, end) in
        [(Online, "held", Some(60)), (Prepaid, "confirmed", None), (OnDelivery, "confirmed", None)]
    {
        let mut world = shop();
        assert_eq!(world.one(create("e1", "1", [line("A", 2)]).paid(payment)), state);
        assert_eq!(world.order("1"), format!("{state}: 2 A main {state}"));
        assert_eq!(world.ends_in("1"), end);
        assert_eq!(world.figures("A", "main"), (5, 2));
        assert_eq!(world.stock_told_last(), ["A main 5-2"]);
        let answer = &world.told[0];
        assert_eq!(answer.in_reply_to.as_ref().map(EventId::as_str), Some("e1"));
        assert_eq!(answer.expires_at.is_some(), state == "held");
    }
}

#[test]
fn a_hold_lasts_as_long_as_asked_within_the_bounds() {
    let asked = [(None, 60), (Some(1), 10), (Some(9), 10), (Some(10), 10), (Some(77), 77), (Some(200), 200)];
    for (asked, seconds) in asked.into_iter().chain([(Some(201), 200), (Some(u64::MAX), 200)]) {
        let mut world = shop();
        let order = create("e1", "1", [line("A", 1)]);
        world.one(asked.into_iter().fold(order, Besides::for_s));
        assert_eq!(world.ends_in("1"), Some(seconds), "asked for {asked:?}");
    }
}

#[test]
fn a_hold_runs_from_the_claim_of_its_order_and_that_of_a_retry_from_now() {
    let mut world = shop();
    world.lag_s = 2;
    world.take([create("e1", "1", [line("A", 1)]), create("e2", "2", [line("A", 9)])]);
    assert_eq!(world.ends_in("1"), Some(58));
    world.one(create("e3", "2", [line("A", 1)]));
    assert_eq!(world.ends_in("2"), Some(60));
}

#[test]
fn the_first_reason_that_applies_rejects() {
    let table = [
        // Lines, whether a slot too, whether orders are taken: the answer.
        (vec![line("X", 2)], false, true, "rejected unknown_sku X 2>0"),
        (vec![line("A", 1), line("X", 2), line("Y", 3)], false, true, "rejected unknown_sku X 2>0 Y 3>0"),
        (vec![line_at("X", 1, "nowhere")], true, false, "rejected unknown_sku X 1>0"),
        (vec![line_at("A", 1, "nowhere"), line("X", 1)], true, false, "rejected unknown_sku X 1>0"),
        (vec![line_at("A", 1, "nowhere")], true, false, "rejected unknown_warehouse A 1>0"),
        (vec![line_at("A", 1, "nowhere"), line("B", 9)], false, true, "rejected unknown_warehouse A 1>0"),
        (vec![line("A", 9)], true, false, "rejected unknown_resource room 0-1"),
        (vec![line("A", 9)], false, false, "rejected not_accepting"),
        (vec![line("A", 1)], false, false, "rejected not_accepting"),
        (vec![line("A", 9)], false, true, "rejected insufficient_stock A 9>5"),
    ];
    for (lines, with_slot, accepting, said) in table {
        let mut world = shop();
        world.policy.accept_orders = accepting;
        let order = create("e1", "1", lines);
        let order = if with_slot { order.with_slot(slot("room")) } else { order };
        assert_eq!(world.one(order), said);
        assert_eq!(world.order("1"), "rejected");
        assert_eq!(world.ends_in("1"), None);
        assert!(world.decision.stock.is_empty() && world.journal.is_empty(), "nothing is held");
    }
}

#[test]
fn shortages_name_the_short_lines_and_the_best_single_warehouse() {
    let table = [
        (vec![line("A", 6)], "A 6>5"),
        (vec![line("A", 8)], "A 8>5"),
        (vec![line_at("A", 4, "far")], "A 4>3"),
        (vec![line_at("B", 1, "far")], "B 1>0"),
        (vec![line("A", 1), line("B", 2)], "B 2>1"),
        (vec![line("A", 6), line("B", 2)], "A 6>5 B 2>1"),
        (vec![line("A", 5), line_at("B", 7, "main")], "B 7>1"),
    ];
    for (lines, short) in table {
        let mut world = shop();
        assert_eq!(world.one(create("e1", "1", lines)), format!("rejected insufficient_stock {short}"));
    }
}

#[test]
fn what_is_reserved_is_not_available() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 3)]));
    assert_eq!(world.one(create("e2", "2", [line("A", 4)])), "rejected insufficient_stock A 4>3");
    assert_eq!(world.one(create("e3", "3", [line("A", 3)])), "held");
    assert_eq!(world.order("3"), "held: 3 A far held");
}

#[test]
fn a_warehouse_of_a_map_is_known_before_anything_lies_there() {
    let mut world = World::with(&[("A", "main", 5)]).route("web", &["main", "planned"]);
    assert_eq!(world.one(create("e1", "1", [line_at("A", 1, "planned")])), "rejected insufficient_stock A 1>0");
}

#[test]
fn fifty_buyers_of_one_unit_make_one_hold_and_49_refusals() {
    let mut world = World::with(&[("A", "main", 1)]);
    let orders: Vec<_> = (0..50).map(|n| create(&format!("e{n}"), &format!("{n}"), [line("A", 1)])).collect();
    let said = world.take(orders);
    assert_eq!(said[0], "held");
    assert!(said[1..].iter().all(|said| said == "rejected insufficient_stock A 1>0"));
    assert_eq!(world.figures("A", "main"), (1, 1));
}

#[test]
fn an_order_that_was_sold_elsewhere_and_cannot_be_held_needs_a_person() {
    let table =
        [("web", Online, 0), ("web", OnDelivery, 0), ("web", Prepaid, 1), ("ozon", Online, 1), ("ozon", Prepaid, 1)];
    for (channel, payment, reviews) in table {
        let mut world = World::with(&[("A", "main", 1)]);
        let order = |id, qty| create(id, id, [line("A", qty)]).paid(payment).on(channel);
        assert_eq!(world.one(order("e1", 2)), "rejected insufficient_stock A 2>1");
        let kinds: Vec<_> = world.decision.reviews.iter().map(|review| review.kind.word()).collect();
        assert_eq!(kinds, vec!["oversold"; reviews], "{channel}, {payment:?}");
        world.one(order("e2", 1));
        assert!(world.decision.reviews.is_empty(), "what was held needs nobody");
    }
}

#[test]
fn a_refusal_names_the_rows_that_due_holds_may_stand_on() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 9), line_at("B", 2, "main")]));
    let short: Vec<_> = world.decision.short.iter().map(|key| format!("{} {}", key.sku, key.warehouse)).collect();
    assert_eq!(short, ["A far", "A main", "B main"]);
}
