//! What a file says, and what becomes of it beside tables, without any.

use std::collections::{BTreeMap, HashMap};

use time::macros::datetime;

use super::file::{MovedOrder, read};
use super::plan::{reserve, without_standing};
use crate::domain::{
    Channel, OrderKey, OrderRef, OrderRow, OrderState, PaymentMode, Sku, Stock, StockChange, StockKey, Timestamp,
    Warehouse,
};
use crate::import::{BadRow, Report};

const HEADER: &str = "channel,order_ref,sku,warehouse,qty,state,expires_at";
const NOW: Timestamp = datetime!(2027-01-01 10:00 UTC);

fn orders(rows: &[&str]) -> (Vec<MovedOrder>, Vec<(usize, String)>) {
    let file = read(format!("{HEADER}\n{}\n", rows.join("\n")).as_bytes()).unwrap();
    (file.orders, pairs(file.bad))
}

fn pairs(mut bad: Vec<BadRow>) -> Vec<(usize, String)> {
    bad.sort_by_key(|bad| bad.line);
    bad.into_iter().map(|bad| (bad.line, bad.reason)).collect()
}

fn bad(rows: &[(usize, &str)]) -> Vec<(usize, String)> {
    rows.iter().map(|(line, reason)| (*line, (*reason).to_owned())).collect()
}

fn stock(rows: &[(&str, i64, i64)]) -> BTreeMap<StockKey, Stock> {
    let row = |(sku, on_hand, reserved): &(&str, i64, i64)| {
        let key = StockKey { sku: Sku::new(sku).unwrap(), warehouse: Warehouse::new("main").unwrap() };
        (key, Stock { on_hand: *on_hand, reserved: *reserved, version: 7 })
    };
    rows.iter().map(row).collect()
}

/// Who is taken, how the stock changes, and which rows are bad.
type Outcome = (Vec<String>, Vec<StockChange>, Vec<(usize, String)>);

fn outcome(rows: &[&str], figures: &[(&str, i64, i64)]) -> Outcome {
    let (orders, unread) = orders(rows);
    assert_eq!(unread, []);
    let mut report = Report::default();
    let new = without_standing(&orders, &HashMap::new(), &mut report);
    let (taken, changes) = reserve(new, &stock(figures), NOW, &mut report);
    let refs = taken.iter().map(|taken| taken.order.key.order_ref.as_str().to_owned()).collect();
    (refs, changes, pairs(report.bad))
}

fn reserved(changes: &[StockChange]) -> Vec<(&str, i64, i64, i64)> {
    changes
        .iter()
        .map(|change| (change.key.sku.as_str(), change.before.reserved, change.after.reserved, change.after.version))
        .collect()
}

#[test]
fn rows_of_one_order_are_one_order_wherever_they_stand() {
    let (orders, unread) = orders(&[
        "web,2,A,main,1,confirmed,",
        "web,1,A,main,2,held,2027-01-01T11:00:00Z",
        "web,2,B,far,3,confirmed,",
        "web,1,B,main,1,held,2027-01-01T12:00:00+01:00",
    ]);
    assert_eq!(unread, []);
    let found: Vec<_> = orders
        .iter()
        .map(|order| (order.key.order_ref.as_str(), order.payment(), order.expires_at(), order.lines.len()))
        .collect();
    let end = datetime!(2027-01-01 11:00 UTC);
    assert_eq!(found, [("1", PaymentMode::Online, Some(end), 2), ("2", PaymentMode::Prepaid, None, 2)]);
}

#[test]
fn a_bad_row_is_named_and_takes_its_order_with_it() {
    let (orders, unread) = orders(&[
        "web,1,A,main,1,confirmed,",
        "web,1,B,main,-1,confirmed,",
        "web,2,A,main,1,held,",
        "web,3,A,main,1,confirmed,2027-01-01T11:00:00Z",
        "web,4,A,main,1,paid,",
        "web,5,A,main,1,confirmed,",
        "web,5,A,far,1,confirmed,",
        "web,6,A,main,1,confirmed,",
        "web,6,B,main,1,held,2027-01-01T11:00:00Z",
        "web,7,A,main,1,held,tomorrow",
        "web,8,A,main,1,confirmed,",
    ]);
    assert_eq!(
        unread,
        bad(&[
            (2, "an order is taken whole or not at all: line 3 of it is bad"),
            (3, "qty must be a whole number from 1 to 1000000, not \"-1\""),
            (4, "expires_at must be an instant such as 2027-01-01T10:00:00Z where state is held, not \"\""),
            (5, "expires_at must be empty where state is confirmed, not \"2027-01-01T11:00:00Z\""),
            (6, "state must be held or confirmed, not \"paid\""),
            (7, "an order is taken whole or not at all: line 8 of it is bad"),
            (8, "this sku stands in line 7 of this order already"),
            (9, "an order is taken whole or not at all: line 10 of it is bad"),
            (
                10,
                "an order is held until one instant or confirmed, as a whole: this row and line 9 differ in state or expires_at"
            ),
            (11, "expires_at must be an instant such as 2027-01-01T10:00:00Z where state is held, not \"tomorrow\""),
        ])
    );
    let refs: Vec<_> = orders.iter().map(|order| order.key.order_ref.as_str()).collect();
    assert_eq!(refs, ["8"]);
}

