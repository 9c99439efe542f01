//! Slots: half-open periods of resources, each one order's at a time, in one decision with the units beside them.

use super::ask::{
    Besides, cancel, cancel_slots, cancel_some, create, expire, failed, line, line_at, order, period, renew, slot,
    succeeded,
};
use super::world::World;
use crate::domain::PaymentMode::{OnDelivery, Online, Prepaid};
use crate::domain::{AskedLine, AskedSlot, Command};

fn shop() -> World {
    World::with(&[("A", "main", 2)]).rooms(&["room", "hall"])
}

fn booked(id: &str, order_ref: &str, slots: impl IntoIterator<Item = AskedSlot>) -> Command {
    mixed(id, order_ref, Vec::new(), slots)
}

fn mixed(
    id: &str,
    order_ref: &str,
    lines: impl Into<Vec<AskedLine>>,
    slots: impl IntoIterator<Item = AskedSlot>,
) -> Command {
    slots.into_iter().fold(create(id, order_ref, lines), Besides::with_slot)
}

#[test]
fn units_and_slots_are_held_or_confirmed_together() {
    for (payment, state, end) in
        [(Online, "held", Some(60)), (Prepaid, "confirmed", None), (OnDelivery, "confirmed", None)]
    {
        let mut world = shop();
        let order = mixed("e1", "1", [line("A", 1)], [period("room", 10, 11), period("room", 12, 13)]);
        assert_eq!(world.one(order.paid(payment)), state);
        let expected = format!("{state}: 1 A main {state}, room 10-11 {state}, room 12-13 {state}");
        assert_eq!(world.order("1"), expected);
        assert_eq!((world.figures("A", "main"), world.ends_in("1")), ((2, 1), end));
        assert_eq!(world.told[0].slots.len(), 2);
    }
}

#[test]
fn an_order_may_have_slots_only() {
    let mut world = shop();
    assert_eq!(world.one(booked("e1", "1", [slot("room")])), "held");
    assert_eq!(world.order("1"), "held: room 0-1 held");
    assert!(world.decision.stock.is_empty() && world.journal.is_empty());
    assert_eq!(world.slot_journal.len(), 1);
}

#[test]
fn touching_periods_all_fit_and_any_shared_instant_does_not() {
    let mut world = shop();
    world.one(booked("e0", "0", [period("room", 10, 12)]));
    let table = [
        ((9, 10), "held"),
        ((12, 13), "held"),
        ((10, 12), "rejected slot_taken room 10-12"),
        ((11, 13), "rejected slot_taken room 11-13"),
        ((8, 11), "rejected slot_taken room 8-11"),
        ((0, 24), "rejected slot_taken room 0-24"),
    ];
    for ((from, to), said) in table {
        let id = format!("{from}-{to}");
        assert_eq!(world.one(booked(&id, &id, [period("room", from, to)])), said);
    }
    assert_eq!(world.one(booked("e1", "other", [period("hall", 10, 12)])), "held", "another resource is another");

    let mut almost = period("room", 13, 14);
    almost.from -= time::Duration::microseconds(1);
    assert_eq!(world.one(booked("e2", "almost", [almost])), "rejected slot_taken room 12-14");
}

#[test]
fn a_mixed_order_of_which_anything_is_missing_holds_nothing() {
    let table = [
        // Units of A, slots: the answer.
        (1, vec![slot("room")], "rejected slot_taken room 0-1"),
        (3, vec![slot("hall")], "rejected insufficient_stock A 3>2"),
        (3, vec![slot("room"), slot("hall")], "rejected insufficient_stock A 3>2 room 0-1"),
        (1, vec![slot("hall"), period("room", 0, 5)], "rejected slot_taken room 0-5"),
        (1, vec![slot("attic"), slot("room"), slot("cellar")], "rejected unknown_resource attic 0-1 cellar 0-1"),
        (3, vec![slot("attic")], "rejected unknown_resource attic 0-1"),
    ];
    for (units, slots, said) in table {
        let mut world = shop();
        world.one(booked("e0", "0", [slot("room")]));
        assert_eq!(world.one(mixed("e1", "1", [line("A", units)], slots)), said);
        assert_eq!(world.order("1"), "rejected");
        assert_eq!(world.figures("A", "main"), (2, 0));
        assert!(world.decision.journal.is_empty() && world.decision.slot_journal.is_empty());
        assert_eq!(world.one(booked("e2", "2", [slot("hall")])), "held", "nothing of it was kept");
    }
}

