//! Shipments and returns: what leaves which shelf, what waits, what is refused, what comes back.

use super::ask::{
    Besides, cancel, cancel_some, create, dispatched, expire, failed, line, line_at, received, refunded, renew,
    returned, succeeded, wake, written_off,
};
use super::model::Model;
use super::world::World;
use crate::domain::Condition::{Damaged, Resellable};
use crate::domain::{Command, MovementKind, ParcelKind, PaymentMode, Qty};

/// An order of three A and one B out of `main`, confirmed; `far` has A too, and `bare` has nothing of it.
fn confirmed() -> World {
    let mut world = World::with(&[("A", "main", 5), ("B", "main", 2), ("A", "far", 2), ("B", "bare", 0)]);
    world.one(create("e1", "1", [line_at("A", 3, "main"), line_at("B", 1, "main")]).paid(PaymentMode::OnDelivery));
    world
}

/// The same order, held.
fn held() -> World {
    let mut world = World::with(&[("A", "main", 5), ("B", "main", 2), ("A", "far", 2)]);
    world.one(create("e1", "1", [line_at("A", 3, "main"), line_at("B", 1, "main")]));
    world
}

#[test]
fn an_order_leaves_in_several_parcels() {
    let mut world = confirmed();
    assert_eq!(world.one(dispatched("s1", "main", "S-1", "1", &[("A", 1)])), "shipped");
    assert_eq!(world.order("1"), "confirmed: 3 A main confirmed (1 shipped), 1 B main confirmed");
    assert_eq!(world.figures("A", "main"), (4, 2));
    assert_eq!(world.stock_told_last(), ["A main 4-2"]);
    assert_eq!(world.one(dispatched("s2", "main", "S-2", "1", &[("B", 1), ("A", 2)])), "shipped");
    assert_eq!(world.order("1"), "shipped: 3 A main shipped (3 shipped), 1 B main shipped (1 shipped)");
    assert_eq!((world.figures("A", "main"), world.figures("B", "main")), ((2, 0), (1, 0)));
    let moved: Vec<_> = world.decision.movements.iter().map(|moved| (moved.kind, moved.delta)).collect();
    assert_eq!(moved, [(MovementKind::Shipped, -1), (MovementKind::Shipped, -2)]);
    assert_eq!(world.one(dispatched("s3", "main", "S-3", "1", &[("A", 1)])), "dead over_shipment");
    assert_eq!(world.reviews, [] as [&str; 0], "it was held once");
}

#[test]
fn a_parcel_is_known_by_its_name() {
    let mut world = confirmed();
    let first = |id: &str| dispatched(id, "main", "S-1", "1", &[("A", 1)]);
    assert_eq!(world.take([first("s1"), first("s2")]), ["shipped", "confirmed duplicate"]);
    assert_eq!(world.one(first("s3")), "confirmed duplicate");
    assert_eq!(world.one(first("s1")), "silence");
    assert_eq!(world.figures("A", "main"), (4, 2));
    assert_eq!(world.one(dispatched("s4", "main", "S-1", "1", &[("A", 2)])), "dead conflicting_duplicate");
    assert_eq!(world.one(dispatched("s5", "far", "S-1", "1", &[("A", 2)])), "shipped", "another warehouse's own name");
}

#[test]
fn a_refused_parcel_leaves_its_name_free() {
    let mut world = confirmed();
    let said = world
        .take([dispatched("s1", "main", "S-1", "1", &[("A", 9)]), dispatched("s2", "main", "S-1", "1", &[("A", 1)])]);
    assert_eq!(said, ["dead over_shipment", "shipped"]);
}

#[test]
fn one_bad_line_refuses_the_whole_parcel() {
    let mut world = confirmed();
    for (number, bad) in [("A", 4), ("X", 1)].into_iter().enumerate() {
        let id = format!("s{number}");
        assert_eq!(world.one(dispatched(&id, "main", &id, "1", &[("B", 1), bad])), "dead over_shipment", "{bad:?}");
        assert!(world.stock_told_last().is_empty());
    }
    assert_eq!(world.reviews, ["shipped_without_hold web/1"], "of what was never ordered a person is asked");
    assert_eq!(world.order("1"), "confirmed: 3 A main confirmed, 1 B main confirmed");
}

