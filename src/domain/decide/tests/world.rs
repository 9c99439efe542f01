//! A database in memory: snapshots are taken from it and decisions applied to it, as the engine does with tables, and after every batch the
//! invariants are checked.

mod invariants;
mod picture;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::ask;
use crate::domain::ReservationState::{Confirmed, Held};
use crate::domain::decide::{Batch, decide};
use crate::domain::{
    Answer, Channel, Command, Condition, Decision, Digest, EventKey, HoldBounds, JournalEntry, Kind, Known, LineId,
    Order, OrderKey, OrderRow, OrderState, Outcome, ParcelLine, Payment, PaymentKey, PaymentPolicy, Policy, Qty,
    Reservation, Resource, ReviewSubject, ShipmentKey, SlotHold, SlotStep, SlotTable, Snapshot, Stock, StockKey, Taken,
    Text, Timestamp, Warehouse,
};
use picture::brief;
pub(super) use picture::said;

/// When every world begins.
pub(super) const START: Timestamp = time::macros::datetime!(2027-01-01 10:00 UTC);

/// How long holds are: 60 s, 10 to 200.
pub(super) const HOLD: HoldBounds = HoldBounds { default_s: 60, min_s: 10, max_s: 200 };

pub(super) struct World {
    pub now: Timestamp,
    pub policy: Policy,
    /// Whether a batch is shown only the orders that it names, and more only if somebody would be refused: as the engine does it. Else all.
    pub narrow: bool,
    /// How many seconds before the last lock new orders are claimed.
    pub lag_s: i64,
    /// What was decided last.
    pub decision: Decision,
    /// What became of every command so far, in the order of their coming.
    pub fates: Vec<String>,
    /// What a redelivered event's sender is told if it asks directly: the event's number, and how its order stands.
    pub presents: Vec<(usize, String)>,
    /// What the world was told of orders.
    pub told: Vec<Answer>,
    /// About which orders a person was asked, and why.
    pub reviews: Vec<String>,
    /// Refunds that were required, and whether they were settled in the same batch.
    pub refunds: Vec<String>,
    /// The journal.
    pub journal: Vec<JournalEntry>,
    /// What left shelves for orders, and what came back.
    pub parcels: Vec<ParcelLine>,
    /// The slots' journal.
    pub slot_journal: Vec<SlotStep>,
    resources: HashSet<Resource>,
    routes: HashMap<Channel, Vec<Warehouse>>,
    stock: BTreeMap<StockKey, Stock>,
    moved: BTreeMap<StockKey, Qty>,
    orders: BTreeMap<OrderKey, Order>,
    payments: BTreeMap<PaymentKey, Payment>,
    ends: HashMap<LineId, Option<Timestamp>>,
    slot_ends: HashMap<LineId, Option<Timestamp>>,
    seen: HashSet<EventKey>,
    documents: HashMap<(Arc<str>, Text), Digest>,
    shipments: HashMap<ShipmentKey, Digest>,
    waiting: Vec<(usize, Command)>,
}

impl World {
    /// A world with these figures on its shelves: SKU, warehouse, units.
    pub fn with(shelves: &[(&str, &str, Qty)]) -> Self {
        let mut world = Self {
            now: START,
            policy: Policy {
                hold: HOLD,
                accept_orders: true,
                payments: PaymentPolicy { window_s: 90, failure_keeps: false },
                sold_elsewhere: HashSet::from([ask::channel("ozon")]),
            },
            narrow: false,
            lag_s: 0,
            decision: Decision::default(),
            fates: Vec::new(),
            presents: Vec::new(),
            told: Vec::new(),
            reviews: Vec::new(),
            refunds: Vec::new(),
            journal: Vec::new(),
            parcels: Vec::new(),
            slot_journal: Vec::new(),
            resources: HashSet::new(),
            routes: HashMap::new(),
            stock: BTreeMap::new(),
            moved: BTreeMap::new(),
            orders: BTreeMap::new(),
            payments: BTreeMap::new(),
            ends: HashMap::new(),
            slot_ends: HashMap::new(),
            seen: HashSet::new(),
            documents: HashMap::new(),
            shipments: HashMap::new(),
            waiting: Vec::new(),
        };
        for (sku, warehouse, on_hand) in shelves {
            world.stock.insert(ask::row(sku, warehouse), Stock { on_hand: *on_hand, reserved: 0, version: 1 });
            world.moved.insert(ask::row(sku, warehouse), *on_hand);
        }
        world
    }

