//! The shopper is back.

use super::ask::{Besides, cancel, cancel_some, create, line, line_at, order, renew};
use super::world::World;
use crate::domain::PaymentMode;

fn shop() -> World {
    World::with(&[("A", "main", 3), ("A", "far", 3), ("B", "main", 2)]).route("web", &["main", "far"])
}

/// An order of two A and one B, whose hold ended.
fn ended() -> World {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 2), line("B", 1)]));
    world.pass(60);
    world
}

#[test]
fn a_hold_ends_at_the_later_of_its_end_and_the_one_asked_for_up_to_the_longest() {
    let table = [
        // Seconds gone since it was held for 60; asked for: seconds left, and the answer.
        (0, None, 60, "held duplicate"),
        (0, Some(59), 60, "held duplicate"),
        (0, Some(61), 61, "held"),
        (30, Some(1), 30, "held duplicate"),
        (30, None, 60, "held"),
        (55, Some(1), 10, "held"),
        (30, Some(170), 170, "held"),
        (30, Some(1000), 170, "held"),
        (59, Some(200), 141, "held"),
    ];
    for (gone, asked, left, said) in table {
        let mut world = shop();
        world.one(create("e1", "1", [line("A", 1)]));
        world.pass(gone);
        assert_eq!(world.one(asked.into_iter().fold(renew("e2", "1"), Besides::for_s)), said, "{gone} s, {asked:?}");
        assert_eq!(world.ends_in("1"), Some(left), "{gone} s, {asked:?}");
        assert!(world.decision.stock.is_empty() && world.decision.journal.is_empty());
    }
}

#[test]
fn renewals_never_pass_the_longest_hold_and_never_shorten_it() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 1)]));
    for id in ["r1", "r2", "r3", "r4"] {
        world.pass(49);
        world.one(renew(id, "1"));
    }
    assert_eq!(world.ends_in("1"), Some(4), "196 of 200 seconds are gone");
    assert_eq!(world.one(renew("r5", "1").for_s(200)), "held duplicate");
    world.pass(4);
    assert_eq!(world.one(renew("r6", "1").for_s(30)), "held", "it ended, and is had again");
    assert_eq!(world.ends_in("1"), Some(30));
    world.pass(20);
    world.one(renew("r7", "1").for_s(200));
    assert_eq!(world.ends_in("1"), Some(180), "held since starts anew when an order is had again");
}

#[test]
fn an_ended_hold_is_had_again_in_the_same_warehouse_first() {
    let mut world = ended();
    assert_eq!(world.one(renew("e2", "1").for_s(30)), "held");
    assert_eq!(world.told_last(), ["1 expired hold_ended", "1 held"]);
    assert_eq!(world.order("1"), "held: 2 A main held, 1 B main held");
    assert_eq!(world.ends_in("1"), Some(30));
    assert_eq!(world.one(renew("e2", "1")), "silence");

    // Held in `far` because `main` was taken; `main` is free again, and `far` is still tried first.
    let mut world = shop();
    world.take([create("x", "9", [line_at("A", 3, "main")]), create("e1", "1", [line("A", 2)]), cancel("y", "9")]);
    world.pass(60);
    assert_eq!(world.one(renew("e2", "1")), "held");
    assert_eq!(world.order("1"), "held: 2 A far held");
}

#[test]
fn the_same_warehouse_comes_first_even_if_it_no_longer_serves_the_channel() {
    let mut world = ended().route("web", &["far"]);
    assert_eq!(world.one(renew("e2", "1")), "held");
    assert_eq!(world.order("1"), "held: 2 A main held, 1 B main held");

    let mut world = ended().route("web", &["far"]);
    world.one(create("e2", "2", [line_at("B", 2, "main"), line_at("A", 2, "far")]));
    world.one(create("e3", "3", [line_at("A", 2, "main")]));
    assert_eq!(world.one(renew("e4", "1")), "expired duplicate hold_ended A 2>1 B 1>0");
    world.one(cancel_some("e5", "2", &[("A", 2)]));
    assert_eq!(world.one(renew("e6", "1")), "expired duplicate hold_ended B 1>0");
    let short: Vec<_> = world.decision.short.iter().map(|key| format!("{} {}", key.sku, key.warehouse)).collect();
    assert_eq!(short, ["B far", "B main"]);
}

