//! The rows of a file as orders: what can be judged of them without the tables.

use std::collections::{BTreeMap, HashMap};

use crate::domain::{
    AskedLine, Channel, Digest, EventId, OrderKey, OrderRef, PaymentMode, Qty, Sku, StockKey, Timestamp, Warehouse,
};
use crate::import::rows::Field;
use crate::import::{BadRow, FileFault, Rows};
use crate::messages::parse_instant;

/// The columns of a file.
pub const COLUMNS: [&str; 7] = ["channel", "order_ref", "sku", "warehouse", "qty", "state", "expires_at"];
/// The most units of a line, as in a message.
const MAX_QTY: Qty = 1_000_000;
/// The most lines of an order, as in a message.
const MAX_LINES: usize = 500;

/// How an order stands in the other system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Unpaid: held until this instant.
    Held(Timestamp),
    /// The customer's.
    Confirmed,
}

/// A line of an order, with its line in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedLine {
    /// Its line in the file.
    pub line: usize,
    /// Where its units lie.
    pub key: StockKey,
    /// How many are reserved, 1 to 1,000,000.
    pub qty: Qty,
}

/// An order that moves in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedOrder {
    /// Which.
    pub key: OrderKey,
    /// How it stands, as a whole.
    pub standing: Standing,
    /// Its lines in the file's order, at least one, each SKU once.
    pub lines: Vec<MovedLine>,
}

/// A file's orders.
#[derive(Debug)]
pub struct File {
    /// Those that can be taken as far as they themselves can tell, sorted by key.
    pub orders: Vec<MovedOrder>,
    /// The rows of the others.
    pub bad: Vec<BadRow>,
}

impl MovedOrder {
    /// How it is paid: what is the customer's already was paid, or sold, elsewhere.
    pub fn payment(&self) -> PaymentMode {
        match self.standing {
            Standing::Held(_) => PaymentMode::Online,
            Standing::Confirmed => PaymentMode::Prepaid,
        }
    }

    /// When its hold ends.
    pub fn expires_at(&self) -> Option<Timestamp> {
        match self.standing {
            Standing::Held(until) => Some(until),
            Standing::Confirmed => None,
        }
    }

    /// Digest of its content, as that of an order which names its warehouses and no total.
    pub fn digest(&self) -> Digest {
        let asked = |line: &MovedLine| AskedLine {
            sku: line.key.sku.clone(),
            qty: line.qty,
            warehouse: Some(line.key.warehouse.clone()),
        };
        let lines: Vec<AskedLine> = self.lines.iter().map(asked).collect();
        Digest::of_order(self.payment(), None, &lines, &[])
    }

    /// The event that creates it: made of all its content, the end of its hold included, so that the same order of a later file is known
    /// whatever became of it.
    pub fn event_id(&self) -> EventId {
        let digest = u128::from_be_bytes(self.digest().0);
        let end = match self.standing {
            Standing::Held(until) => until.unix_timestamp_nanos().to_string(),
            Standing::Confirmed => "confirmed".to_owned(),
        };
        EventId::stored(&format!("import-{digest:032x}-{end}"))
    }
}

/// A row that is good by itself.
struct Row {
    order: OrderKey,
    stock: StockKey,
    qty: Qty,
    standing: Standing,
}

/// Reads a file: `channel,order_ref,sku,warehouse,qty,state,expires_at`. The state is `held`, with an instant in RFC 3339, or `confirmed`,
/// without.
///
/// # Errors
/// It has other columns, or is no CSV.
pub fn read(file: &[u8]) -> Result<File, FileFault> {
    // The orders of bad rows, by the bytes that name them: an order is taken whole or not at all.
    let mut spoiled: HashMap<[Vec<u8>; 2], usize> = HashMap::new();
    let rows = Rows::read_marking(file, COLUMNS, parse, |line, [channel, order_ref, ..]| {
        spoiled.entry([channel.to_vec(), order_ref.to_vec()]).or_insert(line);
    })?;
    let mut orders: BTreeMap<OrderKey, Vec<(usize, Row)>> = BTreeMap::new();
    for (line, row) in rows.good {
        orders.entry(row.order.clone()).or_default().push((line, row));
    }
    let mut read = File { orders: Vec::new(), bad: rows.bad };
    for (key, rows) in orders {
        let named = [&key.channel.as_str(), &key.order_ref.as_str()].map(|name| name.as_bytes().to_vec());
        let mut faults = faults_of(&rows);
        let first_bad = spoiled.get(&named).copied().or_else(|| faults.keys().next().copied());
        match first_bad {
            None => read.orders.push(order(key, rows)),
            Some(bad) => read.bad.extend(rows.iter().map(|(line, _)| BadRow {
                line: *line,
                reason: faults.remove(line).unwrap_or_else(|| whole_or_not(bad)),
            })),
        }
    }
    Ok(read)
}

/// Why a row falls that is good by itself.
pub(super) fn whole_or_not(bad: usize) -> String {
    format!("an order is taken whole or not at all: line {bad} of it is bad")
}

fn parse(
    [channel, order_ref, sku, warehouse, qty, state, expires_at]: [Field<'_>; COLUMNS.len()],
) -> Result<Row, String> {
    let order = OrderKey { channel: channel.name(Channel::new)?, order_ref: order_ref.name(OrderRef::new)? };
    let stock = StockKey { sku: sku.name(Sku::new)?, warehouse: warehouse.name(Warehouse::new)? };
    let qty = qty.whole(1..=MAX_QTY)?;
    let is_held = state.read("held or confirmed", |word| match word {
        "held" => Some(true),
        "confirmed" => Some(false),
        _ => None,
    })?;
    let standing = match (is_held, expires_at.given()) {
        (true, _) => Standing::Held(
            expires_at.read("an instant such as 2027-01-01T10:00:00Z where state is held", parse_instant)?,
        ),
        (false, None) => Standing::Confirmed,
        (false, Some(end)) => end.read("empty where state is confirmed", |_| None)?,
    };
    Ok(Row { order, stock, qty, standing })
}

/// What is wrong with the rows of one order beside each other, by line.
fn faults_of(rows: &[(usize, Row)]) -> BTreeMap<usize, String> {
    let mut faults = BTreeMap::new();
    let mut skus: HashMap<&Sku, usize> = HashMap::new();
    let Some((first, model)) = rows.first() else { return faults };
    for (place, (line, row)) in rows.iter().enumerate() {
        let earlier = *skus.entry(&row.stock.sku).or_insert(*line);
        if earlier != *line {
            faults.insert(*line, format!("this sku stands in line {earlier} of this order already"));
        } else if row.standing != model.standing {
            let reason = "an order is held until one instant or confirmed, as a whole: this row and line";
            faults.insert(*line, format!("{reason} {first} differ in state or expires_at"));
        } else if place >= MAX_LINES {
            faults.insert(*line, format!("an order has at most {MAX_LINES} lines"));
        }
    }
    faults
}

fn order(key: OrderKey, rows: Vec<(usize, Row)>) -> MovedOrder {
    let standing = rows[0].1.standing;
    let lines = rows.into_iter().map(|(line, row)| MovedLine { line, key: row.stock, qty: row.qty }).collect();
    MovedOrder { key, standing, lines }
}