#[test]
fn what_is_free_goes_to_the_orders_as_they_stand_in_the_file_each_whole_or_not_at_all() {
    let rows = [
        "web,9,A,main,3,confirmed,",
        "web,1,A,main,1,confirmed,",
        "web,1,B,main,5,confirmed,",
        "web,2,A,main,1,held,2027-01-01T11:00:00Z",
        "web,3,A,main,1,confirmed,",
    ];
    let (refs, changes, unread) = outcome(&rows, &[("A", 5, 1), ("B", 4, 0)]);
    assert_eq!(refs, ["2", "9"]);
    assert_eq!(reserved(&changes), [("A", 1, 5, 8)]);
    let short = |units: &str, sku: &str, on_hand: i64, reserved: i64| {
        format!(
            "{units} of {sku} in main cannot be reserved: of {on_hand} on hand {reserved} are reserved, by orders that are there or stand before"
        )
    };
    assert_eq!(
        unread,
        bad(&[
            (3, "an order is taken whole or not at all: line 4 of it is bad"),
            (4, &short("5", "B", 4, 0)),
            (6, &short("1", "A", 5, 5)),
        ])
    );
}

#[test]
fn an_unknown_row_of_stock_and_an_end_that_is_over_are_bad() {
    let rows = [
        "web,1,GHOST,main,1,confirmed,",
        "web,2,A,main,1,held,2027-01-01T10:00:00Z",
        "web,3,A,main,1,held,2027-01-01T10:00:00.000001Z",
    ];
    let (refs, changes, unread) = outcome(&rows, &[("A", 5, 0)]);
    assert_eq!(refs, ["3"]);
    assert_eq!(reserved(&changes), [("A", 0, 1, 8)]);
    assert_eq!(
        unread,
        bad(&[
            (2, "GHOST has no row of stock in main: its stock has to be there first"),
            (3, "expires_at is in the past by the database's clock"),
        ])
    );
}

#[test]
fn an_order_that_is_there_is_unchanged_or_in_the_way() {
    let (orders, _) = orders(&[
        "web,1,A,main,1,held,2027-01-01T11:00:00Z",
        "web,1,B,main,1,held,2027-01-01T11:00:00Z",
        "web,2,A,main,1,confirmed,",
        "web,3,A,main,1,confirmed,",
        "web,4,A,main,1,confirmed,",
    ]);
    let key =
        |order: &str| OrderKey { channel: Channel::new("web").unwrap(), order_ref: OrderRef::new(order).unwrap() };
    let row = |state, event_id| OrderRow { state, event_id, ..OrderRow::awaited(NOW) };
    let locked = HashMap::from([
        // The same, whatever became of it.
        (key("1"), row(OrderState::Expired, Some(orders[0].event_id()))),
        (key("2"), row(OrderState::Held, Some(orders[0].event_id()))),
        (key("3"), row(OrderState::Rejected, Some(orders[0].event_id()))),
        (key("4"), row(OrderState::Awaited, None)),
    ]);
    let mut report = Report::default();
    let new = without_standing(&orders, &locked, &mut report);
    let new: Vec<_> = new.iter().map(|taken| (taken.order.key.order_ref.as_str(), taken.before)).collect();
    assert_eq!(new, [("3", OrderState::Rejected), ("4", OrderState::Awaited)]);
    assert_eq!(report.unchanged, 2);
    let reason = "this order is there already, held, and did not come out of this file";
    assert_eq!(pairs(report.bad), bad(&[(4, reason)]));
}

#[test]
fn an_event_is_made_of_everything_that_an_order_says() {
    let event = |row: &str| orders(&[row]).0[0].event_id();
    let held = event("web,1,A,main,1,held,2027-01-01T11:00:00Z");
    assert_eq!(held, event("web,1,A,main,1,held,2027-01-01T12:00:00+01:00"));
    for other in [
        "web,1,A,main,1,held,2027-01-01T11:00:01Z",
        "web,1,A,main,1,confirmed,",
        "web,1,A,main,2,held,2027-01-01T11:00:00Z",
        "web,1,A,far,1,held,2027-01-01T11:00:00Z",
        "web,1,B,main,1,held,2027-01-01T11:00:00Z",
    ] {
        assert_ne!(held, event(other), "{other}");
    }
}
