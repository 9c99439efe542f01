//! What comes before its order waits, and is applied in the transaction in which the order comes.

use super::ask::{Besides, cancel, cancel_some, create, expire, line, renew, wake};
use super::world::World;
use crate::domain::Command;

fn shop() -> World {
    World::with(&[("A", "main", 3)])
}

/// What became of each, taken in one batch and each alone.
fn both_ways(commands: &[Command]) -> (Vec<String>, World) {
    let mut apart = shop();
    for command in commands {
        apart.one(command.clone());
    }
    let mut together = shop();
    together.take(commands);
    assert_eq!(
        (&together.fates, together.picture(), together.told_by_order()),
        (&apart.fates, apart.picture(), apart.told_by_order())
    );
    (apart.fates.clone(), apart)
}

#[test]
fn an_early_cancel_is_applied_right_after_the_order() {
    let (fates, mut world) = both_ways(&[cancel("c1", "1"), create("e1", "1", [line("A", 2)])]);
    assert_eq!(fates, ["released cancelled", "held"]);
    assert_eq!(world.order("1"), "released: 2 A main released");
    assert_eq!(world.figures("A", "main"), (3, 0));
    assert_eq!(world.one(cancel("c1", "1")), "silence");
    assert_eq!(world.one(renew("r1", "1")), "released duplicate cancelled");
}

#[test]
fn what_waits_is_applied_oldest_first_and_before_what_comes_next() {
    let (fates, world) = both_ways(&[
        cancel_some("c1", "1", &[("A", 1)]),
        renew("r1", "1").for_s(90),
        cancel_some("c2", "1", &[("A", 2)]),
        create("e1", "1", [line("A", 3)]),
        create("e2", "2", [line("A", 3)]),
        renew("r2", "1"),
    ]);
    let expected = ["released cancelled", "held", "released cancelled", "held", "held", "released duplicate cancelled"];
    assert_eq!(fates, expected);
    assert_eq!(world.told_by_order()["web/1"].len(), 5);
}

#[test]
fn while_it_waits_a_redelivery_is_met_with_silence() {
    let mut world = shop();
    assert_eq!(world.take([cancel("c1", "1"), cancel("c1", "1")]), ["waiting", "silence"]);
    assert_eq!(world.one(cancel("c1", "1")), "silence");
    world.one(create("e1", "1", [line("A", 1)]));
    assert_eq!(world.fates, ["released cancelled", "silence", "silence", "held"]);
}

#[test]
fn an_early_cancel_that_cannot_be_applied_is_refused_and_then_decided_afresh() {
    let again = cancel_some("c1", "1", &[("A", 3)]);
    let (fates, world) = both_ways(&[again.clone(), create("e1", "1", [line("A", 2)]), again]);
    assert_eq!(fates, ["dead over_cancel", "held", "dead over_cancel"]);
    assert_eq!(world.order("1"), "held: 2 A main held");
}

#[test]
fn a_redelivery_that_was_met_with_silence_does_not_make_a_refused_event_count() {
    let mut world = shop();
    let early = cancel_some("c1", "1", &[("A", 3)]);
    let said = world.take([early.clone(), early.clone(), create("e1", "1", [line("A", 2)])]);
    assert_eq!(said, ["dead over_cancel", "silence", "held"]);
    let forgotten: Vec<_> = world.decision.forgotten.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(forgotten, ["c1"]);
    assert_eq!(world.one(early), "dead over_cancel");
}

#[test]
fn what_waits_is_answered_when_the_order_is_rejected() {
    let (fates, mut world) = both_ways(&[cancel("c1", "1"), renew("r1", "1"), create("e1", "1", [line("A", 9)])]);
    let present = "rejected duplicate insufficient_stock";
    assert_eq!(fates, [present, present, "rejected insufficient_stock A 9>3"]);
    assert_eq!(world.one(create("e2", "1", [line("A", 1)])), "held", "the cancel was of what was rejected");
}

#[test]
fn only_the_order_itself_wakes_what_waits_for_it() {
    let mut world = shop();
    world.take([cancel("c1", "1"), create("e1", "2", [line("A", 1)]), create("e1", "1", [line("A", 1)]).on("ozon")]);
    assert_eq!(world.fates, ["waiting", "held", "held"]);
    world.take([expire("1"), wake("1"), renew("r1", "1")]);
    assert_eq!(world.fates[3..], ["attended", "attended", "waiting"]);
    assert_eq!(world.order("1"), "awaited");
    assert_eq!(world.one(create("e2", "1", [line("A", 1)])), "held");
    assert_eq!(world.fates[0], "released cancelled");
    assert_eq!(world.fates[5], "released duplicate cancelled");
}

#[test]
fn the_net_applies_what_still_waits_for_an_order_that_came() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 2)]));
    world.leave_waiting(cancel("c1", "1"));
    assert_eq!(world.one(wake("1")), "attended");
    assert_eq!(world.order("1"), "released: 2 A main released");
}
