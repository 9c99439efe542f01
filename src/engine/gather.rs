//! The stock rows and resources that the commands may touch, locked in order, and everything else that deciding needs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use sqlx::PgConnection;
use time::Duration;

use super::claim::Claims;
use crate::domain::{
    AskedSlot, Batch, Channel, Command, Condition, Kind, Known, OrderKey, OrderState, Payment, PaymentState, Resource,
    Return, ShipmentKey, Sku, SlotTable, Snapshot, StockKey, StockTable, Text, Timestamp, Warehouse,
};
use crate::store::stock::Wanted;
use crate::store::{Locking, StoreError, inbox, known, payments, routes, shipments, slots, stock};

/// How long a new order may wait for locks before its hold is counted from then on instead of from its claim.
const UNNOTICED: Duration = Duration::milliseconds(250);

/// A snapshot, and what somebody else has locked.
#[derive(Debug)]
pub(super) struct Gathered {
    pub snapshot: Snapshot,
    /// Rows that somebody else has locked; empty unless what is locked is skipped.
    pub missed: HashSet<StockKey>,
    /// Resources that somebody else has locked; empty unless what is locked is skipped.
    pub missed_resources: HashSet<Resource>,
}

/// Locks stock and reads what else the decision needs. The orders are locked already, so their lines cannot change any more and the rows found
/// here are all that can be needed.
pub(super) async fn gather(
    connection: &mut PgConnection,
    batch: Batch<'_>,
    claims: Claims,
    locking: Locking,
) -> Result<Gathered, StoreError> {
    let commands = || batch.commands.iter().chain(batch.waiting);
    let routes = routes::load_many(connection, &channels_that_choose(commands())).await?;
    let wanted = wanted_rows(commands(), &claims, &routes);
    let new_stock = stock::make_many(connection, &rows_to_make(commands())).await?;
    let locked = stock::lock_many(connection, &wanted, locking).await?;
    let missed = match locking {
        Locking::Wait => HashSet::new(),
        Locking::SkipLocked => stock::missed(connection, &wanted, &locked).await?,
    };
    let slots = gather_slots(connection, &wanted_slots(commands(), &claims), locking).await?;
    let now = slots.now.unwrap_or(locked.now);
    let known = Known { resources: slots.known, ..known_of(connection, commands(), &locked).await? };
    let payments = payments_of(connection, commands()).await?;
    let documents = inbox::documents(connection, &documents_named(commands())).await?;
    let shipments = shipments::load_many(connection, &shipments_named(commands())).await?;
    let snapshot = Snapshot {
        now,
        hold_from: hold_from(claims.claimed_at, now),
        orders: claims.orders,
        stock: locked.rows.into_iter().collect::<StockTable>(),
        slots: slots.taken,
        new_stock,
        routes,
        known,
        seen: claims.seen,
        payments,
        documents,
        shipments,
    };
    Ok(Gathered { snapshot, missed, missed_resources: slots.missed })
}

/// Periods that a command may take: those that new orders ask for, and all of orders that are there, which may be had again.
fn wanted_slots<'a>(commands: impl Iterator<Item = &'a Command>, claims: &Claims) -> BTreeSet<AskedSlot> {
    let asked = commands.filter_map(|command| match &command.kind {
        Kind::Create(create) => Some(&create.slots),
        _ => None,
    });
    let of_orders = claims.orders.values().flat_map(|order| &order.slots).map(|hold| &hold.slot);
    asked.flatten().chain(of_orders).cloned().collect()
}

/// Slots as deciding needs them.
#[derive(Default)]
struct GatheredSlots {
    /// The clock after the last lock; none where there was nothing to lock.
    now: Option<Timestamp>,
    known: HashSet<Resource>,
    taken: SlotTable,
    missed: HashSet<Resource>,
}

/// Locks resources, after all stock rows, and reads who has their periods. That must be another statement than the one that waits for the
/// locks: it would read what was there before.
async fn gather_slots(
    connection: &mut PgConnection,
    wanted: &BTreeSet<AskedSlot>,
    locking: Locking,
) -> Result<GatheredSlots, StoreError> {
    let resources: BTreeSet<Resource> = wanted.iter().map(|slot| slot.resource.clone()).collect();
    let Some(locked) = slots::lock_many(connection, &resources, locking).await? else {
        return Ok(GatheredSlots::default());
    };
    let missed = match locking {
        Locking::Wait => HashSet::new(),
        Locking::SkipLocked => slots::missed(connection, &resources, &locked).await?,
    };
    let taken = slots::taken(connection, wanted).await?;
    Ok(GatheredSlots { now: Some(locked.now), known: locked.resources, taken, missed })
}

fn hold_from(claimed_at: Option<Timestamp>, now: Timestamp) -> Timestamp {
    claimed_at.filter(|claimed_at| now - *claimed_at <= UNNOTICED).unwrap_or(now)
}