    /// The channel is served from these warehouses, in this order.
    pub fn route(mut self, channel: &str, warehouses: &[&str]) -> Self {
        self.routes.insert(ask::channel(channel), warehouses.iter().map(|name| ask::warehouse(name)).collect());
        self
    }

    /// These resources are known.
    pub fn rooms(mut self, names: &[&str]) -> Self {
        self.resources.extend(names.iter().map(|name| Resource::new(name).expect("a resource")));
        self
    }

    pub fn pass(&mut self, seconds: i64) {
        self.now += time::Duration::seconds(seconds);
    }

    /// Decides a batch, applies it, checks the invariants, and says what became of each of the commands.
    pub fn take(&mut self, commands: impl Into<Vec<Command>>) -> Vec<String> {
        let commands = commands.into();
        let first = self.fates.len();
        self.fates.resize(first + commands.len(), String::new());
        let named: BTreeSet<&OrderKey> = commands.iter().filter_map(|command| command.kind.order()).collect();
        let (woken, rest) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(_, command)| command.kind.order().is_some_and(|order| named.contains(order)));
        self.waiting = rest;
        let (numbers, waiting): (Vec<usize>, Vec<Command>) = Vec::into_iter(woken).unzip();

        let made = self.make_rows(commands.iter().chain(&waiting));
        self.claim(&commands);
        self.decision = self.decide(&commands, &waiting, &made);
        self.apply(&commands, &waiting, &made);