#[test]
fn while_no_orders_are_taken_that_comes_after_unknown_and_before_taken() {
    let mut world = shop();
    world.one(booked("e0", "0", [slot("room")]));
    world.policy.accept_orders = false;
    assert_eq!(world.one(booked("e1", "1", [slot("attic")])), "rejected unknown_resource attic 0-1");
    assert_eq!(world.one(booked("e2", "2", [slot("room")])), "rejected not_accepting");
}

#[test]
fn forty_buyers_of_one_slot_make_one_hold_and_39_refusals() {
    let mut world = shop();
    let orders: Vec<_> = (0..40).map(|n| booked(&format!("e{n}"), &format!("{n}"), [slot("room")])).collect();
    let said = world.take(orders);
    assert_eq!(said[0], "held");
    assert!(said[1..].iter().all(|said| said == "rejected slot_taken room 0-1"));
}

#[test]
fn an_order_expires_whole_and_its_slots_are_free_at_that_instant() {
    for (gone, said) in [(59, "rejected slot_taken room 0-1"), (60, "held")] {
        for narrow in [false, true] {
            let mut world = shop();
            world.narrow = narrow;
            world.one(mixed("e1", "1", [line("A", 1)], [slot("room"), slot("hall")]));
            world.pass(gone);
            assert_eq!(world.one(booked("e2", "2", [slot("room")])), said, "nobody waits for a sweeper");
            if gone == 60 {
                assert_eq!(world.order("1"), "expired: 1 A main expired, room 0-1 expired, hall 0-1 expired");
                assert_eq!(world.told_last(), ["1 expired hold_ended", "2 held"]);
                assert_eq!(world.figures("A", "main"), (2, 0));
            }
        }
    }
}

#[test]
fn every_ended_hold_in_the_way_is_found() {
    let mut world = shop();
    world.narrow = true;
    for (id, from) in [("1", 0), ("2", 1), ("3", 2)] {
        world.one(booked(id, id, [period("room", from, from + 1)]));
    }
    world.one(booked("4", "4", [period("room", 5, 6)]).for_s(200));
    world.pass(60);
    assert_eq!(world.one(booked("e5", "5", [period("room", 0, 6)])), "rejected slot_taken room 0-6");
    assert_eq!(world.order("1"), "expired: room 0-1 expired", "it had ended, whoever asks");
    assert_eq!(world.one(booked("e6", "6", [period("room", 0, 5)])), "held");
    assert_eq!(world.order("3"), "expired: room 2-3 expired");
}