#[test]
fn what_nobody_holds_any_more_is_a_persons_business() {
    let shipped = |id: &str| dispatched(id, "main", id, "1", &[("A", 1)]);
    let mut world = confirmed();
    world.one(cancel("c1", "1"));
    assert_eq!(world.one(shipped("s1")), "dead over_shipment");
    assert_eq!(world.reviews, ["shipped_without_hold web/1"]);

    let mut world = held();
    world.pass(60);
    assert_eq!(world.one(shipped("s1")), "dead over_shipment", "the hold ended first");
    assert_eq!(world.reviews, ["shipped_without_hold web/1"]);

    let mut world = World::with(&[("A", "main", 1)]);
    world.one(create("e1", "1", [line("A", 2)]));
    assert_eq!(world.one(shipped("s1")), "dead over_shipment", "it was rejected");
    assert_eq!(world.reviews, ["shipped_without_hold web/1"]);
}

#[test]
fn units_that_left_another_shelf_give_the_hold_back() {
    let mut world = confirmed();
    assert_eq!(world.one(dispatched("s1", "far", "S-1", "1", &[("A", 2)])), "shipped");
    assert_eq!(world.order("1"), "confirmed: 3 A main confirmed (2 shipped), 1 B main confirmed");
    assert_eq!((world.figures("A", "main"), world.figures("A", "far")), ((5, 1), (0, 0)));
    assert_eq!(world.stock_told_last(), ["A far 0-0", "A main 5-1"]);
    assert_eq!(world.one(dispatched("s2", "main", "S-2", "1", &[("A", 1)])), "shipped");
    assert_eq!(world.figures("A", "main"), (4, 0));
}

#[test]
fn units_that_were_not_free_there_are_a_persons_business_and_nothing_is_half_done() {
    let mut world = confirmed();
    for (number, at) in ["far", "bare"].into_iter().enumerate() {
        let id = format!("s{number}");
        let said = world.one(dispatched(&id, at, &id, "1", &[("B", 1), ("A", 3)]));
        assert_eq!(said, "review shipped_elsewhere", "{at}");
        assert!(world.stock_told_last().is_empty());
        assert!(world.decision.shipments.is_empty(), "its name is taken when it is applied");
    }
    assert_eq!(world.one(dispatched("s9", "nowhere", "S-9", "1", &[("A", 1)])), "dead unknown_warehouse");
    assert_eq!(world.order("1"), "confirmed: 3 A main confirmed, 1 B main confirmed");
    assert_eq!(world.one(dispatched("s8", "main", "s0", "1", &[("A", 3)])), "shipped");
}

#[test]
fn units_on_another_shelf_that_a_due_hold_still_has_are_free() {
    let mut world = confirmed();
    world.narrow = true;
    world.one(create("e2", "2", [line_at("A", 2, "far")]));
    assert_eq!(world.one(dispatched("s1", "far", "S-1", "1", &[("A", 1)])), "review shipped_elsewhere");
    world.pass(60);
    assert_eq!(world.one(dispatched("s2", "far", "S-2", "1", &[("A", 1)])), "shipped");
    assert_eq!(world.order("2"), "expired: 2 A far expired");
}

#[test]
fn a_parcel_of_a_held_order_waits_and_dies_with_the_hold() {
    let mut world = held();
    assert_eq!(world.one(dispatched("s1", "main", "S-1", "1", &[("A", 2)])), "waiting");
    assert_eq!(world.one(dispatched("s1", "main", "S-1", "1", &[("A", 2)])), "silence");
    assert_eq!(world.take([renew("r1", "1").for_s(90), wake("1")]), ["held", "attended"]);
    assert_eq!(world.fates[1], "waiting", "what has to wait is not woken for ever");
    world.pass(90);
    assert_eq!(world.one(expire("1")), "attended");
    assert_eq!(world.fates[1], "dead over_shipment");
    assert_eq!(world.reviews, ["shipped_without_hold web/1"]);
    let forgotten: Vec<_> = world.decision.forgotten.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(forgotten, ["s1"]);

    for (cancelled, fate, reviews) in [
        (cancel("c1", "1"), "dead over_shipment", 1),
        (cancel_some("c1", "1", &[("A", 2)]), "dead over_shipment", 0),
        (cancel_some("c1", "1", &[("A", 1)]), "waiting", 0),
    ] {
        let mut world = held();
        let said = world.take([dispatched("s1", "main", "S-1", "1", &[("A", 2)]), cancelled]);
        assert_eq!(said, [fate, "released cancelled"]);
        assert_eq!(world.reviews.len(), reviews);
    }
}

