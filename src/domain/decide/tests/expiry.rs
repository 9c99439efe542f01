//! Holds end by the clock.

use super::ask::{Besides, cancel, cancel_some, create, expire, line, received, renew};
use super::world::World;
use crate::domain::PaymentMode;

fn shop() -> World {
    World::with(&[("A", "main", 2), ("B", "main", 1)])
}

#[test]
fn the_instant_itself_counts_as_expired() {
    for (gone, state) in [(59, "held"), (60, "expired"), (61, "expired")] {
        let mut world = shop();
        world.one(create("e1", "1", [line("A", 1)]));
        world.pass(gone);
        assert_eq!(world.one(expire("1")), "attended");
        assert_eq!(world.order("1"), format!("{state}: 1 A main {state}"), "after {gone} s");
    }
}

#[test]
fn an_order_expires_whole_and_is_told_once() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 2), line("B", 1)]));
    world.pass(60);
    world.take([expire("1"), expire("1")]);
    assert_eq!(world.told_last(), ["1 expired hold_ended"]);
    assert_eq!(world.order("1"), "expired: 2 A main expired, 1 B main expired");
    assert_eq!(world.stock_told_last(), ["A main 2-0", "B main 1-0"]);
    assert!(world.told.last().is_some_and(|answer| answer.in_reply_to.is_none() && !answer.duplicate));
    world.one(expire("1"));
    assert!(world.told_last().is_empty());
}

#[test]
fn a_line_that_was_cancelled_does_not_expire() {
    let mut world = shop();
    world.take([create("e1", "1", [line("A", 2), line("B", 1)]), cancel_some("e2", "1", &[("A", 1), ("B", 1)])]);
    world.pass(60);
    world.one(expire("1"));
    assert_eq!(world.order("1"), "expired: 1 A main expired, 1 B main released");
}

#[test]
fn what_is_confirmed_never_expires() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 2)]).paid(PaymentMode::OnDelivery));
    world.pass(100_000);
    world.one(expire("1"));
    assert_eq!(world.order("1"), "confirmed: 2 A main confirmed");
}

#[test]
fn a_due_hold_expires_before_whatever_the_message_is() {
    let table = [
        (create("e2", "1", [line("A", 2)]), "expired duplicate hold_ended"),
        (create("e2", "1", [line("A", 1)]), "dead conflicting_duplicate"),
        (cancel("e2", "1"), "expired duplicate hold_ended"),
        (cancel_some("e2", "1", &[("A", 9)]), "expired duplicate hold_ended"),
        (renew("e2", "1"), "held"),
        (create("e1", "1", [line("A", 2)]), "silence"),
    ];
    for (message, said) in table {
        let mut world = shop();
        world.narrow = true;
        world.one(create("e1", "1", [line("A", 2)]));
        world.pass(60);
        assert_eq!(world.one(message.clone()), said, "{message:?}");
        assert_eq!(world.told_last()[0], "1 expired hold_ended");
    }
}

#[test]
fn what_expired_is_free_for_an_order_of_the_same_batch_also_for_one_before_it() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 2)]));
    world.pass(60);
    let said = world.take([create("e2", "2", [line("A", 2)]), expire("1"), renew("e3", "1")]);
    assert_eq!(said, ["held", "attended", "expired duplicate hold_ended A 2>0"]);
    assert_eq!(world.told_last(), ["1 expired hold_ended", "2 held", "1 expired duplicate hold_ended A 2>0"]);
}

#[test]
fn nobody_is_refused_because_a_sweeper_was_late() {
    let mut world = shop();
    world.narrow = true;
    world.one(create("e1", "1", [line("A", 2), line("B", 1)]));
    world.pass(60);
    assert_eq!(world.one(create("e2", "2", [line("A", 2)])), "held");
    assert_eq!(world.order("1"), "expired: 2 A main expired, 1 B main expired");

    let table = [
        super::ask::written_off("e2", "main", &[("A", 2)]),
        super::ask::counted("e2", "main", &[("A", 1)]),
        super::ask::transferred("e2", "main", "far", &[("A", 1)]),
    ];
    for message in table {
        let mut world = shop();
        world.narrow = true;
        world.one(create("e1", "1", [line("A", 2)]));
        world.pass(60);
        assert_eq!(world.one(message), "applied");
    }
}

#[test]
fn a_renewal_a_second_before_the_end_wins_and_at_the_end_must_have_it_again() {
    for (gone, told) in [(59, &["1 held"][..]), (60, &["1 expired hold_ended", "1 held"])] {
        let mut world = shop();
        world.one(create("e1", "1", [line("A", 2)]));
        world.pass(gone);
        world.one(renew("e2", "1"));
        assert_eq!(world.told_last(), told);
        assert_eq!(world.figures("A", "main"), (2, 2));
    }
}

#[test]
fn those_that_ended_first_expire_first() {
    let mut world = shop();
    world.take([create("e1", "1", [line("A", 1)]).for_s(20), create("e2", "2", [line("A", 1)]).for_s(10)]);
    world.pass(20);
    world.take([received("e3", "main", &[("B", 1)])]);
    assert_eq!(world.told_last(), ["2 expired hold_ended", "1 expired hold_ended"]);
}