#[test]
fn a_slot_is_had_again_with_every_line_or_nothing_is() {
    let ended = || {
        let mut world = shop();
        world.one(mixed("e1", "1", [line("A", 2)], [slot("room")]));
        world.pass(60);
        world
    };
    let mut world = ended();
    assert_eq!(world.one(renew("r", "1").for_s(30)), "held");
    assert_eq!(world.order("1"), "held: 2 A main held, room 0-1 held");
    assert_eq!(world.ends_in("1"), Some(30));

    let table = [
        (booked("e2", "2", [slot("room")]), "expired duplicate hold_ended room 0-1"),
        (create("e2", "2", [line("A", 1)]), "expired duplicate hold_ended A 2>1"),
        (mixed("e2", "2", [line("A", 1)], [slot("room")]), "expired duplicate hold_ended A 2>1 room 0-1"),
    ];
    for (other, said) in table {
        let mut world = ended();
        assert_eq!(world.take([other, renew("r", "1")]), ["held", said]);
        assert_eq!(world.order("1"), "expired: 2 A main expired, room 0-1 expired");
        assert_eq!(world.take([cancel("c", "2"), renew("r2", "1")]), ["released cancelled", "held"]);
    }

    let mut world = shop();
    world.one(booked("e1", "1", [slot("room")]));
    world.pass(60);
    world.take([expire("1"), booked("e2", "2", [slot("room")]).for_s(10)]);
    world.pass(10);
    assert_eq!(world.one(renew("r", "1")), "held", "the other's hold has ended too");
    assert_eq!(world.order("2"), "expired: room 0-1 expired");
}

#[test]
fn a_cancel_frees_a_slot_held_or_confirmed() {
    for payment in [Online, OnDelivery] {
        let state = if payment == Online { "held" } else { "confirmed" };
        let begin = || {
            let mut world = shop();
            world.one(mixed("e1", "1", [line("A", 1)], [slot("room"), slot("hall")]).paid(payment));
            world
        };
        let mut world = begin();
        assert_eq!(world.take([cancel("c", "1"), booked("e2", "2", [slot("room")])]), ["released cancelled", "held"]);
        assert_eq!(world.order("1"), "released: 1 A main released, room 0-1 released, hall 0-1 released");

        let mut world = begin();
        assert_eq!(world.one(cancel_slots("c", "1", [slot("room")])), "released cancelled");
        assert_eq!(world.order("1"), format!("{state}: 1 A main {state}, room 0-1 released, hall 0-1 {state}"));
        assert_eq!(world.one(booked("e2", "2", [slot("room")])), "held");
        assert_eq!(world.one(cancel_some("c2", "1", &[("A", 1)]).with_slot(slot("hall"))), "released cancelled");
        assert_eq!(world.order("1"), "released: 1 A main released, room 0-1 released, hall 0-1 released");
    }
}

#[test]
fn a_slot_is_cancelled_whole_and_as_it_was_named_or_nothing_is() {
    let half = AskedSlot { to: period("room", 0, 1).from + time::Duration::minutes(30), ..slot("room") };
    let table = [
        cancel_slots("c", "1", [half]),
        cancel_slots("c", "1", [period("room", 0, 2)]),
        cancel_slots("c", "1", [slot("hall")]),
        cancel_slots("c", "1", [slot("room"), slot("hall")]),
        cancel_some("c", "1", &[("A", 2)]).with_slot(slot("room")),
        cancel_some("c", "1", &[("A", 1)]).with_slot(slot("hall")),
    ];
    for cancel in table {
        let mut world = shop();
        world.one(mixed("e1", "1", [line("A", 1)], [slot("room")]));
        assert_eq!(world.one(cancel.clone()), "dead over_cancel", "{cancel:?}");
        assert_eq!(world.order("1"), "held: 1 A main held, room 0-1 held");
    }
    let mut world = shop();
    world.one(mixed("e1", "1", [line("A", 1)], [slot("room")]));
    world.one(cancel_slots("c1", "1", [slot("room")]));
    assert_eq!(world.one(cancel_slots("c2", "1", [slot("room")])), "dead over_cancel", "it was given back");
}

