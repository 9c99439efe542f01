//! Several commands decided together.

use super::ask::{Besides, cancel, create, line, received, renew, transferred, written_off};
use super::world::World;

fn shop() -> World {
    World::with(&[("A", "main", 3), ("A", "far", 0), ("B", "main", 1)])
}

#[test]
fn several_changes_of_a_row_share_one_version() {
    let mut world = shop();
    world.take([
        create("e1", "1", [line("A", 1)]),
        create("e2", "2", [line("A", 1)]),
        received("e3", "main", &[("A", 5)]),
    ]);
    assert_eq!(world.stock_told_last(), ["A main 8-2"]);
    let change = &world.decision.stock[0];
    assert_eq!((change.before.version, change.after.version, change.cause), (1, 2, Some(2)));
}

#[test]
fn a_row_whose_changes_cancel_out_is_told_of_all_the_same() {
    let mut world = shop();
    world.take([create("e1", "1", [line("A", 2)]), cancel("e2", "1")]);
    assert_eq!(world.stock_told_last(), ["A main 3-0"]);
    assert_eq!(world.decision.stock[0].after.version, 2);
    world.take([received("e3", "main", &[("A", 1)]), written_off("e4", "main", &[("A", 1)])]);
    assert_eq!(world.stock_told_last(), ["A main 3-0"]);
    assert_eq!(world.decision.stock[0].after.version, 3);
}

#[test]
fn what_changes_no_figures_tells_none() {
    let mut world = shop();
    world.one(create("e1", "1", [line("A", 2)]));
    world.take([renew("r1", "1").for_s(99), create("e2", "1", [line("A", 2)]), create("e3", "3", [line("A", 9)])]);
    assert!(world.decision.stock.is_empty());
}

#[test]
fn each_command_sees_what_those_before_it_did() {
    let mut world = shop();
    let said = world.take([
        create("e1", "1", [line("A", 4)]),
        received("i1", "main", &[("A", 1)]),
        create("e2", "2", [line("A", 4)]),
        written_off("i2", "main", &[("A", 1)]),
        cancel("c1", "2"),
        transferred("i3", "main", "far", &[("A", 3)]),
        create("e3", "1", [line("A", 3)]),
    ]);
    let expected = [
        "rejected insufficient_stock A 4>3",
        "applied",
        "held",
        "review written_off_below_reserved",
        "released cancelled",
        "applied",
        "held",
    ];
    assert_eq!(said, expected);
    assert_eq!(world.order("1"), "held: 3 A far held");
}

#[test]
fn a_redelivery_within_a_batch_changes_nothing() {
    let mut world = shop();
    let twice = |command: crate::domain::Command| [command.clone(), command];
    let commands = [
        twice(received("i1", "main", &[("A", 1)])),
        twice(create("e1", "1", [line("A", 2)])),
        twice(cancel("c1", "1")),
    ];
    assert_eq!(
        world.take(commands.concat()),
        ["applied", "silence", "held", "silence", "released cancelled", "silence"]
    );
    assert_eq!(world.figures("A", "main"), (4, 0));
}

#[test]
fn a_refused_event_is_decided_afresh_and_counts_once_it_is_taken() {
    let mut world = shop();
    let write_off = || written_off("w1", "new", &[("N", 1)]);
    let said = world.take([write_off(), write_off(), received("i1", "new", &[("N", 3)]), write_off(), write_off()]);
    assert_eq!(said, ["dead unknown_sku", "dead unknown_sku", "applied", "applied", "silence"]);
    assert!(world.decision.forgotten.is_empty(), "it was taken in the end");
    assert_eq!(world.one(write_off()), "silence");
    assert_eq!(world.figures("N", "new"), (2, 0));

    world.one(written_off("w2", "new", &[("X", 1)]));
    let forgotten: Vec<_> = world.decision.forgotten.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(forgotten, ["w2"]);
}

#[test]
fn a_rejected_order_and_its_retry_may_share_a_batch() {
    let mut world = shop();
    let said = world.take([
        create("e1", "1", [line("B", 2)]),
        create("e2", "1", [line("B", 1)]),
        create("e1", "1", [line("B", 2)]),
        create("e2", "1", [line("B", 1)]),
        create("e3", "1", [line("B", 1)]),
    ]);
    assert_eq!(said, ["rejected insufficient_stock B 2>1", "held", "silence", "silence", "held duplicate"]);
    assert_eq!(world.one(create("e1", "1", [line("B", 2)])), "silence");
}