#[test]
fn a_wrong_parcel_of_a_held_order_does_not_wait() {
    let mut world = held();
    assert_eq!(world.one(dispatched("s1", "main", "S-1", "1", &[("A", 4)])), "dead over_shipment");
    assert_eq!(world.one(dispatched("s2", "main", "S-2", "1", &[("A", 1), ("X", 1)])), "dead over_shipment");
    assert_eq!(world.reviews, ["shipped_without_hold web/1"]);
}

#[test]
fn a_parcel_that_waits_for_an_order_no_command_is_about_is_not_forgotten() {
    let mut world = held();
    world.one(dispatched("s1", "main", "S-1", "1", &[("A", 2)]));
    world.pass(60);
    // Delivered again, it brings its waiting self along, and its order's hold has ended.
    assert_eq!(world.one(dispatched("s1", "main", "S-1", "1", &[("A", 2)])), "silence");
    assert_eq!(world.fates[1], "dead over_shipment");
}

#[test]
fn parcels_before_their_order_wait_and_what_came_back_is_taken_last() {
    let early = [
        returned("b1", "main", "1", &[("A", 1, Resellable)]),
        dispatched("s1", "main", "S-1", "1", &[("A", 2)]),
        dispatched("s2", "far", "S-2", "1", &[("A", 2)]),
        cancel_some("c1", "1", &[("A", 1)]),
    ];
    let order = || create("e1", "1", [line_at("A", 4, "main")]).paid(PaymentMode::Prepaid);
    let shop = || World::with(&[("A", "main", 5), ("A", "far", 2)]);
    let mut apart = shop();
    for command in early.iter().cloned().chain([order()]) {
        apart.one(command);
    }
    let mut together = shop();
    together.take(early.iter().cloned().chain([order()]).collect::<Vec<_>>());
    for world in [apart, together] {
        // The second parcel leaves nothing outstanding to cancel.
        assert_eq!(world.fates, ["returned", "shipped", "shipped", "dead over_cancel", "confirmed"]);
        assert_eq!(world.order("1"), "shipped: 4 A main shipped (4 shipped, 1 back)");
        assert_eq!((world.figures("A", "main"), world.figures("A", "far")), ((4, 0), (0, 0)));
    }
}

#[test]
fn what_comes_back_waits_behind_a_parcel_that_waits() {
    let mut world = held();
    let back = |id: &str| returned(id, "main", "1", &[("A", 1, Resellable)]);
    assert_eq!(world.one(back("b1")), "dead over_return", "nothing was shipped, and nothing waits");
    let said = world.take([dispatched("s1", "main", "S-1", "1", &[("A", 2)]), back("b2")]);
    assert_eq!(said, ["waiting", "waiting"]);
    assert_eq!(world.one(back("b3")), "waiting");
    world.one(cancel("c1", "1"));
    assert_eq!(world.fates[2..5], ["dead over_shipment", "dead over_return", "dead over_return"]);
}

#[test]
fn what_comes_back_is_at_most_what_was_shipped() {
    let mut world = confirmed();
    world.one(dispatched("s1", "main", "S-1", "1", &[("A", 2)]));
    for (number, lines) in [
        &[("A", 3, Resellable)][..],
        &[("A", 2, Resellable), ("A", 1, Damaged)],
        &[("A", 1, Resellable), ("B", 1, Resellable)],
        &[("X", 1, Damaged)],
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(world.one(returned(&format!("b{number}"), "main", "1", lines)), "dead over_return", "{lines:?}");
    }
    let said = world.one(returned("b8", "main", "1", &[("A", 1, Resellable), ("A", 1, Damaged)]));
    assert_eq!(said, "returned");
    assert_eq!(world.order("1"), "confirmed: 3 A main confirmed (2 shipped, 2 back), 1 B main confirmed");
    assert_eq!(world.figures("A", "main"), (4, 1), "the damaged one lies on no shelf");
    assert_eq!(world.one(returned("b9", "main", "1", &[("A", 1, Damaged)])), "dead over_return");
    let kinds: Vec<_> = world.parcels.iter().map(|parcel| (parcel.kind, parcel.qty)).collect();
    assert_eq!(kinds, [(ParcelKind::Shipped, 2), (ParcelKind::Returned, 1), (ParcelKind::Damaged, 1)]);
}

#[test]
fn what_comes_back_makes_its_row_where_there_is_none() {
    let mut world = confirmed();
    world.one(dispatched("s1", "main", "S-1", "1", &[("A", 3), ("B", 1)]));
    let said = world.one(returned("b1", "new", "1", &[("A", 2, Resellable), ("B", 1, Damaged)]));
    assert_eq!(said, "returned");
    assert_eq!(world.stock_told_last(), ["A new 2-0"]);
    assert!(!world.has_row("B", "new"), "damaged units make no row");
    assert_eq!(world.one(create("e2", "2", [line_at("A", 2, "new")])), "held", "the warehouse is known now");
    assert_eq!(world.one(returned("b2", "newer", "1", &[("A", 2, Resellable)])), "dead over_return");
    assert!(!world.has_row("A", "newer"), "a refused return makes no row");
}