#[test]
fn a_cancelled_slot_is_never_had_again() {
    let mut world = shop();
    world.one(mixed("e1", "1", [line("A", 1)], [slot("room")]));
    world.one(cancel_slots("c1", "1", [slot("room")]));
    world.pass(60);
    assert_eq!(world.one(renew("r1", "1")), "held");
    assert_eq!(world.order("1"), "held: 1 A main held, room 0-1 released");

    // Cancelled after its end: named, not named, and whole.
    let table = [
        (cancel_slots("c", "1", [slot("room")]), "held", "held: 1 A main held, room 0-1 expired, hall 0-1 held"),
        (cancel_some("c", "1", &[("A", 1)]), "held", "held: 1 A main expired, room 0-1 held, hall 0-1 held"),
        (
            cancel_some("c", "1", &[("A", 1)]).with_slot(slot("room")).with_slot(slot("hall")),
            "expired duplicate hold_ended",
            "expired: 1 A main expired, room 0-1 expired, hall 0-1 expired",
        ),
        (
            cancel("c", "1"),
            "expired duplicate hold_ended",
            "expired: 1 A main expired, room 0-1 expired, hall 0-1 expired",
        ),
    ];
    for (cancel, said, left) in table {
        let mut world = shop();
        world.one(mixed("e1", "1", [line("A", 1)], [slot("room"), slot("hall")]));
        world.pass(60);
        assert_eq!(world.take([cancel, renew("r", "1")]), ["expired duplicate hold_ended", said]);
        assert_eq!(world.order("1"), left);
    }
}

#[test]
fn slots_belong_to_the_content_of_an_order_in_any_sequence() {
    let mut world = shop();
    let both = [period("room", 1, 2), period("hall", 1, 2)];
    world.one(booked("e1", "1", both.clone()));
    let [room, hall] = both;
    assert_eq!(world.one(booked("e2", "1", [hall.clone(), room.clone()])), "held duplicate");
    assert_eq!(world.one(booked("e3", "1", [room])), "dead conflicting_duplicate");
    assert_eq!(world.one(booked("e4", "1", [hall, period("room", 1, 3)])), "dead conflicting_duplicate");
}

#[test]
fn what_was_rejected_for_a_slot_is_tried_again() {
    let mut world = shop();
    world.one(booked("e1", "1", [slot("room")]));
    assert_eq!(world.one(booked("e2", "2", [slot("room")])), "rejected slot_taken room 0-1");
    assert_eq!(world.one(renew("r", "2")), "rejected duplicate slot_taken");
    let retry = mixed("e3", "2", [line("A", 1)], [slot("room")]);
    assert_eq!(world.take([cancel("c", "1"), retry]), ["released cancelled", "held"]);
    assert_eq!(world.order("2"), "held: 1 A main held, room 0-1 held");
}

#[test]
fn what_waited_for_an_order_gives_its_slot_to_the_next_in_the_same_batch() {
    let mut world = shop();
    world.one(cancel_slots("c", "1", [slot("room")]));
    let said = world.take([booked("e1", "1", [slot("room"), slot("hall")]), booked("e2", "2", [slot("room")])]);
    assert_eq!(said, ["held", "held"]);
    assert_eq!(world.order("1"), "held: room 0-1 released, hall 0-1 held");
}

#[test]
fn an_order_whose_units_have_shipped_stays_confirmed_for_its_slot() {
    let mut world = shop();
    world.one(mixed("e1", "1", [line_at("A", 2, "main")], [slot("room")]).paid(OnDelivery));
    world.ship(&order("web", "1"), "A", 2);
    assert_eq!(world.order("1"), "confirmed: 2 A main shipped (2 shipped), room 0-1 confirmed");
    assert_eq!(world.one(cancel("c", "1")), "released cancelled");
    assert_eq!(world.order("1"), "shipped: 2 A main shipped (2 shipped), room 0-1 released");
    assert_eq!(world.one(cancel("c2", "1")), "dead over_cancel");
}

#[test]
fn the_cancellers_words_go_to_the_slots_journal() {
    let mut world = shop();
    world.one(mixed("e1", "1", [line("A", 1)], [slot("room"), slot("hall")]));
    world.take([cancel_slots("c1", "1", [slot("room")]).because("ill"), cancel("c2", "1")]);
    let reasons: Vec<_> = world.decision.slot_journal.iter().map(|step| step.reason.as_deref()).collect();
    assert_eq!(reasons, [Some("ill"), Some("cancelled")]);
}

