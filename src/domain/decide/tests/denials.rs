//! What an order could not have is kept as it stood in the middle of the batch.

use super::ask::{Besides, cancel, create, line, line_at, order, period, renew, succeeded};
use super::world::World;
use crate::domain::{AskedSlot, Denial, DeniedSlot, Qty};

/// Of the order's last denial: its event, its word, and each row as `A main 2>5-3 after 1`.
fn denied(world: &World, order_ref: &str) -> Option<(String, &'static str, Vec<String>)> {
    let change = world.decision.orders.iter().find(|change| change.key == order("web", order_ref))?;
    let Denial { event_id, at, reason, by } = change.denial.as_ref()?;
    assert_eq!(*at, world.now);
    assert_eq!(by.slots, []);
    let row = |row: &crate::domain::DeniedRow| {
        let (key, stock) = (&row.key, row.stock);
        let (requested, on_hand, reserved, steps) = (row.requested, stock.on_hand, stock.reserved, row.steps);
        format!("{} {} {requested}>{on_hand}-{reserved} after {steps}", key.sku, key.warehouse)
    };
    Some((event_id.to_string(), reason.word(), by.rows.iter().map(row).collect()))
}

fn shop() -> World {
    World::with(&[("A", "main", 3), ("A", "far", 1), ("B", "main", 5)])
}

#[test]
fn a_denial_knows_what_came_before_it_in_its_batch_and_nothing_that_came_after() {
    let mut world = shop();
    world.take([create("e0", "0", [line_at("A", 1, "main")])]);
    let said = world.take([
        create("e1", "1", [line_at("A", 1, "main")]),
        create("e2", "2", [line("A", 2), line("B", 6)]),
        create("e3", "3", [line_at("A", 1, "main")]),
        create("e4", "4", [line_at("A", 1, "main")]),
    ]);
    assert_eq!(said[1], "rejected insufficient_stock A 2>1 B 6>5");
    let rows = ["A far 2>1-0 after 0", "A main 2>3-2 after 1", "B far 6>0-0 after 0", "B main 6>5-0 after 0"];
    assert_eq!(denied(&world, "2"), Some(("e2".into(), "insufficient_stock", rows.map(str::to_owned).to_vec())));
    let rows = vec!["A main 1>3-3 after 2".to_owned()];
    assert_eq!(denied(&world, "4"), Some(("e4".into(), "insufficient_stock", rows)));
    assert_eq!((denied(&world, "1"), denied(&world, "3")), (None, None));
}

#[test]
fn what_goes_back_in_the_batch_is_a_step_too() {
    let mut world = shop();
    world.take([create("e0", "0", [line_at("A", 3, "main")])]);
    world.take([
        cancel("c0", "0"),
        create("e1", "1", [line_at("A", 2, "main")]),
        create("e2", "2", [line_at("A", 2, "main")]),
    ]);
    let rows = vec!["A main 2>3-2 after 2".to_owned()];
    assert_eq!(denied(&world, "2"), Some(("e2".into(), "insufficient_stock", rows)));
}

#[test]
fn a_renewal_in_vain_is_a_denial_and_every_other_reason_names_no_rows() {
    let mut world = shop();
    world.one(create("e1", "1", [line_at("A", 3, "main")]));
    world.pass(61);
    world.one(create("e2", "2", [line_at("A", 1, "main")]));
    world.one(renew("r1", "1"));
    let rows = vec!["A main 3>3-1 after 0".to_owned()];
    assert_eq!(denied(&world, "1"), Some(("r1".into(), "insufficient_stock", rows)));
    world.one(create("e3", "3", [line("X", 1)]));
    assert_eq!(denied(&world, "3"), Some(("e3".into(), "unknown_sku", Vec::new())));
    world.policy.accept_orders = false;
    world.one(create("e4", "4", [line("A", 1 as Qty)]));
    assert_eq!(denied(&world, "4"), Some(("e4".into(), "not_accepting", Vec::new())));
    world.one(renew("r2", "1"));
    assert_eq!(denied(&world, "1"), Some(("r2".into(), "not_accepting", Vec::new())));
}

#[test]
fn a_denial_stays_with_an_order_that_is_held_in_the_same_batch_after_all() {
    let mut world = shop();
    world.take([create("e1", "1", [line_at("A", 4, "main")]), create("e2", "1", [line_at("A", 3, "main")])]);
    assert_eq!(world.order("1"), "held: 3 A main held");
    assert_eq!(denied(&world, "1").map(|(event, ..)| event), Some("e1".into()));
}

/// Of the order's last denial: each part of a slot that was another's, as `room 1-3: 2-4 of 7 after 1`.
fn slots_denied(world: &World, order_ref: &str) -> Vec<String> {
    let change = world.decision.orders.iter().find(|change| change.key == order("web", order_ref)).unwrap();
    let hours = |slot: &AskedSlot| {
        let [from, to] = [slot.from, slot.to].map(|at| (at - period("room", 0, 1).from).whole_hours());
        format!("{from}-{to}")
    };
    let text = |denied: &DeniedSlot| {
        let DeniedSlot { asked, taken, order, steps } = denied;
        assert_eq!(asked.resource, taken.resource);
        format!("{} {}: {} of {} after {steps}", asked.resource, hours(asked), hours(taken), order.order_ref)
    };
    change.denial.as_ref().unwrap().by.slots.iter().map(text).collect()
}

#[test]
fn a_denial_knows_who_had_a_part_of_a_slot_and_what_came_before_it_in_its_batch() {
    let mut world = shop().rooms(&["room", "hall"]);
    let book = |id: &str, slots: &[AskedSlot]| slots.iter().cloned().fold(create(id, id, []), Besides::with_slot);
    world.take([book("1", &[period("room", 2, 4)])]);
    let said = world.take([
        book("2", &[period("room", 5, 6)]),
        book("3", &[period("hall", 0, 9), period("room", 3, 9)]),
        cancel("c2", "2"),
        book("4", &[period("room", 3, 6)]),
        renew("r1", "1"),
        succeeded("p1", "pi", "1"),
        book("5", &[period("room", 2, 4)]),
    ]);
    assert_eq!(said[1], "rejected slot_taken room 3-9");
    assert_eq!(slots_denied(&world, "3"), ["room 3-9: 2-4 of 1 after 0", "room 3-9: 5-6 of 2 after 1"]);
    assert_eq!(slots_denied(&world, "4"), ["room 3-6: 2-4 of 1 after 0"]);
    assert_eq!(slots_denied(&world, "5"), ["room 2-4: 2-4 of 1 after 1"]);
}
