//! Orders that are under way when this program takes over: held, or the customer's already.
//!
//! The rows of one order are one order, and it is held until one instant or confirmed as a whole, as every order here. What it reserves is
//! counted on top of what is reserved: once, because the order's row bears an event made of its content, by which the same row of a later file is known
//! whatever became of the order. An order that something came before (a payment, say) is taken over, and what waits is applied soon after; one
//! that was rejected here holds nothing, and is taken too.

mod file;
mod plan;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use sqlx::PgConnection;

pub use file::{COLUMNS, File, MovedLine, MovedOrder, Standing, read};

use self::plan::Taken;
use super::{BadRows, Report};
use crate::domain::{
    JournalEntry, LineId, NewReservation, OrderChange, OrderKey, OrderRow, OrderState, Reservation, ReservationState,
    Stock, StockChange, StockKey, Timestamp,
};
use crate::engine::tell_figures;
use crate::store::stock::Wanted;
use crate::store::{Locking, StoreError, imported, journal, orders, reservations, stock};

/// How many rows are locked, written and told at once: as many as a batch of messages may bring.
const CHUNK: usize = 2_000;
/// Why units are reserved that were reserved before this program was.
const OPENING: &str = "opening";

/// Judges the orders against the tables, and takes those that can be had. Locks orders, then stock rows, each sorted.
///
/// # Errors
/// The database's own, and a conflict where a table is other than it was judged.
pub async fn take(connection: &mut PgConnection, file: &File, bad_rows: BadRows) -> Result<Report, StoreError> {
    let mut report = Report { bad: file.bad.clone(), ..Report::default() };
    let (claimed, locked) = claim(connection, &file.orders).await?;
    let new = plan::without_standing(&file.orders, &locked, &mut report);
    let (taken, changes, now) = if new.is_empty() {
        (Vec::new(), Vec::new(), Timestamp::UNIX_EPOCH)
    } else {
        let (figures, now) = lock_stock(connection, &new).await?;
        let (taken, changes) = plan::reserve(new, &figures, now, &mut report);
        (taken, changes, now)
    };
    report.taken = taken.iter().map(|taken| taken.order.lines.len()).sum();
    if report.allows(bad_rows) {
        write(connection, &taken, now).await?;
        change_stock(connection, &changes, now).await?;
        let kept: HashSet<&OrderKey> = taken.iter().map(|taken| &taken.order.key).collect();
        let spare: Vec<OrderKey> = claimed.into_iter().filter(|key| !kept.contains(key)).collect();
        for chunk in spare.chunks(CHUNK) {
            imported::unclaim_many(connection, chunk).await?;
        }
    }
    Ok(report)
}

/// Claims every order, and locks those that were there. Returns the keys whose rows are made here, sorted, and the others' rows.
async fn claim(
    connection: &mut PgConnection,
    orders: &[MovedOrder],
) -> Result<(Vec<OrderKey>, HashMap<OrderKey, OrderRow>), StoreError> {
    let keys: Vec<OrderKey> = orders.iter().map(|order| order.key.clone()).collect();
    let mut taken = HashSet::new();
    for chunk in keys.chunks(CHUNK) {
        taken.extend(imported::claim_many(connection, chunk).await?);
    }
    let (there, made): (Vec<OrderKey>, Vec<OrderKey>) = keys.into_iter().partition(|key| taken.contains(key));
    let mut locked = HashMap::new();
    for chunk in there.chunks(CHUNK) {
        locked.extend(orders::lock_many(connection, chunk, Locking::Wait).await?);
    }
    Ok((made, locked))
}

/// Locks the stock rows of these orders, as far as they are there, and reads the clock after the last.
async fn lock_stock(
    connection: &mut PgConnection,
    orders: &[Taken<'_>],
) -> Result<(BTreeMap<StockKey, Stock>, Timestamp), StoreError> {
    let keys: BTreeSet<&StockKey> =
        orders.iter().flat_map(|taken| taken.order.lines.iter().map(|line| &line.key)).collect();
    let wanted: Vec<Wanted> =
        keys.into_iter().map(|key| Wanted { sku: key.sku.clone(), warehouse: Some(key.warehouse.clone()) }).collect();
    let mut figures = BTreeMap::new();
    let mut now = Timestamp::UNIX_EPOCH;
    for chunk in wanted.chunks(CHUNK) {
        let locked = stock::lock_many(connection, chunk, Locking::Wait).await?;
        now = locked.now;
        figures.extend(locked.rows);
    }
    Ok((figures, now))
}

async fn write(connection: &mut PgConnection, taken: &[Taken<'_>], now: Timestamp) -> Result<(), StoreError> {
    let changes: Vec<OrderChange> = taken.iter().map(|taken| order_change(taken, now)).collect();
    for chunk in changes.chunks(CHUNK) {
        orders::update_many(connection, chunk).await?;
    }
    let lines: Vec<(&MovedOrder, &MovedLine)> =
        taken.iter().flat_map(|taken| taken.order.lines.iter().map(|line| (taken.order, line))).collect();
    for chunk in lines.chunks(CHUNK) {
        let ids = reservations::new_ids(connection, chunk.len()).await?;
        let new: Vec<NewReservation> = chunk.iter().enumerate().map(new_reservation).collect();
        reservations::insert_many(connection, &new, &ids, now).await?;
        let steps: Vec<JournalEntry> = new.iter().zip(chunk).map(first_step).collect();
        journal::insert_steps(connection, &steps, &ids, now).await?;
    }
    Ok(())
}

fn order_change(Taken { order, before }: &Taken<'_>, now: Timestamp) -> OrderChange {
    let expires_at = order.expires_at();
    let row = OrderRow {
        state: if expires_at.is_some() { OrderState::Held } else { OrderState::Confirmed },
        event_id: Some(order.event_id()),
        payment: order.payment(),
        total: None,
        digest: Some(order.digest()),
        rejection: None,
        created_at: now,
        held_since: expires_at.map(|_| now),
        expires_at,
    };
    OrderChange { key: order.key.clone(), row, before: *before, denial: None }
}

/// The file names the warehouse, so no other is ever chosen.
fn new_reservation((place, (order, line)): (usize, &(&MovedOrder, &MovedLine))) -> NewReservation {
    let expires_at = order.expires_at();
    let reservation = Reservation {
        id: LineId::New(place),
        sku: line.key.sku.clone(),
        warehouse: line.key.warehouse.clone(),
        named: true,
        qty: line.qty,
        shipped_qty: 0,
        returned_qty: 0,
        state: if expires_at.is_some() { ReservationState::Held } else { ReservationState::Confirmed },
        cancelled: false,
    };
    NewReservation { order: order.key.clone(), reservation, expires_at }
}

fn first_step((new, (order, _)): (&NewReservation, &(&MovedOrder, &MovedLine))) -> JournalEntry {
    let Reservation { id, sku, warehouse, qty, state, .. } = &new.reservation;
    JournalEntry {
        line: *id,
        sku: sku.clone(),
        warehouse: warehouse.clone(),
        from: None,
        to: *state,
        qty: *qty,
        reason: Some(Arc::from(OPENING)),
        event_id: Some(order.event_id()),
    }
}

async fn change_stock(
    connection: &mut PgConnection,
    changes: &[StockChange],
    now: Timestamp,
) -> Result<(), StoreError> {
    for chunk in changes.chunks(CHUNK) {
        stock::update_many(connection, chunk, now).await?;
        let figures: Vec<(StockKey, Stock)> = chunk.iter().map(|change| (change.key.clone(), change.after)).collect();
        tell_figures(connection, &figures, now).await?;
    }
    Ok(())
}