#[test]
fn an_order_sold_elsewhere_whose_slot_is_taken_needs_a_person() {
    let mut world = shop();
    world.one(booked("e1", "1", [slot("room")]));
    world.one(booked("e2", "2", [slot("room")]).paid(Prepaid));
    assert_eq!(world.reviews, ["oversold web/2"]);
}

#[test]
fn money_confirms_slots_and_a_failed_payment_gives_them_up() {
    let mut world = shop();
    world.one(mixed("e1", "1", [line("A", 1)], [slot("room")]));
    assert_eq!(world.one(failed("f1", "P1", "1")), "released payment_failed");
    assert_eq!(world.order("1"), "released: 1 A main released, room 0-1 released");
    // The same card after all: units and slot are had again.
    assert_eq!(world.one(succeeded("p1", "P1", "1")), "confirmed had_again");
    assert_eq!(world.order("1"), "confirmed: 1 A main confirmed, room 0-1 confirmed");

    // Slots only: how it stands is told with the reason, and it can be had again.
    world.one(booked("e3", "3", [slot("hall")]));
    world.one(failed("f3", "P3", "3"));
    assert_eq!(world.one(booked("e3b", "3", [slot("hall")])), "released duplicate payment_failed");
    assert_eq!(world.one(renew("r3", "3")), "held");
    assert_eq!(world.one(succeeded("p3", "P3b", "3")), "confirmed");
    assert_eq!(world.order("3"), "confirmed: hall 0-1 confirmed");
}

#[test]
fn late_money_has_all_units_and_slots_again_or_goes_back() {
    for taken in [false, true] {
        let mut world = shop();
        world.one(mixed("e1", "1", [line("A", 1)], [slot("room"), slot("hall")]));
        world.pass(60);
        if taken {
            world.one(booked("e2", "2", [slot("hall")]));
        }
        let said = world.one(succeeded("p1", "P1", "1").costing(100));
        if taken {
            assert_eq!(said, "noted");
            assert_eq!(world.order("1"), "expired: 1 A main expired, room 0-1 expired, hall 0-1 expired");
            let lines = "1 A main expired, room 0-1 expired, hall 0-1 expired";
            assert_eq!(world.refunds, [format!("P1 expired_and_sold_out 100 [{lines}]")]);
        } else {
            assert_eq!(said, "confirmed had_again");
            assert_eq!(world.order("1"), "confirmed: 1 A main confirmed, room 0-1 confirmed, hall 0-1 confirmed");
        }
    }
}

#[test]
fn late_money_takes_a_slot_from_a_hold_that_has_ended() {
    let mut world = shop();
    world.narrow = true;
    world.one(booked("e1", "1", [slot("room")]).for_s(30));
    world.pass(30);
    world.one(booked("e2", "2", [slot("room")]).for_s(30));
    world.pass(30);
    assert_eq!(world.one(succeeded("p1", "P1", "1")), "confirmed had_again");
    assert_eq!(
        (world.order("1").as_str(), world.order("2").as_str()),
        ("confirmed: room 0-1 confirmed", "expired: room 0-1 expired")
    );
}

#[test]
fn a_paid_slot_that_is_cancelled_is_asked_back() {
    let mut world = shop();
    world.one(mixed("e1", "1", [line("A", 1)], [slot("room")]));
    world.one(succeeded("p1", "P1", "1").costing(100));
    world.one(cancel_slots("c1", "1", [slot("room")]));
    assert_eq!(world.refunds, ["P1 partially_cancelled -1 [room 0-1 released]"]);

    let mut world = shop();
    world.one(booked("e1", "1", [slot("room")]));
    world.one(succeeded("p1", "P1", "1").costing(100));
    world.one(cancel("c1", "1"));
    assert_eq!(world.refunds, ["P1 cancelled 100 [room 0-1 released]"]);
}
