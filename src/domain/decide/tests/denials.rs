//! What an order could not have is kept as it stood in the middle of the batch.

use super::ask::{cancel, create, line, line_at, order, renew};
use super::world::World;
use crate::domain::{Denial, Qty};

/// Of the order's last denial: its event, its word, and each row as `A main 2>5-3 after 1`.
fn denied(world: &World, order_ref: &str) -> Option<(String, &'static str, Vec<String>)> {
    let change = world.decision.orders.iter().find(|change| change.key == order("web", order_ref))?;
    let Denial { event_id, at, reason, rows } = change.denial.as_ref()?;
    assert_eq!(*at, world.now);
    let row = |row: &crate::domain::DeniedRow| {
        let (key, stock) = (&row.key, row.stock);
        let (requested, on_hand, reserved, steps) = (row.requested, stock.on_hand, stock.reserved, row.steps);
        format!("{} {} {requested}>{on_hand}-{reserved} after {steps}", key.sku, key.warehouse)
    };
    Some((event_id.to_string(), reason.word(), rows.iter().map(row).collect()))
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