#[test]
fn what_was_sold_again_can_be_shipped_again() {
    let mut world = World::with(&[("A", "main", 1)]);
    for n in 0..3 {
        let (order, id) = (n.to_string(), |what: &str| format!("{what}{n}"));
        let all = world.take([
            create(&id("e"), &order, [line("A", 1)]).paid(PaymentMode::OnDelivery),
            dispatched(&id("s"), "main", "S", &order, &[("A", 1)]),
            returned(&id("b"), "main", &order, &[("A", 1, Resellable)]),
        ]);
        assert_eq!(all, ["confirmed", "shipped", "returned"]);
    }
    assert_eq!(world.figures("A", "main"), (1, 0));
    world.one(written_off("w", "main", &[("A", 1)]));
    world.one(received("i", "main", &[("A", 2)]));
    assert_eq!(world.figures("A", "main"), (2, 0));
}

/// What may happen to an order of three A and one B; each under an event id and a parcel's name of its own.
const ACTS: [&str; 8] = ["ship a part", "ship", "ship elsewhere", "cancel", "cancel a part", "return", "refund", "pay"];

fn act(name: &str, number: usize) -> Command {
    let id = format!("{name} {number}");
    match name {
        "ship a part" => dispatched(&id, "main", &id, "1", &[("A", 1)]),
        "ship" => dispatched(&id, "main", &id, "1", &[("A", 2), ("B", 1)]),
        "ship elsewhere" => dispatched(&id, "far", &id, "1", &[("A", 1)]),
        "cancel" => cancel(&id, "1"),
        "cancel a part" => cancel_some(&id, "1", &[("A", 1)]),
        "return" => returned(&id, "main", "1", &[("A", 1, Resellable), ("B", 1, Damaged)]),
        "refund" => refunded(&id, "P1", "1").costing(40),
        "pay" => succeeded(&id, &format!("P{number}"), "1").costing(100),
        _ => panic!("{name}"),
    }
}

