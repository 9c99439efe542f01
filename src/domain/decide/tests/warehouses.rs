//! Choosing the warehouse of lines that name none.

use super::ask::{Besides, create, line, line_at};
use super::world::World;
use crate::domain::{AskedLine, Qty};

/// Where an order's lines are held, with what on the shelves; `web` is served from `z`, then `a`; `shop` has no warehouses of its own.
fn held(channel: &str, shelves: &[(&str, &str, Qty)], lines: &[AskedLine]) -> String {
    let mut world = World::with(shelves).route("web", &["z", "a"]);
    let said = world.one(create("e1", "1", lines).on(channel));
    if said == "held" { world.order_on(channel, "1") } else { said }
}

#[test]
fn the_channels_own_priority_decides_or_the_name_where_it_has_no_map() {
    let shelves = [("A", "a", 5), ("A", "m", 5), ("A", "z", 5)];
    assert_eq!(held("web", &shelves, &[line("A", 1)]), "held: 1 A z held");
    assert_eq!(held("shop", &shelves, &[line("A", 1)]), "held: 1 A a held");
}

#[test]
fn a_warehouse_outside_the_channels_map_serves_only_who_names_it() {
    let shelves = [("A", "m", 5), ("A", "z", 1)];
    assert_eq!(held("web", &shelves, &[line("A", 2)]), "rejected insufficient_stock A 2>1");
    assert_eq!(held("web", &shelves, &[line_at("A", 2, "m")]), "held: 2 A m held");
    assert_eq!(held("shop", &shelves, &[line("A", 2)]), "held: 2 A m held");
}

#[test]
fn the_first_that_serves_all_lines_serves_them() {
    let shelves = [("A", "z", 1), ("A", "a", 1), ("B", "a", 1)];
    assert_eq!(held("web", &shelves, &[line("A", 1), line("B", 1)]), "held: 1 A a held, 1 B a held");
}

#[test]
fn if_none_serves_all_each_line_goes_to_the_first_that_serves_it_whole() {
    let shelves = [("A", "z", 1), ("A", "a", 9), ("B", "a", 1), ("C", "z", 1)];
    let lines = [line("A", 1), line("B", 1), line("C", 1)];
    assert_eq!(held("web", &shelves, &lines), "held: 1 A z held, 1 B a held, 1 C z held");
}

#[test]
fn no_line_is_split() {
    let shelves = [("A", "z", 2), ("A", "a", 2)];
    assert_eq!(held("web", &shelves, &[line("A", 3)]), "rejected insufficient_stock A 3>2");
    assert_eq!(held("shop", &shelves, &[line("A", 3)]), "rejected insufficient_stock A 3>2");
}

#[test]
fn a_named_warehouse_stays_and_does_not_bind_the_other_lines() {
    let shelves = [("A", "z", 5), ("A", "a", 5), ("B", "z", 5), ("B", "a", 5)];
    assert_eq!(held("web", &shelves, &[line_at("A", 1, "a"), line("B", 1)]), "held: 1 A a held, 1 B z held");
    let shelves = [("A", "z", 5), ("A", "a", 0)];
    assert_eq!(held("web", &shelves, &[line_at("A", 1, "a")]), "rejected insufficient_stock A 1>0");
}

#[test]
fn the_best_single_warehouse_is_looked_for_among_the_candidates_only() {
    let shelves = [("A", "m", 8), ("A", "z", 2), ("A", "a", 3)];
    assert_eq!(held("web", &shelves, &[line("A", 9)]), "rejected insufficient_stock A 9>3");
    assert_eq!(held("shop", &shelves, &[line("A", 9)]), "rejected insufficient_stock A 9>8");
}