#[test]
fn else_it_is_had_again_where_a_new_order_would_have_it() {
    let mut world = ended();
    world.one(create("e2", "2", [line_at("A", 2, "main")]));
    assert_eq!(world.one(renew("e3", "1")), "held");
    assert_eq!(world.order("1"), "held: 2 A far held, 1 B main held");
    assert_eq!((world.figures("A", "main"), world.figures("A", "far")), ((3, 2), (3, 2)));
}

#[test]
fn every_line_is_had_again_or_none() {
    let mut world = ended();
    world.one(create("e2", "2", [line("B", 2)]));
    assert_eq!(world.one(renew("e3", "1")), "expired duplicate hold_ended B 1>0");
    assert_eq!(world.order("1"), "expired: 2 A main expired, 1 B main expired");
    assert_eq!(world.figures("A", "main"), (3, 0));
    assert_eq!(world.take([cancel("e4", "2"), renew("e5", "1")]), ["released cancelled", "held"]);
}

#[test]
fn a_warehouse_that_the_order_named_stays() {
    let mut world = shop();
    world.one(create("e1", "1", [line_at("A", 2, "main")]));
    world.pass(60);
    world.one(create("e2", "2", [line_at("A", 2, "main")]));
    assert_eq!(world.one(renew("e3", "1")), "expired duplicate hold_ended A 2>1", "though `far` has three");
}

#[test]
fn a_cancelled_line_is_never_had_again() {
    // Cancelled before the hold ended.
    let mut world = shop();
    world.take([create("e1", "1", [line("A", 2), line("B", 1)]), cancel_some("e2", "1", &[("B", 1)])]);
    world.pass(60);
    assert_eq!(world.one(renew("e3", "1")), "held");
    assert_eq!(world.order("1"), "held: 2 A main held, 1 B main released");

    // Cancelled after it, in whole lines and in part.
    let mut world = ended();
    assert_eq!(world.one(cancel_some("e2", "1", &[("A", 1), ("B", 1)])), "expired duplicate hold_ended");
    assert_eq!(world.one(renew("e3", "1")), "held");
    assert_eq!(world.order("1"), "held: 1 A main held, 1 B main expired");
    assert_eq!(world.figures("A", "main"), (3, 1));
    assert_eq!(world.one(cancel_some("e4", "1", &[("B", 1)])), "dead over_cancel", "nothing of it is outstanding");
}

#[test]
fn a_cancelled_order_is_never_had_again() {
    let mut world = ended();
    assert_eq!(world.take([cancel("e2", "1"), renew("e3", "1")]), ["expired duplicate hold_ended"; 2]);
    let mut world = ended();
    world.one(cancel_some("e2", "1", &[("A", 2)]));
    world.one(cancel_some("e3", "1", &[("B", 5)]));
    assert_eq!(world.one(renew("e4", "1")), "expired duplicate hold_ended");
    let mut world = shop();
    world.take([create("e1", "1", [line("A", 2)]), cancel("e2", "1")]);
    assert_eq!(world.one(renew("e3", "1")), "released duplicate cancelled");
}

#[test]
fn anything_else_is_told_how_it_stands() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 9)]));
    assert_eq!(world.one(renew("e2", "1")), "rejected duplicate insufficient_stock");
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 1)]).paid(PaymentMode::Prepaid));
    assert_eq!(world.one(renew("e2", "1")), "confirmed duplicate");
    world.ship(&order("web", "1"), "A", 1);
    assert_eq!(world.one(renew("e3", "1")), "shipped duplicate");
}

#[test]
fn while_no_orders_are_taken_holds_are_prolonged_and_ended_ones_are_not_had_again() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 1)]));
    world.policy.accept_orders = false;
    assert_eq!(world.one(renew("e2", "1").for_s(90)), "held");
    world.pass(90);
    assert_eq!(world.one(renew("e3", "1")), "expired duplicate not_accepting");
    assert_eq!(world.order("1"), "expired: 1 A main expired");
    assert_eq!(world.one(cancel("e4", "1")), "expired duplicate hold_ended");
}
