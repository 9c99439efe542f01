//! What the marketplaces know: warehouses, items, what is shown, and what is to go wrong.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::rates::Rates;
use super::{Fault, Pace, Picture};
use crate::config::ChannelKind;
use crate::domain::Qty;

/// A place that shows a number: an item in a warehouse, as the channel calls both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// What the channel speaks; one seller each.
    pub kind: ChannelKind,
    /// What the channel calls the warehouse.
    pub warehouse: String,
    /// What the channel calls the item.
    pub item: String,
}

impl Address {
    /// Of these names.
    pub fn new(kind: ChannelKind, warehouse: &str, item: &str) -> Self {
        Self { kind, warehouse: warehouse.to_owned(), item: item.to_owned() }
    }
}

/// Everything, shared with the handlers.
#[derive(Debug)]
pub(super) struct World {
    pub(super) pace: Pace,
    pub(super) rates: Rates,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    warehouses: BTreeMap<ChannelKind, Vec<String>>,
    items: BTreeMap<ChannelKind, BTreeMap<String, String>>,
    places: BTreeMap<Address, Place>,
    in_flight: BTreeMap<Address, usize>,
    calls: BTreeMap<ChannelKind, usize>,
    faults: BTreeMap<ChannelKind, VecDeque<Fault>>,
    read_faults: BTreeMap<ChannelKind, VecDeque<Fault>>,
    item_faults: BTreeMap<Address, VecDeque<Fault>>,
    pub(super) overlaps: usize,
    pub(super) hides_zeros: bool,
    pub(super) knows_all: bool,
    pub(super) webhook_ids: Vec<String>,
}

#[derive(Debug, Default)]
struct Place {
    shown: Qty,
    /// What pushes have made of it.
    told: Vec<Qty>,
    /// The newest version that was applied: only webhooks bear one.
    version: i64,
    changed_at: Option<Instant>,
}

/// One item of a push.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) address: Address,
    pub(super) qty: Qty,
    /// 0 where the channel knows of none.
    pub(super) version: i64,
}

/// A push that has come and is not answered: as long as this lives, another of the same address overlaps.
pub(super) struct Flight {
    world: Arc<World>,
    addresses: Vec<Address>,
    /// What is to become of it.
    pub(super) fault: Option<Fault>,
    /// Of which item.
    pub(super) of: usize,
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut state = self.world.lock();
        for address in &self.addresses {
            if let Some(flying) = state.in_flight.get_mut(address) {
                *flying -= 1;
            }
        }
    }
}

impl World {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, rates: Rates::new(), state: Mutex::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A push has come.
    pub(super) fn enter(self: &Arc<Self>, kind: ChannelKind, writes: &[Write]) -> Flight {
        let addresses: Vec<_> = writes.iter().map(|write| write.address.clone()).collect();
        let mut state = self.lock();
        *state.calls.entry(kind).or_default() += 1;
        for address in &addresses {
            let flying = state.in_flight.entry(address.clone()).or_default();
            *flying += 1;
            if *flying > 1 {
                state.overlaps += 1;
            }
        }
        let (of, fault) = state.next_fault(kind, &addresses);
        drop(state);
        Flight { world: self.clone(), addresses, fault, of }
    }

    /// Applies it after so long, whatever becomes of the caller.
    pub(super) fn apply_later(self: &Arc<Self>, writes: Vec<Write>, after: Duration) -> tokio::task::JoinHandle<()> {
        let world = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            world.lock().apply(&writes);
        })
    }
}

impl State {
    pub(super) fn add_warehouse(&mut self, kind: ChannelKind, id: &str) {
        self.warehouses.entry(kind).or_default().push(id.to_owned());
    }

    pub(super) fn add_item(&mut self, kind: ChannelKind, id: &str, code: &str) {
        self.items.entry(kind).or_default().insert(id.to_owned(), code.to_owned());
    }

    pub(super) fn warehouses(&self, kind: ChannelKind) -> Vec<String> {
        let mut warehouses = self.warehouses.get(&kind).cloned().unwrap_or_default();
        for address in self.heard_of(kind) {
            if !warehouses.contains(&address.warehouse) {
                warehouses.push(address.warehouse.clone());
            }
        }
        warehouses
    }

    pub(super) fn has_warehouse(&self, kind: ChannelKind, id: &str) -> bool {
        self.knows_all || self.warehouses.get(&kind).is_some_and(|there| there.iter().any(|one| one == id))
    }

    /// Each with the seller's own name.
    pub(super) fn items(&self, kind: ChannelKind) -> BTreeMap<String, String> {
        let mut items = self.items.get(&kind).cloned().unwrap_or_default();
        for address in self.heard_of(kind) {
            items.entry(address.item.clone()).or_insert_with(|| address.item.clone());
        }
        items
    }