/// Channels of orders whose lines may need a warehouse chosen.
fn channels_that_choose<'a>(commands: impl Iterator<Item = &'a Command>) -> BTreeSet<Channel> {
    commands
        .filter_map(|command| match &command.kind {
            Kind::Create(create) => create.lines.iter().any(|line| line.warehouse.is_none()).then_some(&create.order),
            Kind::Renew(renew) => Some(&renew.order),
            Kind::Payment(report) => (report.says == PaymentState::Succeeded).then_some(&report.order),
            _ => None,
        })
        .map(|order| order.channel.clone())
        .collect()
}

/// Rows that a command may touch, sorted. A SKU wanted in all its warehouses is not named with one besides.
fn wanted_rows<'a>(
    commands: impl Iterator<Item = &'a Command>,
    claims: &Claims,
    routes: &HashMap<Channel, Vec<Warehouse>>,
) -> Vec<Wanted> {
    let mut wanted = WantedRows { rows: BTreeMap::new(), routes };
    for command in commands {
        match &command.kind {
            Kind::Create(create) => {
                for line in &create.lines {
                    wanted.candidates(&line.sku, line.warehouse.as_ref(), &create.order);
                }
            }
            Kind::Renew(renew) => {
                for line in claims.orders.get(&renew.order).into_iter().flat_map(|order| &order.lines) {
                    wanted.candidates(&line.sku, line.named.then_some(&line.warehouse), &renew.order);
                }
            }
            // Only money that comes late needs more than the rows the order has; whether it does is known when all locks are taken.
            Kind::Payment(report) if report.says == PaymentState::Succeeded => {
                let order = claims.orders.get(&report.order).filter(|order| may_be_had_again(order.stored.state));
                for line in order.into_iter().flat_map(|order| &order.lines) {
                    wanted.candidates(&line.sku, line.named.then_some(&line.warehouse), &report.order);
                }
            }
            Kind::Receive(receipt) => wanted.all(receipt.lines.iter().map(|line| &line.sku), &receipt.warehouse),
            Kind::WriteOff(write_off) => wanted.all(write_off.lines.iter().map(|line| &line.sku), &write_off.warehouse),
            Kind::Count(count) => wanted.all(count.lines.iter().map(|line| &line.sku), &count.warehouse),
            Kind::Transfer(transfer) => {
                wanted.all(transfer.lines.iter().map(|line| &line.sku), &transfer.warehouse);
                wanted.all(transfer.lines.iter().map(|line| &line.sku), &transfer.to);
            }
            Kind::Ship(shipment) => wanted.all(shipment.lines.iter().map(|line| &line.sku), &shipment.key.warehouse),
            Kind::Return(returned) => wanted.all(resellable(returned), &returned.warehouse),
            Kind::Cancel(_) | Kind::Payment(_) | Kind::Expire(_) | Kind::Wake(_) => {}
        }
    }
    for line in claims.orders.values().flat_map(|order| &order.lines) {
        wanted.row(&line.sku, &line.warehouse);
    }
    wanted.sorted()
}

/// Whether an order in this state, or a hold that has ended by the time all locks are taken, may have to be had again.
fn may_be_had_again(state: OrderState) -> bool {
    matches!(state, OrderState::Held | OrderState::Expired | OrderState::Released)
}

/// Payments that are named, and those of the orders that a payment or a cancel names.
async fn payments_of(
    connection: &mut PgConnection,
    commands: impl Iterator<Item = &Command>,
) -> Result<Vec<Payment>, StoreError> {
    let (mut orders, mut named) = (BTreeSet::new(), BTreeSet::new());
    for command in commands {
        match &command.kind {
            Kind::Payment(report) => {
                orders.insert(report.order.clone());
                named.insert(report.key.clone());
            }
            Kind::Cancel(cancel) => {
                orders.insert(cancel.order.clone());
            }
            _ => {}
        }
    }
    payments::load_many(connection, &orders, &named).await
}

/// By SKU, the warehouses wanted; none means all of them.
struct WantedRows<'a> {
    rows: BTreeMap<Sku, Option<BTreeSet<Warehouse>>>,
    routes: &'a HashMap<Channel, Vec<Warehouse>>,
}