/// All sequences of these acts up to that length.
fn sequences(acts: &[&'static str], length: usize) -> Vec<Vec<&'static str>> {
    let mut all: Vec<Vec<&str>> = vec![Vec::new()];
    let mut longest = all.clone();
    for _ in 0..length {
        let longer =
            |begun: &Vec<&'static str>| acts.iter().map(|act| [begun, &[*act][..]].concat()).collect::<Vec<_>>();
        longest = longest.iter().flat_map(longer).collect();
        all.extend(longest.iter().cloned());
    }
    all
}

/// Tries all sequences of these acts after an order and what comes right after it, each command alone and all of them together.
fn try_all(payment: PaymentMode, first: &[Command], acts: &[&'static str], length: usize) {
    const SHELVES: [(&str, &str, Qty); 3] = [("A", "main", 5), ("B", "main", 2), ("A", "far", 2)];
    let order = create("e1", "1", [line_at("A", 3, "main"), line_at("B", 1, "main")]).paid(payment).costing(100);
    for acts in &sequences(acts, length) {
        let acted = acts.iter().enumerate().map(|(number, name)| act(name, number));
        let commands: Vec<Command> = [order.clone()].into_iter().chain(first.iter().cloned()).chain(acted).collect();
        let mut model = Model::with(&SHELVES, &[]);
        for command in &commands {
            model.take(command);
        }
        let (mut apart, mut together) = (World::with(&SHELVES), World::with(&SHELVES));
        for command in &commands {
            apart.one(command.clone());
        }
        together.take(commands);
        for world in [apart, together] {
            assert_eq!((&world.fates, &world.reviews), (&model.fates, &model.reviews), "{payment:?} {acts:?}");
            assert_eq!(world.refunds, model.refunds, "{payment:?} {acts:?}");
            assert_eq!(world.picture(), model.picture(), "{payment:?} {acts:?}");
            assert_eq!(world.told_by_order(), model.told, "{payment:?} {acts:?}");
        }
    }
}

#[test]
fn every_order_of_shipments_cancels_and_returns_ends_as_the_model_says() {
    assert_eq!(sequences(&ACTS[..6], 5).len(), 1 + 6 + 36 + 216 + 1_296 + 7_776);
    for payment in [PaymentMode::Prepaid, PaymentMode::Online] {
        try_all(payment, &[], &ACTS[..6], 5);
    }
}

#[test]
fn every_order_of_what_may_happen_to_a_paid_order_ends_as_the_model_says() {
    assert_eq!(sequences(&ACTS[..7], 5).len(), 1 + 7 + 49 + 343 + 2_401 + 16_807);
    try_all(PaymentMode::Online, &[succeeded("p1", "P1", "1").costing(100)], &ACTS[..7], 5);
}

#[test]
fn every_order_of_payments_and_parcels_ends_as_the_model_says() {
    for payment in [PaymentMode::Online, PaymentMode::OnDelivery] {
        try_all(payment, &[], &ACTS, 4);
    }
}

#[test]
fn money_sends_off_what_waited_for_it() {
    let mut world = held();
    let back = returned("b1", "main", "1", &[("A", 1, Damaged)]);
    assert_eq!(world.take([dispatched("s1", "main", "S-1", "1", &[("A", 2)]), back]), ["waiting", "waiting"]);
    assert_eq!(world.one(succeeded("p1", "P1", "1")), "confirmed");
    assert_eq!(world.fates[1..3], ["shipped", "returned"], "in the same transaction");
    assert_eq!(world.order("1"), "confirmed: 3 A main confirmed (2 shipped, 1 back), 1 B main confirmed");
    assert_eq!(world.figures("A", "main"), (3, 1));
    let told: Vec<_> = world.decision.answers.iter().map(|answer| answer.what.word()).collect();
    assert_eq!(told, ["confirmed", "shipped", "returned"]);
}

#[test]
fn late_money_sends_off_what_waited_for_it() {
    let mut world = held();
    world.one(dispatched("s1", "main", "S-1", "1", &[("A", 2)]));
    world.pass(60);
    // Its hold ends in the batch in which the money comes: had again before anything that waits is taken.
    assert_eq!(world.one(succeeded("p1", "P1", "1")), "confirmed had_again");
    assert_eq!(world.fates[1], "shipped");
    assert_eq!(world.reviews, [] as [&str; 0]);

    // The timer came first: the parcel is dead by then.
    let mut world = held();
    world.one(dispatched("s1", "main", "S-1", "1", &[("A", 2)]));
    world.pass(60);
    world.one(expire("1"));
    assert_eq!(world.one(succeeded("p1", "P1", "1")), "confirmed had_again");
    assert_eq!((world.fates[1].as_str(), world.figures("A", "main")), ("dead over_shipment", (5, 3)));
}

#[test]
fn money_that_confirms_nothing_sends_nothing_off() {
    for (report, fate) in [
        (failed("f1", "P1", "1"), "dead over_shipment"),
        (succeeded("p1", "P1", "1").costing(7), "waiting"),
        (refunded("r1", "P1", "1"), "waiting"),
    ] {
        let mut world = World::with(&[("A", "main", 5)]);
        world.one(create("e1", "1", [line("A", 2)]).costing(100));
        world.one(dispatched("s1", "main", "S-1", "1", &[("A", 1)]));
        world.one(report);
        assert_eq!(world.fates[1], fate);
        assert_eq!(world.figures("A", "main").0, 5);
    }
}

#[test]
fn of_a_paid_order_that_has_partly_shipped_the_rest_is_asked_back() {
    let mut world = held();
    world.one(succeeded("p1", "P1", "1").costing(100));
    world.one(dispatched("s1", "main", "S-1", "1", &[("A", 2)]));
    assert_eq!(world.one(cancel("c1", "1")), "released cancelled");
    assert_eq!(world.order("1"), "shipped: 2 A main shipped (2 shipped), 1 B main released");
    assert_eq!(world.refunds, ["P1 partially_cancelled -1 [1 A main released, 1 B main released]"]);
    assert_eq!(world.one(refunded("r1", "P1", "1").costing(40)), "noted");
    assert_eq!(world.reviews, [] as [&str; 0], "a part was asked back");
}

#[test]
fn what_waited_may_end_what_else_waited() {
    let mut world = World::with(&[("A", "main", 3)]);
    let order = create("e1", "1", [line("A", 2)]);
    let said = world.take([dispatched("s1", "main", "S-1", "1", &[("A", 1)]), cancel("c1", "1"), order]);
    assert_eq!(said, ["dead over_shipment", "released cancelled", "held"]);
    assert_eq!(world.reviews, ["shipped_without_hold web/1"]);
}
