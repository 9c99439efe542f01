//! A file's orders beside what is locked of the tables: which are taken, and what that makes of the stock.

use std::collections::{BTreeMap, HashMap};

use super::file::{MovedLine, MovedOrder, Standing, whole_or_not};
use crate::domain::{OrderKey, OrderRow, OrderState, Stock, StockChange, StockKey, Timestamp};
use crate::import::Report;

/// An order to take, and the state its row is in.
#[derive(Debug, Clone, Copy)]
pub struct Taken<'a> {
    /// It.
    pub order: &'a MovedOrder,
    /// `awaited` where its row was made for it, or by what came before it; `rejected` where it held nothing.
    pub before: OrderState,
}

/// Leaves out the orders that are there: the same ones are unchanged, others bad. `locked` are those that have had a row before.
pub fn without_standing<'a>(
    orders: &'a [MovedOrder],
    locked: &HashMap<OrderKey, OrderRow>,
    report: &mut Report,
) -> Vec<Taken<'a>> {
    let mut new = Vec::with_capacity(orders.len());
    for order in orders {
        let Some(row) = locked.get(&order.key) else {
            new.push(Taken { order, before: OrderState::Awaited });
            continue;
        };
        if row.event_id.as_ref() == Some(&order.event_id()) {
            report.unchanged += order.lines.len();
        } else if matches!(row.state, OrderState::Awaited | OrderState::Rejected) {
            new.push(Taken { order, before: row.state });
        } else {
            let reason =
                format!("this order is there already, {}, and did not come out of this file", row.state.word());
            refuse(report, &order.lines, &reason);
        }
    }
    new
}

/// Leaves out the orders that cannot be had. What is free goes to the orders as they stand in the file; each is taken whole or not at all.
/// Returns the changes of the stock rows, each once, sorted.
pub fn reserve<'a>(
    mut orders: Vec<Taken<'a>>,
    stock: &BTreeMap<StockKey, Stock>,
    now: Timestamp,
    report: &mut Report,
) -> (Vec<Taken<'a>>, Vec<StockChange>) {
    let mut after = stock.clone();
    orders.sort_by_key(|taken| taken.order.lines[0].line);
    orders.retain(|taken| {
        let faults = faults_of(taken.order, &after, now);
        if let Some((bad, _)) = faults.first_key_value() {
            for MovedLine { line, .. } in &taken.order.lines {
                report.refuse(*line, faults.get(line).cloned().unwrap_or_else(|| whole_or_not(*bad)));
            }
            return false;
        }
        for line in &taken.order.lines {
            if let Some(stock) = after.get_mut(&line.key) {
                stock.reserved += line.qty;
            }
        }
        true
    });
    orders.sort_by(|left, right| left.order.key.cmp(&right.order.key));
    (orders, changes(stock, after))
}

fn refuse(report: &mut Report, lines: &[MovedLine], reason: &str) {
    for MovedLine { line, .. } in lines {
        report.refuse(*line, reason);
    }
}

/// Why an order cannot be had, by line.
fn faults_of(order: &MovedOrder, stock: &BTreeMap<StockKey, Stock>, now: Timestamp) -> BTreeMap<usize, String> {
    let fault = |MovedLine { key, qty, .. }: &MovedLine| {
        if matches!(order.standing, Standing::Held(until) if until <= now) {
            return Some("expires_at is in the past by the database's clock".to_owned());
        }
        let StockKey { sku, warehouse } = key;
        let Some(stock) = stock.get(key) else {
            return Some(format!("{sku} has no row of stock in {warehouse}: its stock has to be there first"));
        };
        let Stock { on_hand, reserved, .. } = stock;
        (stock.available() < *qty).then(|| {
            let known =
                format!("of {on_hand} on hand {reserved} are reserved, by orders that are there or stand before");
            format!("{qty} of {sku} in {warehouse} cannot be reserved: {known}")
        })
    };
    order.lines.iter().filter_map(|line| Some((line.line, fault(line)?))).collect()
}

fn changes(before: &BTreeMap<StockKey, Stock>, after: BTreeMap<StockKey, Stock>) -> Vec<StockChange> {
    let change = |(key, mut after): (StockKey, Stock)| {
        let before = before[&key];
        after.version += 1;
        (before.reserved != after.reserved).then_some(StockChange { key, before, after, cause: None })
    };
    after.into_iter().filter_map(change).collect()
}