        let numbers = (first..).take(commands.len()).chain(numbers);
        for ((number, command), outcome) in numbers.zip(commands.iter().chain(&waiting)).zip(&self.decision.outcomes) {
            self.fates[number] = brief(outcome, &self.decision);
            match outcome {
                Outcome::Waiting => self.waiting.push((number, command.clone())),
                Outcome::Redelivered(Some(present)) => self.presents.push((number, said(present))),
                _ => {}
            }
        }
        self.waiting.sort_by_key(|(number, _)| *number);
        self.check(&commands, &waiting);
        self.fates[first..].to_vec()
    }

    /// What becomes of a single command.
    pub fn one(&mut self, command: Command) -> String {
        self.take([command]).remove(0)
    }

    /// Decides a message that was kept for a person, now that the person says so, and says what became of it. If it is about an order, that is named.
    pub fn resolve(&mut self, command: Command) -> String {
        let named = command.kind.order().cloned();
        let commands: Vec<Command> =
            named.into_iter().map(|order| Command { event: None, kind: Kind::Wake(order) }).collect();
        let waiting = [command];
        let made = self.make_rows(waiting.iter());
        self.decision = self.decide(&commands, &waiting, &made);
        self.apply(&commands, &waiting, &made);
        self.check(&commands, &waiting);
        brief(&self.decision.outcomes[commands.len()], &self.decision)
    }

    /// A command is left waiting though its order came: what must not happen, and what the sweeper's net is for.
    pub fn leave_waiting(&mut self, command: Command) {
        self.seen.extend(command.event.clone());
        self.waiting.push((self.fates.len(), command));
        self.fates.push("waiting".into());
    }

    /// Inserts the stock rows that must exist.
    fn make_rows<'a>(&mut self, commands: impl Iterator<Item = &'a Command>) -> HashSet<StockKey> {
        let mut needed: BTreeSet<StockKey> = BTreeSet::new();
        for command in commands {
            let (warehouse, skus): (&Warehouse, Vec<_>) = match &command.kind {
                Kind::Receive(receipt) => (&receipt.warehouse, receipt.lines.iter().map(|line| &line.sku).collect()),
                Kind::Count(count) => (&count.warehouse, count.lines.iter().map(|line| &line.sku).collect()),
                Kind::Transfer(transfer) => (&transfer.to, transfer.lines.iter().map(|line| &line.sku).collect()),
                Kind::Return(returned) => {
                    let resellable = returned.lines.iter().filter(|line| line.condition == Condition::Resellable);
                    (&returned.warehouse, resellable.map(|line| &line.sku).collect())
                }
                _ => continue,
            };
            needed.extend(skus.into_iter().cloned().map(|sku| StockKey { sku, warehouse: warehouse.clone() }));
        }
        let made: HashSet<StockKey> = needed.into_iter().filter(|key| !self.stock.contains_key(key)).collect();
        self.stock.extend(made.iter().map(|key| (key.clone(), Stock::default())));
        made
    }

    fn claimed_at(&self) -> Timestamp {
        self.now - time::Duration::seconds(self.lag_s)
    }

    /// Inserts the orders that are not there: in the provisional state of success if they come with this batch, else as awaited.
    fn claim(&mut self, commands: &[Command]) {
        let claimed_at = self.claimed_at();
        let creations = commands.iter().filter_map(|command| match (&command.kind, &command.event) {
            (Kind::Create(create), Some(event)) => {
                Some((&create.order, OrderRow::success(create, event.id.clone(), HOLD, claimed_at)))
            }
            _ => None,
        });
        let asking = commands.iter().filter(|command| command.event.is_some());
        let others = asking.filter_map(|command| Some((command.kind.order()?, OrderRow::awaited(claimed_at))));
        for (key, stored) in creations.chain(others) {
            let claimed = Order { stored, born: false, lines: Vec::new(), slots: Vec::new() };
            self.orders.entry(key.clone()).or_insert(claimed);
        }
    }

    fn decide(&self, commands: &[Command], waiting: &[Command], made: &HashSet<StockKey>) -> Decision {
        let mut shown: HashSet<&OrderKey> = commands.iter().filter_map(|command| command.kind.order()).collect();
        if !self.narrow {
            shown.extend(self.orders.keys());
        }
        loop {
            let snapshot = self.snapshot(commands, waiting, &shown, made);
            let decision = decide(Batch { commands, waiting }, snapshot, &self.policy);
            let stands_in_the_way = |order: &Order| {
                order.stored.is_due(self.now)
                    && order
                        .lines
                        .iter()
                        .any(|line| line.state == Held && decision.short.iter().any(|short| *short == key_of(line)))
            };
            let before = shown.len();
            shown.extend(self.orders.iter().filter(|(_, order)| stands_in_the_way(order)).map(|(key, _)| key));
            shown.extend(self.orders.keys().filter(|key| decision.overdue.contains(key)));
            if shown.len() == before {
                return decision;
            }
        }
    }

    fn snapshot(
        &self,
        commands: &[Command],
        waiting: &[Command],
        shown: &HashSet<&OrderKey>,
        made: &HashSet<StockKey>,
    ) -> Snapshot {
        let old_rows = || self.stock.keys().filter(|key| !made.contains(key));
        let mapped = self.routes.values().flatten();
        let seen = |command: &Command| command.event.clone().filter(|event| self.seen.contains(event));
        Snapshot {
            now: self.now,
            hold_from: self.claimed_at(),
            orders: self
                .orders
                .iter()
                .filter(|(key, _)| shown.contains(key))
                .map(|(k, o)| (k.clone(), o.clone()))
                .collect(),
            stock: self.stock.iter().map(|(key, stock)| (key.clone(), *stock)).collect(),
            slots: self.slots_taken(),
            new_stock: made.clone(),
            routes: self.routes.clone(),
            known: Known {
                skus: old_rows().map(|key| key.sku.clone()).collect(),
                warehouses: old_rows().map(|key| &key.warehouse).chain(mapped).cloned().collect(),
                resources: self.resources.clone(),
            },
            seen: commands.iter().filter_map(seen).collect(),
            payments: self.payments_of(&[commands, waiting].concat()),
            documents: self.documents.clone(),
            shipments: self.shipments.clone(),
        }
    }

    /// The payments that commands name, and those of the orders that a payment or a cancel names.
    fn payments_of(&self, commands: &[Command]) -> Vec<Payment> {
        let concerns = |command: &Command, payment: &Payment| match &command.kind {
            Kind::Payment(report) => report.key == payment.key || report.order == payment.order,
            Kind::Cancel(cancel) => cancel.order == payment.order,
            _ => false,
        };
        let concerned = |payment: &&Payment| commands.iter().any(|command| concerns(command, payment));
        self.payments.values().filter(concerned).cloned().collect()
    }

    /// All held and confirmed slots.
    fn slots_taken(&self) -> SlotTable {
        let mut table = SlotTable::default();
        for (key, order) in &self.orders {
            for hold in order.slots.iter().filter(|hold| hold.state.is_live()) {
                let expires_at = order.stored.expires_at.filter(|_| hold.state == Held);
                table.insert(Taken { slot: hold.slot.clone(), order: key.clone(), expires_at, steps: 0 });
            }
        }
        table
    }

    /// Writes a decision, each change only if what it was decided on still stands there.
    fn apply(&mut self, commands: &[Command], waiting: &[Command], made: &HashSet<StockKey>) {
        let decision = &self.decision;
        let next = self.ends.len();
        let stored = |line: LineId| match line {
            LineId::New(place) => LineId::Stored(i64::try_from(next + place).expect("few lines")),
            LineId::Stored(_) => line,
        };
        for change in &decision.orders {
            let order = self.orders.get_mut(&change.key).expect("an order that is there");
            assert_eq!(order.stored.state, change.before, "an order changes from the state it is in");
            order.stored = change.row.clone();
        }
        for (place, new) in decision.new_reservations.iter().enumerate() {
            assert_eq!(new.reservation.id, LineId::New(place), "new lines stand in their order");
            let line = Reservation { id: stored(LineId::New(place)), ..new.reservation.clone() };
            self.ends.insert(line.id, new.expires_at);
            self.orders.get_mut(&new.order).expect("an order that is there").lines.push(line);
        }
        for change in &decision.reservations {
            let id = LineId::Stored(change.id);
            let mut lines = self.orders.values_mut().flat_map(|order| &mut order.lines);
            let line = lines.find(|line| line.id == id).expect("a line that is there");
            let is = (line.state, line.qty, line.shipped_qty, line.returned_qty);
            let was = (change.before, change.qty_before, change.shipped_before, change.returned_before);
            assert_eq!(is, was, "a line changes from what it is");
            *line = change.after.clone();
            if change.expires_at.is_some() {
                self.ends.insert(id, change.expires_at);
            }
        }
        self.journal
            .extend(decision.journal.iter().map(|step| JournalEntry { line: stored(step.line), ..step.clone() }));
        self.parcels.extend(
            decision.parcel_lines.iter().map(|parcel| ParcelLine { line: stored(parcel.line), ..parcel.clone() }),
        );
        for movement in &decision.movements {
            assert_ne!(movement.delta, 0, "a movement moves");
            *self.moved.entry(movement.key.clone()).or_default() += movement.delta;
        }
        self.apply_stock(made);
        self.apply_payments();
        self.apply_slots();
        for order in self.orders.values_mut() {
            order.born = order.stored.state != OrderState::Awaited;
        }
        self.told.extend(self.decision.answers.iter().cloned());
        self.reviews.extend(self.decision.reviews.iter().filter_map(|review| match &review.subject {
            ReviewSubject::Order(key) => Some(format!("{} {}/{}", review.kind.word(), key.channel, key.order_ref)),
            ReviewSubject::Payment(payment, _) => Some(format!("{} {}", review.kind.word(), payment.payment_id)),
            ReviewSubject::Message { .. }
            | ReviewSubject::Finding(_)
            | ReviewSubject::Point(..)
            | ReviewSubject::Channel(..) => None,
        }));
        for filed in &self.decision.documents {
            let key = (filed.subject.clone(), filed.key.document_ref.clone());
            assert_eq!(self.documents.insert(key, filed.key.digest), None, "a document is taken once");
        }
        for filed in &self.decision.shipments {
            assert_eq!(self.shipments.insert(filed.key.clone(), filed.digest), None, "a shipment is taken once");
        }
        self.claim_events(commands, waiting);
    }

    /// Writes the figures: exactly the rows that changed, each once, sorted, each with the next version.
    fn apply_stock(&mut self, made: &HashSet<StockKey>) {
        let decision = &self.decision;
        let spare: HashSet<&StockKey> = decision.spare_rows.iter().collect();
        let stepped = decision.journal.iter().filter(|step| step.qty != 0);
        let mut changed: BTreeSet<StockKey> =
            stepped.map(|step| StockKey { sku: step.sku.clone(), warehouse: step.warehouse.clone() }).collect();
        changed.extend(decision.movements.iter().map(|movement| movement.key.clone()));
        changed.extend(made.iter().filter(|key| !spare.contains(key)).cloned());
        let told: Vec<&StockKey> = decision.stock.iter().map(|change| &change.key).collect();
        assert_eq!(told, changed.iter().collect::<Vec<_>>(), "rows that changed are told of, and no others");
        for change in &decision.stock {
            let stock = self.stock.get_mut(&change.key).expect("a row that is there");
            assert_eq!(*stock, change.before, "a row changes from what it is");
            assert_eq!(change.after.version, change.before.version + 1, "its version grows");
            *stock = change.after;
        }
        for (key, stock) in &self.stock {
            assert_eq!(
                decision.figures.get(&key.sku, &key.warehouse),
                Some(stock),
                "a decision knows how every row stands"
            );
        }
        for key in spare {
            assert!(made.contains(key), "only rows made by this batch are spare");
            self.stock.remove(key);
        }
    }

    /// Writes the payments, each only if what it was decided on still stands there.
    fn apply_payments(&mut self) {
        let decision = &self.decision;
        for change in &decision.payments {
            let stored = self.payments.insert(change.after.key.clone(), change.after.clone());
            assert_eq!(stored.as_ref().map(|stored| (stored.state, stored.refunded)), change.before, "as decided on");
            if let Some(stored) = stored {
                assert!(stored.state <= change.after.state, "a payment only rises");
                assert_eq!(stored.order, change.after.order, "a payment stays with its order");
            }
        }
        for new in &decision.reports {
            let payment = self.payments.get_mut(&new.key).expect("a payment that is there");
            if !payment.reports.contains(&new.reported) {
                payment.reports.push(new.reported.clone());
            }
        }
        for refund in &decision.refunds {
            let payment = self.payments.get_mut(&refund.key).expect("a payment that is there");
            if decision.payments.iter().all(|change| change.after.key != refund.key) {
                payment.required.push(refund.reason);
            }
            self.refunds.push(picture::refund(refund));
        }
    }

    fn apply_slots(&mut self) {
        let decision = &self.decision;
        let next = self.slot_ends.len();
        let stored = |hold: LineId| match hold {
            LineId::New(place) => LineId::Stored(i64::try_from(next + place).expect("few slots")),
            LineId::Stored(_) => hold,
        };
        for (place, new) in decision.new_slots.iter().enumerate() {
            assert_eq!(new.hold.id, LineId::New(place), "new slots stand in their order");
            let hold = SlotHold { id: stored(new.hold.id), ..new.hold.clone() };
            self.slot_ends.insert(hold.id, new.expires_at);
            self.orders.get_mut(&new.order).expect("an order that is there").slots.push(hold);
        }
        for change in &decision.slots {
            let id = LineId::Stored(change.id);
            let mut slots = self.orders.values_mut().flat_map(|order| &mut order.slots);
            let hold = slots.find(|hold| hold.id == id).expect("a slot that is there");
            assert_eq!(hold.state, change.before, "a slot changes from what it is");
            *hold = change.after.clone();
            if change.expires_at.is_some() {
                self.slot_ends.insert(id, change.expires_at);
            }
        }
        self.slot_journal
            .extend(decision.slot_journal.iter().map(|step| SlotStep { hold: stored(step.hold), ..step.clone() }));
    }

    /// Every event that was not refused is remembered: by its order if it made one, else in the inbox.
    fn claim_events(&mut self, commands: &[Command], waiting: &[Command]) {
        for (command, outcome) in commands.iter().chain(waiting).zip(&self.decision.outcomes) {
            let Some(event) = &command.event else {
                continue;
            };
            let made_it = |key: &OrderKey| self.orders[key].stored.event_id.as_ref() == Some(&event.id);
            let made_it = matches!(&command.kind, Kind::Create(create) if made_it(&create.order));
            if !made_it && !matches!(outcome, Outcome::Refused(_)) {
                self.seen.insert(event.clone());
            }
        }
        for event in &self.decision.forgotten {
            self.seen.remove(event);
        }
    }

    /// Units of a confirmed line leave the shelf where they are reserved: at most what is outstanding; nothing if that is nothing.
    pub fn ship(&mut self, key: &OrderKey, sku: &str, units: Qty) {
        let lines = self.orders.get(key).into_iter().flat_map(|order| &order.lines);
        let Some(line) = lines.into_iter().find(|line| line.sku.as_str() == sku && line.state == Confirmed) else {
            return;
        };
        let (units, at) = (units.min(line.outstanding()), line.warehouse.to_string());
        let name = format!("shipment-{}", self.shipments.len());
        let shipped = ask::dispatched(&name, &at, &name, key.order_ref.as_str(), &[(sku, units)]);
        assert_eq!(self.one(ask::Besides::on(shipped, key.channel.as_str())), "shipped");
    }
}

fn key_of(line: &Reservation) -> StockKey {
    StockKey { sku: line.sku.clone(), warehouse: line.warehouse.clone() }
}
