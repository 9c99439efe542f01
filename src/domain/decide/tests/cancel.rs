//! Cancels, whole and partial, in every state.

use super::ask::{Besides, cancel, cancel_some, create, line, order, slot};
use super::world::World;
use crate::domain::{CancelLine, Command, Kind, PaymentMode, Qty};

/// An order of three A and one B, in the given mode.
fn ordered(payment: PaymentMode) -> World {
    let mut world = World::with(&[("A", "main", 5), ("B", "main", 2)]);
    world.one(create("e1", "1", [line("A", 3), line("B", 1)]).paid(payment));
    world
}

fn held() -> World {
    ordered(PaymentMode::Online)
}

fn confirmed() -> World {
    ordered(PaymentMode::OnDelivery)
}

fn ship(world: &mut World, sku: &str, units: Qty) {
    world.ship(&order("web", "1"), sku, units);
}

#[test]
fn a_whole_cancel_gives_back_all_that_is_outstanding() {
    for mut world in [held(), confirmed()] {
        assert_eq!(world.one(cancel("e2", "1")), "released cancelled");
        assert_eq!(world.order("1"), "released: 3 A main released, 1 B main released");
        assert_eq!((world.figures("A", "main"), world.figures("B", "main")), ((5, 0), (2, 0)));
        assert_eq!(world.stock_told_last(), ["A main 5-0", "B main 2-0"]);
        assert_eq!(world.one(cancel("e2", "1")), "silence");
        assert_eq!(world.one(cancel("e3", "1")), "released duplicate cancelled");
    }
}

#[test]
fn a_partial_cancel_lowers_the_quantity_and_leaves_the_state() {
    for (mut world, state) in [(held(), "held"), (confirmed(), "confirmed")] {
        assert_eq!(world.one(cancel_some("e2", "1", &[("A", 1)])), "released cancelled");
        assert_eq!(world.order("1"), format!("{state}: 2 A main {state}, 1 B main {state}"));
        assert_eq!(world.figures("A", "main"), (5, 2));
        assert_eq!(world.one(cancel_some("e3", "1", &[("A", 1)])), "released cancelled", "two ids are two cancels");
        assert_eq!(world.one(cancel_some("e3", "1", &[("A", 1)])), "silence", "one id is one");
        assert_eq!(world.figures("A", "main"), (5, 1));
        assert_eq!(world.one(cancel_some("e4", "1", &[("A", 1), ("B", 1)])), "released cancelled");
        assert_eq!(world.order("1"), "released: 1 A main released, 1 B main released");
    }
}

#[test]
fn a_line_may_be_cancelled_while_the_others_stay() {
    let mut world = held();
    assert_eq!(world.one(cancel_some("e2", "1", &[("A", 3)])), "released cancelled");
    assert_eq!(world.order("1"), "held: 3 A main released, 1 B main held");
    assert_eq!(world.one(cancel_some("e3", "1", &[("A", 1)])), "dead over_cancel", "nothing of it is outstanding");
    assert_eq!(world.one(cancel("e4", "1")), "released cancelled");
    assert_eq!(world.order("1"), "released: 3 A main released, 1 B main released");
}

#[test]
fn more_than_is_outstanding_refuses_the_whole_message() {
    for named in [&[("A", 4)][..], &[("A", 1), ("B", 2)], &[("B", 1), ("C", 1)], &[("C", 1)]] {
        let mut world = held();
        assert_eq!(world.one(cancel_some("e2", "1", named)), "dead over_cancel", "{named:?}");
        assert_eq!(world.order("1"), "held: 3 A main held, 1 B main held");
        assert!(world.decision.stock.is_empty());
        assert_eq!(world.one(cancel_some("e2", "1", &[("A", 1)])), "released cancelled", "the id is decided afresh");
    }
}

#[test]
fn a_slot_that_is_not_in_the_order_is_an_over_cancel() {
    let mut world = held();
    let mut named: Command = cancel("e2", "1");
    if let Kind::Cancel(cancel) = &mut named.kind {
        cancel.lines = Some(vec![CancelLine::Slot(slot("room"))]);
    }
    assert_eq!(world.one(named), "dead over_cancel");
}

