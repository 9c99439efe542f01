//! Units come in, go, are counted, move.

use super::ask::{Besides, counted, create, line, received, row, transferred, written_off};
use super::world::World;
use crate::domain::{Command, Outcome, Qty, ReviewSubject};

/// Five A in `main`, three of them reserved; two B in `far`.
fn shelves() -> World {
    let mut world = World::with(&[("A", "main", 5), ("B", "far", 2)]);
    world.one(create("e0", "0", [line("A", 3)]));
    world
}

fn movements(world: &World) -> Vec<String> {
    let text = |movement: &crate::domain::Movement| {
        let (key, kind) = (&movement.key, movement.kind.word());
        format!("{} {} {:+} {kind}", key.sku, key.warehouse, movement.delta)
    };
    world.decision.movements.iter().map(text).collect()
}

#[test]
fn each_message_moves_what_it_says_and_tells_each_row_once() {
    let table: [(Command, &[&str], &[&str]); 8] = [
        (received("e1", "main", &[("A", 2)]), &["A main +2 received"], &["A main 7-3"]),
        (
            received("e1", "far", &[("A", 2), ("B", 1)]),
            &["A far +2 received", "B far +1 received"],
            &["A far 2-0", "B far 3-0"],
        ),
        (written_off("e1", "main", &[("A", 2)]), &["A main -2 written_off"], &["A main 3-3"]),
        (counted("e1", "main", &[("A", 9)]), &["A main +4 counted"], &["A main 9-3"]),
        (counted("e1", "main", &[("A", 3)]), &["A main -2 counted"], &["A main 3-3"]),
        (counted("e1", "main", &[("A", 5)]), &[], &[]),
        (
            transferred("e1", "main", "far", &[("A", 2)]),
            &["A main -2 transferred", "A far +2 transferred"],
            &["A far 2-0", "A main 3-3"],
        ),
        (
            transferred("e1", "far", "main", &[("B", 2)]),
            &["B far -2 transferred", "B main +2 transferred"],
            &["B far 0-0", "B main 2-0"],
        ),
    ];
    for (message, moved, told) in table {
        let mut world = shelves();
        assert_eq!(world.one(message.clone()), "applied");
        assert_eq!(movements(&world), moved, "{message:?}");
        assert_eq!(world.stock_told_last(), told, "{message:?}");
        assert_eq!(world.one(message), "silence");
    }
}

#[test]
fn a_row_that_is_new_is_told_of_even_with_nothing_in_it() {
    let mut world = shelves();
    assert_eq!(world.one(counted("e1", "new", &[("N", 0)])), "applied");
    assert_eq!(world.stock_told_last(), ["N new 0-0"]);
    assert!(movements(&world).is_empty());
    assert_eq!(world.decision.stock[0].after.version, 1);
    assert_eq!(world.one(counted("e2", "new", &[("N", 0)])), "applied");
    assert!(world.decision.stock.is_empty(), "nothing changed");
}

#[test]
fn what_comes_in_makes_sku_and_warehouse_known() {
    let order = |id: &str| create(id, id, [line("N", 1)]);
    let table = [
        (received("e1", "new", &[("N", 1)]), "held"),
        (counted("e1", "new", &[("N", 1)]), "held"),
        (counted("e1", "new", &[("N", 0)]), "rejected insufficient_stock N 1>0"),
        (transferred("e1", "far", "new", &[("B", 1)]), "rejected unknown_sku N 1>0"),
    ];
    for (message, said) in table {
        let mut world = shelves();
        let said_all = world.take([order("o1"), message, order("o2"), written_off("e2", "new", &[("B", 2)])]);
        assert_eq!(said_all, ["rejected unknown_sku N 1>0", "applied", said, "review written_off_below_reserved"]);
    }
}

#[test]
fn only_what_is_known_can_leave_and_the_sku_is_asked_first() {
    let table = [
        (written_off("e1", "main", &[("A", 1), ("X", 1)]), "dead unknown_sku"),
        (written_off("e1", "nowhere", &[("X", 1)]), "dead unknown_sku"),
        (written_off("e1", "nowhere", &[("A", 1)]), "dead unknown_warehouse"),
        (transferred("e1", "main", "far", &[("X", 1)]), "dead unknown_sku"),
        (transferred("e1", "nowhere", "main", &[("A", 1)]), "dead unknown_warehouse"),
        (written_off("e1", "far", &[("A", 1)]), "review written_off_below_reserved"),
        (transferred("e1", "far", "new", &[("A", 1)]), "review transferred_below_reserved"),
    ];
    for (message, said) in table {
        let mut world = shelves();
        assert_eq!(world.one(message.clone()), said, "{message:?}");
        assert!(world.decision.stock.is_empty() && world.decision.movements.is_empty());
        assert!(!world.has_row("X", "far") && !world.has_row("A", "new"), "rows made for nothing go again");
    }
}

