//! The same again: redeliveries are met with silence, repeats are answered, conflicts refused, rejected orders tried again.

use super::ask::{Besides, cancel, create, line, line_at, received, renew, slot};
use super::world::World;
use crate::domain::{Outcome, PaymentMode};

fn shop() -> World {
    World::with(&[("A", "main", 5), ("B", "main", 1)])
}

#[test]
fn the_id_that_made_an_order_is_met_with_silence_whatever_became_of_it() {
    for apart in [true, false] {
        let mut world = shop();
        let order = create("e1", "1", [line("A", 2)]);
        let said = if apart {
            [world.one(order.clone()), world.one(order.clone())].to_vec()
        } else {
            world.take([order.clone(), order.clone()])
        };
        assert_eq!(said, ["held", "silence"]);
        world.one(cancel("e2", "1"));
        assert_eq!(world.one(order), "silence");
        assert_eq!(world.figures("A", "main"), (5, 0));
    }
    let mut world = shop();
    let order = create("e1", "1", [line("A", 9)]);
    assert_eq!(world.one(order.clone()), "rejected insufficient_stock A 9>5");
    world.one(received("e2", "main", &[("A", 9)]));
    assert_eq!(world.one(order), "silence", "a rejection is a decision");
}

#[test]
fn a_redelivery_is_told_the_present_state_only_if_it_asks_directly() {
    let mut world = shop();
    world.take([create("e1", "1", [line("A", 2)]), cancel("e2", "1")]);
    world.one(cancel("e2", "1"));
    assert!(world.decision.answers.is_empty());
    let [Outcome::Redelivered(Some(present))] = &world.decision.outcomes[..] else {
        panic!("no redelivery: {:?}", world.decision.outcomes);
    };
    assert_eq!(super::world::said(present), "released duplicate cancelled");
}

#[test]
fn the_same_content_under_a_new_id_is_answered_and_does_not_count_its_own_hold_against_itself() {
    let mut world = shop();
    let order = |id| create(id, "1", [line("A", 4), line("B", 1)]);
    assert_eq!(world.one(order("e1")), "held");
    assert_eq!(world.one(order("e2")), "held duplicate");
    assert_eq!(world.one(order("e2").for_s(99)), "silence");
    assert_eq!(world.one(order("e3").for_s(99)), "held duplicate", "hold_for_s is no content");
    assert_eq!(world.one(create("e4", "1", [line("B", 1), line("A", 4)])), "held duplicate", "nor is the sequence");
    assert_eq!(world.ends_in("1"), Some(60));
    assert_eq!(world.figures("A", "main"), (5, 4));
}

#[test]
fn a_repeat_is_answered_with_the_present_state_in_every_state() {
    let order = |id| create(id, "1", [line("A", 1)]);
    let mut world = shop();
    world.take([order("e1"), cancel("e2", "1")]);
    assert_eq!(world.one(order("e3")), "released duplicate cancelled");

    let mut world = shop();
    world.one(order("e1"));
    world.pass(60);
    assert_eq!(world.one(order("e3")), "expired duplicate hold_ended");

    let mut world = shop();
    world.one(order("e1").paid(PaymentMode::Prepaid));
    assert_eq!(world.one(order("e3").paid(PaymentMode::Prepaid)), "confirmed duplicate");
    world.ship(&super::ask::order("web", "1"), "A", 1);
    assert_eq!(world.one(order("e4").paid(PaymentMode::Prepaid)), "shipped duplicate");
}

#[test]
fn content_is_what_was_accepted_and_not_what_is_left_of_it() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 3)]));
    world.one(super::ask::cancel_some("e2", "1", &[("A", 1)]));
    assert_eq!(world.one(create("e3", "1", [line("A", 3)])), "held duplicate");
    assert_eq!(world.one(create("e4", "1", [line("A", 2)])), "dead conflicting_duplicate");
}

#[test]
fn other_content_is_a_conflict() {
    let order = || create("e2", "1", [line("A", 2)]).costing(100);
    let others = [
        order().paid(PaymentMode::OnDelivery),
        order().costing(101),
        create("e2", "1", [line("A", 2)]),
        create("e2", "1", [line("A", 1)]).costing(100),
        create("e2", "1", [line_at("A", 2, "main")]).costing(100),
        create("e2", "1", [line("A", 2), line("B", 1)]).costing(100),
        order().with_slot(slot("room")),
    ];
    for other in others {
        let mut world = shop();
        world.one(create("e1", "1", [line("A", 2)]).costing(100));
        assert_eq!(world.one(other.clone()), "dead conflicting_duplicate", "{other:?}");
        assert_eq!(world.order("1"), "held: 2 A main held");
        assert_eq!(world.one(order()), "held duplicate", "the refused id is decided afresh");
    }
}

#[test]
fn a_rejected_order_is_tried_again_with_whatever_content() {
    let mut world = shop();
    assert_eq!(world.one(create("e1", "1", [line("A", 9)])), "rejected insufficient_stock A 9>5");
    assert_eq!(world.one(create("e2", "1", [line("A", 8)])), "rejected insufficient_stock A 8>5");
    world.pass(7);
    assert_eq!(world.one(create("e3", "1", [line("A", 4)]).for_s(30)), "held");
    assert_eq!(world.ends_in("1"), Some(30), "its hold begins now");
    for id in ["e1", "e2", "e3"] {
        assert_eq!(world.one(create(id, "1", [line("A", 9)])), "silence", "{id} had its answer");
    }
    assert_eq!(world.one(create("e4", "1", [line("A", 4)])), "held duplicate");
    assert_eq!(world.one(create("e5", "1", [line("A", 9)])), "dead conflicting_duplicate");
}

#[test]
fn a_rejected_order_is_not_tried_while_none_are_taken() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 9)]));
    world.policy.accept_orders = false;
    assert_eq!(world.one(create("e2", "1", [line("A", 1)])), "rejected not_accepting");
    world.policy.accept_orders = true;
    assert_eq!(world.one(create("e3", "1", [line("A", 1)])), "held");
}

#[test]
fn an_order_that_has_not_come_is_decided_whatever_else_its_event_id_was_used_for() {
    let mut world = shop();
    assert_eq!(world.take([create("e1", "1", [line("A", 1)]), create("e1", "2", [line("A", 1)])]), ["held", "held"]);
    world.one(create("e2", "1", [line("A", 1)]));
    assert_eq!(world.one(create("e2", "3", [line("A", 1)])), "held");
    assert_eq!(world.one(create("e1", "1", [line("A", 1)])), "silence");
    assert_eq!(world.one(create("e2", "3", [line("A", 1)])), "silence");
}

#[test]
fn one_id_on_two_subjects_is_two_events() {
    let mut world = shop();
    let said = world.take([create("e", "1", [line("A", 1)]), renew("e", "1"), cancel("e", "1"), cancel("e", "1")]);
    assert_eq!(said, ["held", "held duplicate", "released cancelled", "silence"]);
    let said = world.one(create("e", "1", [line("A", 2)]).on("ozon"));
    assert_eq!(said, "held", "the same order_ref of another channel is another order");
}