#[test]
fn what_has_shipped_is_not_given_back() {
    type Units = &'static [(&'static str, Qty)];
    let table: [(Units, Units, &str, &str); 7] = [
        // Shipped, cancelled (nothing means whole): the answer and the order.
        (&[("A", 1)], &[], "released cancelled", "shipped: 1 A main shipped (1 shipped), 1 B main released"),
        (&[("A", 3)], &[], "released cancelled", "shipped: 3 A main shipped (3 shipped), 1 B main released"),
        (
            &[("A", 3), ("B", 1)],
            &[],
            "dead over_cancel",
            "shipped: 3 A main shipped (3 shipped), 1 B main shipped (1 shipped)",
        ),
        (
            &[("A", 1)],
            &[("A", 1)],
            "released cancelled",
            "confirmed: 2 A main confirmed (1 shipped), 1 B main confirmed",
        ),
        (&[("A", 1)], &[("A", 2)], "released cancelled", "confirmed: 1 A main shipped (1 shipped), 1 B main confirmed"),
        (&[("A", 1)], &[("A", 3)], "dead over_cancel", "confirmed: 3 A main confirmed (1 shipped), 1 B main confirmed"),
        (&[("A", 3)], &[("A", 1)], "dead over_cancel", "confirmed: 3 A main shipped (3 shipped), 1 B main confirmed"),
    ];
    for (shipped, cancelled, said, left) in table {
        let mut world = confirmed();
        for (sku, units) in shipped {
            ship(&mut world, sku, *units);
        }
        let asked = if cancelled.is_empty() { cancel("e2", "1") } else { cancel_some("e2", "1", cancelled) };
        assert_eq!(world.one(asked), said, "{shipped:?} shipped, {cancelled:?} cancelled");
        assert_eq!(world.order("1"), left, "{shipped:?} shipped, {cancelled:?} cancelled");
    }
}

#[test]
fn partial_cancels_and_shipments_in_every_order_keep_the_counters_right() {
    type Act = fn(&mut World);
    let acts: [Act; 3] = [
        |world| ship(world, "A", 1),
        |world| assert_eq!(world.one(cancel_some("e2", "1", &[("A", 1)])), "released cancelled"),
        |world| assert_eq!(world.one(cancel_some("e3", "1", &[("B", 1)])), "released cancelled"),
    ];
    for [first, second, third] in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut world = confirmed();
        for act in [first, second, third] {
            acts[act](&mut world);
        }
        assert_eq!(world.order("1"), "confirmed: 2 A main confirmed (1 shipped), 1 B main released");
        assert_eq!((world.figures("A", "main"), world.figures("B", "main")), ((4, 1), (2, 0)));
        assert_eq!(world.one(cancel("e4", "1")), "released cancelled");
        assert_eq!(world.order("1"), "shipped: 1 A main shipped (1 shipped), 1 B main released");
        assert_eq!(world.figures("A", "main"), (4, 0));
        assert_eq!(world.one(cancel("e5", "1")), "dead over_cancel");
    }
}

#[test]
fn a_cancel_of_what_holds_nothing_is_answered() {
    let mut world = World::with(&[("A", "main", 1)]);
    world.one(create("e1", "1", [line("A", 2)]));
    for (id, named) in [("c1", &[][..]), ("c2", &[("A", 9)]), ("c3", &[("X", 1)])] {
        let asked = if named.is_empty() { cancel(id, "1") } else { cancel_some(id, "1", named) };
        assert_eq!(world.one(asked), "rejected duplicate insufficient_stock");
    }
    assert_eq!(world.one(create("e2", "1", [line("A", 1)])), "held", "a rejected order sent again is still tried");

    let mut world = held();
    world.pass(60);
    for (id, named) in [("c1", &[("A", 9)][..]), ("c2", &[("X", 1)]), ("c3", &[])] {
        let asked = if named.is_empty() { cancel(id, "1") } else { cancel_some(id, "1", named) };
        assert_eq!(world.one(asked), "expired duplicate hold_ended");
    }
    world.one(cancel("c4", "1"));
    assert!(world.decision.stock.is_empty(), "nothing is given back twice");
}

#[test]
fn the_cancellers_words_go_to_the_journal() {
    let mut world = held();
    world.take([cancel_some("e2", "1", &[("A", 1)]).because("too big"), cancel("e3", "1")]);
    let steps: Vec<_> = world.decision.journal.iter().map(|step| (step.reason.as_deref(), step.qty)).collect();
    assert_eq!(steps, [(Some("too big"), -1), (Some("cancelled"), -2), (Some("cancelled"), -1)]);
}

#[test]
fn what_was_paid_elsewhere_must_be_refunded_elsewhere() {
    for (payment, reviews) in [(PaymentMode::Prepaid, 1), (PaymentMode::OnDelivery, 0), (PaymentMode::Online, 0)] {
        for asked in [cancel("e2", "1"), cancel_some("e2", "1", &[("A", 1)])] {
            let mut world = ordered(payment);
            world.one(asked);
            let kinds: Vec<_> = world.decision.reviews.iter().map(|review| review.kind.word()).collect();
            assert_eq!(kinds, vec!["refund_elsewhere"; reviews]);
        }
    }
}