    pub(super) fn has_item(&self, kind: ChannelKind, id: &str) -> bool {
        self.knows_all || self.items.get(&kind).is_some_and(|there| there.contains_key(id))
    }

    /// Where something is shown that nobody has made known, if all is taken for known.
    fn heard_of(&self, kind: ChannelKind) -> impl Iterator<Item = &Address> {
        self.places.keys().filter(move |address| self.knows_all && address.kind == kind)
    }

    pub(super) fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        for (address, place) in &self.places {
            let warehouse = picture.entry(address.kind).or_default().entry(address.warehouse.clone()).or_default();
            warehouse.insert(address.item.clone(), place.shown);
        }
        picture
    }

    pub(super) fn shown(&self, address: &Address) -> Option<Qty> {
        self.places.get(address).map(|place| place.shown)
    }

    /// What a reading lists.
    pub(super) fn listed(&self, address: &Address) -> Option<Qty> {
        self.shown(address).filter(|qty| *qty != 0 || !self.hides_zeros)
    }

    /// Every item of a warehouse that shows a number.
    pub(super) fn listed_in(&self, kind: ChannelKind, warehouse: &str) -> Vec<(String, Qty)> {
        let of_it = self.places.keys().filter(|address| address.kind == kind && address.warehouse == warehouse);
        of_it.filter_map(|address| Some((address.item.clone(), self.listed(address)?))).collect()
    }

    pub(super) fn told(&self, address: &Address) -> Vec<Qty> {
        self.places.get(address).map(|place| place.told.clone()).unwrap_or_default()
    }

    pub(super) fn set(&mut self, address: &Address, qty: Qty) {
        self.places.entry(address.clone()).or_default().shown = qty;
    }

    pub(super) fn sell(&mut self, address: &Address, qty: Qty) -> Qty {
        let place = self.places.entry(address.clone()).or_default();
        let sold = qty.clamp(0, place.shown.max(0));
        place.shown -= sold;
        sold
    }

    pub(super) fn pushes(&self, kind: ChannelKind) -> usize {
        self.calls.get(&kind).copied().unwrap_or_default()
    }

    /// Where versions are known, an older one changes nothing, however late it comes.
    pub(super) fn apply(&mut self, writes: &[Write]) {
        for write in writes {
            let place = self.places.entry(write.address.clone()).or_default();
            if write.version < place.version {
                continue;
            }
            place.shown = write.qty;
            place.told.push(write.qty);
            place.version = write.version;
            place.changed_at = Some(Instant::now());
        }
    }

    /// Whether the place was changed by a push within the interval.
    pub(super) fn is_recent(&self, address: &Address, interval: Duration) -> bool {
        let changed_at = self.places.get(address).and_then(|place| place.changed_at);
        changed_at.is_some_and(|at| at.elapsed() < interval)
    }

    /// Whether a newer version was applied.
    pub(super) fn is_older(&self, write: &Write) -> bool {
        self.places.get(&write.address).is_some_and(|place| place.version > write.version)
    }

    pub(super) fn arm(&mut self, kind: ChannelKind, fault: Fault) {
        self.faults.entry(kind).or_default().push_back(fault);
    }

    pub(super) fn arm_read(&mut self, kind: ChannelKind, fault: Fault) {
        self.read_faults.entry(kind).or_default().push_back(fault);
    }

    pub(super) fn arm_item(&mut self, address: &Address, fault: Fault, times: usize) {
        self.item_faults.entry(address.clone()).or_default().extend(std::iter::repeat_n(fault, times));
    }

    pub(super) fn is_armed(&self) -> bool {
        let left = self.faults.values().chain(self.item_faults.values());
        left.into_iter().any(|faults| !faults.is_empty())
    }

    pub(super) fn disarm(&mut self) {
        self.faults.clear();
        self.read_faults.clear();
        self.item_faults.clear();
    }

    pub(super) fn next_read_fault(&mut self, kind: ChannelKind) -> Option<Fault> {
        self.read_faults.get_mut(&kind)?.pop_front()
    }

    /// Of the first item that has one, or the next of the kind, of the first item.
    fn next_fault(&mut self, kind: ChannelKind, addresses: &[Address]) -> (usize, Option<Fault>) {
        for (at, address) in addresses.iter().enumerate() {
            if let Some(fault) = self.item_faults.get_mut(address).and_then(VecDeque::pop_front) {
                return (at, Some(fault));
            }
        }
        (0, self.faults.get_mut(&kind).and_then(VecDeque::pop_front))
    }

    /// Whether an address stands twice among them.
    pub(super) fn has_twice(writes: &[Write]) -> bool {
        let mut seen = HashSet::new();
        !writes.iter().all(|write| seen.insert((&write.address.warehouse, &write.address.item)))
    }
}

/// The codes of items that are refused, by their place in a call.
pub(super) type Refused = HashMap<usize, &'static str>;