#[test]
fn more_than_is_free_waits_for_a_person_and_the_counters_stay() {
    let table: [(Command, &str); 6] = [
        (counted("e1", "main", &[("A", 2)]), "review count_below_reserved"),
        (counted("e1", "main", &[("N", 4), ("A", 0)]), "review count_below_reserved"),
        (written_off("e1", "main", &[("A", 3)]), "review written_off_below_reserved"),
        (transferred("e1", "main", "far", &[("A", 3)]), "review transferred_below_reserved"),
        (transferred("e1", "far", "main", &[("B", 3)]), "review transferred_below_reserved"),
        (written_off("e1", "far", &[("B", 2), ("A", 1)]), "review written_off_below_reserved"),
    ];
    for (message, said) in table {
        let mut world = shelves();
        assert_eq!(world.one(message.clone()), said, "{message:?}");
        assert!(world.decision.stock.is_empty() && world.decision.movements.is_empty());
        assert!(!world.has_row("N", "main"), "nothing half done");
        assert_eq!(world.one(message), "silence", "the message is kept with its review");
    }
}

#[test]
fn a_review_names_the_message_and_the_rows_that_are_short() {
    let mut world = shelves();
    world.one(written_off("e1", "main", &[("A", 3), ("B", 1)]));
    let ReviewSubject::Message { subject, event_id, rows } = &world.decision.reviews[0].subject else {
        panic!("about no message");
    };
    assert_eq!((&**subject, event_id.as_str()), ("inventory.written_off.main", "e1"));
    assert_eq!(*rows, [row("A", "main"), row("B", "main")]);
    assert_eq!(world.decision.short, *rows);
}

#[test]
fn a_count_at_or_above_what_is_reserved_is_taken() {
    for on_hand in [3, 4, 5, 6] {
        let mut world = shelves();
        assert_eq!(world.one(counted("e1", "main", &[("A", on_hand)])), "applied");
        assert_eq!(world.figures("A", "main"), (on_hand, 3));
    }
}

#[test]
fn a_document_is_a_business_key() {
    type Message = fn(&str, &str, &[(&str, Qty)]) -> Command;
    for (message, left) in [(received as Message, 6), (written_off as Message, 4)] {
        let mut world = shelves();
        let said = [
            world.one(message("e1", "main", &[("A", 1)]).by("PO-1")),
            world.one(message("e1", "main", &[("A", 1)]).by("PO-1")),
            world.one(message("e2", "main", &[("A", 1)]).by("PO-1")),
            world.one(message("e2", "main", &[("A", 1)]).by("PO-1")),
            world.one(message("e3", "main", &[("A", 2)]).by("PO-1")),
        ];
        assert_eq!(said, ["applied", "silence", "applied", "silence", "dead conflicting_duplicate"]);
        assert_eq!(world.figures("A", "main"), (left, 3), "it took effect once");
        assert_eq!(
            world.one(message("e3", "main", &[("A", 1)]).by("PO-1")),
            "applied",
            "a refused id is decided afresh"
        );
    }
}

#[test]
fn the_sequence_of_a_documents_lines_does_not_count_and_its_subject_does() {
    let mut world = shelves();
    let said = world.take([
        received("e1", "main", &[("A", 1), ("B", 2)]).by("PO-1"),
        received("e2", "main", &[("B", 2), ("A", 1)]).by("PO-1"),
        received("e1", "far", &[("A", 4)]).by("PO-1"),
        written_off("e1", "main", &[("A", 1)]).by("PO-1"),
    ]);
    assert_eq!(said, ["applied"; 4]);
    assert_eq!(
        (world.figures("A", "main"), world.figures("B", "main"), world.figures("A", "far")),
        ((5, 3), (2, 0), (4, 0))
    );
    assert_eq!(world.decision.documents.len(), 3);
}

#[test]
fn a_document_of_a_refused_message_is_not_taken_and_one_under_review_is() {
    let mut world = shelves();
    let message = |id, lines: &[(&str, Qty)]| written_off(id, "main", lines).by("WO-1");
    assert_eq!(world.one(message("e1", &[("X", 1)])), "dead unknown_sku");
    assert_eq!(world.one(message("e2", &[("A", 3)])), "review written_off_below_reserved");
    assert_eq!(world.one(message("e3", &[("A", 3)])), "applied", "the review keeps it already");
    assert_eq!(world.decision.outcomes, [Outcome::Applied]);
    assert_eq!(world.figures("A", "main"), (5, 3));
    assert_eq!(world.one(message("e4", &[("A", 1)])), "dead conflicting_duplicate");
}
