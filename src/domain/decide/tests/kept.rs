//! A message that was kept for a person is decided once more when the person says so.

use super::ask::{
    Besides, cancel, cancel_some, counted, create, dispatched, line, line_at, received, transferred, written_off,
};
use super::world::World;
use crate::domain::{Command, PaymentMode};

/// Five A in `main`, three of them reserved.
fn shelves() -> World {
    let mut world = World::with(&[("A", "main", 5), ("B", "far", 2)]);
    world.one(create("e0", "0", [line("A", 3)]));
    world
}

#[test]
fn it_is_applied_once_there_is_room_and_asks_again_until_then() {
    let table: [(Command, &str, (i64, i64)); 3] = [
        (counted("e1", "main", &[("A", 2)]), "review count_below_reserved", (2, 0)),
        (written_off("e1", "main", &[("A", 3)]).by("WO-1"), "review written_off_below_reserved", (2, 0)),
        (transferred("e1", "main", "far", &[("A", 4)]), "review transferred_below_reserved", (1, 0)),
    ];
    for (message, review, figures) in table {
        let mut world = shelves();
        assert_eq!(world.one(message.clone()), review);
        assert_eq!(world.resolve(message.clone()), review, "{message:?}");
        assert_eq!(world.figures("A", "main"), (5, 3));
        world.one(cancel("c0", "0"));
        assert_eq!(world.resolve(message.clone()), "applied", "{message:?}");
        assert_eq!(world.figures("A", "main"), figures, "its own document is no repeat of it");
        assert_eq!(world.one(message), "silence");
    }
}

#[test]
fn a_due_hold_makes_room() {
    let mut world = shelves();
    world.narrow = true;
    let message = counted("e1", "main", &[("A", 2)]);
    assert_eq!(world.one(message.clone()), "review count_below_reserved");
    world.pass(61);
    assert_eq!(world.resolve(message), "applied");
    assert_eq!(world.order("0"), "expired: 3 A main expired");
    assert_eq!(world.figures("A", "main"), (2, 0));
}

#[test]
fn a_parcel_that_left_elsewhere_is_applied_once_the_units_are_free_there() {
    let mut world = World::with(&[("A", "main", 5), ("A", "far", 1)]);
    world.one(create("e1", "1", [line_at("A", 3, "main")]).paid(PaymentMode::OnDelivery));
    let parcel = dispatched("s1", "far", "S-1", "1", &[("A", 2)]);
    assert_eq!(world.one(parcel.clone()), "review shipped_elsewhere");
    assert_eq!(world.resolve(parcel.clone()), "review shipped_elsewhere");
    assert_eq!((world.figures("A", "main"), world.figures("A", "far")), ((5, 3), (1, 0)));
    world.one(received("i1", "far", &[("A", 1)]));
    assert_eq!(world.resolve(parcel.clone()), "shipped");
    assert_eq!((world.figures("A", "main"), world.figures("A", "far")), ((5, 1), (0, 0)));
    assert_eq!(world.one(parcel), "silence");
}

#[test]
fn a_parcel_of_what_is_cancelled_meanwhile_becomes_a_dead_letter() {
    let mut world = World::with(&[("A", "main", 5), ("A", "far", 1)]);
    world.one(create("e1", "1", [line_at("A", 3, "main")]).paid(PaymentMode::OnDelivery));
    let parcel = dispatched("s1", "far", "S-1", "1", &[("A", 2)]);
    world.one(parcel.clone());
    world.one(cancel_some("c1", "1", &[("A", 2)]));
    assert_eq!(world.resolve(parcel), "dead over_shipment");
    let forgotten: Vec<_> = world.decision.forgotten.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(forgotten, ["s1"], "it may be sent again");
}