impl WantedRows<'_> {
    fn candidates(&mut self, sku: &Sku, named: Option<&Warehouse>, order: &OrderKey) {
        match (named, self.routes.get(&order.channel)) {
            (Some(named), _) => self.row(sku, named),
            (None, Some(route)) => route.iter().for_each(|warehouse| self.row(sku, warehouse)),
            (None, None) => {
                self.rows.insert(sku.clone(), None);
            }
        }
    }

    fn all<'a>(&mut self, skus: impl Iterator<Item = &'a Sku>, warehouse: &Warehouse) {
        skus.for_each(|sku| self.row(sku, warehouse));
    }

    fn row(&mut self, sku: &Sku, warehouse: &Warehouse) {
        match self.rows.get_mut(sku) {
            Some(None) => {}
            Some(Some(warehouses)) => {
                if !warehouses.contains(warehouse) {
                    warehouses.insert(warehouse.clone());
                }
            }
            None => {
                self.rows.insert(sku.clone(), Some(BTreeSet::from([warehouse.clone()])));
            }
        }
    }

    fn sorted(self) -> Vec<Wanted> {
        let mut sorted = Vec::new();
        for (sku, warehouses) in self.rows {
            match warehouses {
                None => sorted.push(Wanted { sku, warehouse: None }),
                Some(warehouses) => sorted.extend(
                    warehouses.into_iter().map(|warehouse| Wanted { sku: sku.clone(), warehouse: Some(warehouse) }),
                ),
            }
        }
        sorted
    }
}

/// Rows that must exist before any row is locked, sorted.
fn rows_to_make<'a>(commands: impl Iterator<Item = &'a Command>) -> Vec<StockKey> {
    let mut keys = BTreeSet::new();
    let mut add = |sku: &Sku, warehouse: &Warehouse| {
        keys.insert(StockKey { sku: sku.clone(), warehouse: warehouse.clone() });
    };
    for command in commands {
        match &command.kind {
            Kind::Receive(receipt) => receipt.lines.iter().for_each(|line| add(&line.sku, &receipt.warehouse)),
            Kind::Count(count) => count.lines.iter().for_each(|line| add(&line.sku, &count.warehouse)),
            Kind::Transfer(transfer) => transfer.lines.iter().for_each(|line| add(&line.sku, &transfer.to)),
            Kind::Return(returned) => resellable(returned).for_each(|sku| add(sku, &returned.warehouse)),
            _ => {}
        }
    }
    keys.into_iter().collect()
}

/// What is known, among what the commands name: most of it shows in the locked rows, the rest is looked up.
async fn known_of(
    connection: &mut PgConnection,
    commands: impl Iterator<Item = &Command>,
    locked: &stock::Locked,
) -> Result<Known, StoreError> {
    let mut known = Known::default();
    for (key, _) in locked.rows.iter().filter(|(_, row)| row.version > 0) {
        known.skus.insert(key.sku.clone());
        known.warehouses.insert(key.warehouse.clone());
    }
    let (mut skus, mut warehouses) = (BTreeSet::new(), BTreeSet::new());
    for command in commands {
        match &command.kind {
            Kind::Create(create) => {
                for line in &create.lines {
                    skus.insert(&line.sku);
                    warehouses.extend(line.warehouse.as_ref());
                }
            }
            Kind::WriteOff(write_off) => {
                skus.extend(write_off.lines.iter().map(|line| &line.sku));
                warehouses.insert(&write_off.warehouse);
            }
            Kind::Transfer(transfer) => {
                skus.extend(transfer.lines.iter().map(|line| &line.sku));
                warehouses.insert(&transfer.warehouse);
            }
            Kind::Ship(shipment) => {
                warehouses.insert(&shipment.key.warehouse);
            }
            _ => {}
        }
    }
    let skus = skus.into_iter().filter(|sku| !known.skus.contains(*sku)).cloned().collect();
    let warehouses = warehouses.into_iter().filter(|one| !known.warehouses.contains(*one)).cloned().collect();
    known.skus.extend(known::skus(connection, &skus).await?);
    known.warehouses.extend(known::warehouses(connection, &warehouses).await?);
    Ok(known)
}

fn documents_named<'a>(commands: impl Iterator<Item = &'a Command>) -> Vec<(Arc<str>, Text)> {
    let mut named = BTreeSet::new();
    for command in commands {
        let document = match &command.kind {
            Kind::Receive(receipt) => receipt.document.as_ref(),
            Kind::WriteOff(write_off) => write_off.document.as_ref(),
            _ => None,
        };
        if let (Some(document), Some(event)) = (document, &command.event) {
            named.insert((event.subject.clone(), document.document_ref.clone()));
        }
    }
    named.into_iter().collect()
}

fn shipments_named<'a>(commands: impl Iterator<Item = &'a Command>) -> Vec<ShipmentKey> {
    let named: BTreeSet<&ShipmentKey> = commands
        .filter_map(|command| match &command.kind {
            Kind::Ship(shipment) => Some(&shipment.key),
            _ => None,
        })
        .collect();
    named.into_iter().cloned().collect()
}

/// What comes back to its shelf.
fn resellable(returned: &Return) -> impl Iterator<Item = &Sku> {
    returned.lines.iter().filter(|line| line.condition == Condition::Resellable).map(|line| &line.sku)
}
