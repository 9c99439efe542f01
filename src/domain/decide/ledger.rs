//! The books of a batch: figures move, steps are journaled, answers are given, each in one place.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::domain::command::{AskedLine, AskedSlot, EventKey};
use crate::domain::decision::{
    Answer, AnswerReason, Decision, FiledDocument, JournalEntry, LineId, LineView, Movement, MovementKind, Review,
    Shortage, SlotStep, SlotView, StockChange, What,
};
use crate::domain::denial::{Denial, DeniedRow};
use crate::domain::names::{Channel, EventId, Resource, Sku, Warehouse};
use crate::domain::order::{Order, OrderKey, OrderRow, OrderState, Reservation, ReservationState};
use crate::domain::payment::{PaymentKey, RefundReason, RefundRequired};
use crate::domain::shipment::{FiledShipment, ParcelLine};
use crate::domain::slot::{SlotHold, SlotTable, Taken};
use crate::domain::snapshot::{Known, Policy};
use crate::domain::stock::{Stock, StockKey, StockTable};
use crate::domain::{Qty, Timestamp};

/// What does not change while a batch is decided.
pub(super) struct Rules<'a> {
    pub policy: &'a Policy,
    pub now: Timestamp,
    pub hold_from: Timestamp,
    pub routes: HashMap<Channel, Vec<Warehouse>>,
}

/// An order while it is being decided.
pub(super) struct Entry {
    pub key: OrderKey,
    pub row: OrderRow,
    pub lines: Vec<Reservation>,
    pub slots: Vec<SlotHold>,
    /// Whether the order itself has come.
    pub born: bool,
    /// What it was denied last in this batch.
    pub denial: Option<Denial>,
    pub(super) stored: OrderRow,
    pub(super) stored_lines: Vec<Reservation>,
    pub(super) stored_slots: Vec<SlotHold>,
}

impl Entry {
    pub fn new(key: OrderKey, order: Order) -> Self {
        let row = if order.born { order.stored.clone() } else { OrderRow::awaited(order.stored.created_at) };
        Self {
            key,
            row,
            lines: order.lines.clone(),
            slots: order.slots.clone(),
            born: order.born,
            denial: None,
            stored: order.stored,
            stored_lines: order.lines,
            stored_slots: order.slots,
        }
    }

    /// Takes the state that lines and slots now give.
    pub fn settle(&mut self) {
        self.row.state = Order::state_of(&self.lines, &self.slots);
    }

    /// Whether a line or slot of it ended without anybody's cancelling it.
    pub fn can_be_had_again(&self) -> bool {
        self.lines.iter().any(Reservation::can_be_had_again) || self.slots.iter().any(SlotHold::can_be_had_again)
    }

    /// The answer that tells how the order stands and changes nothing.
    pub fn present(&self, index: usize, event: &EventKey) -> Answer {
        let reason = match self.row.state {
            OrderState::Rejected => self.row.rejection.map(AnswerReason::Rejected),
            OrderState::Expired => Some(AnswerReason::HoldEnded),
            OrderState::Released if self.can_be_had_again() => Some(AnswerReason::PaymentFailed),
            OrderState::Released => Some(AnswerReason::Cancelled),
            _ => None,
        };
        Answer { duplicate: true, reason, ..self.answer(Some(index), Some(event.id.clone())) }
    }

    /// An answer with the order as it stands.
    pub fn answer(&self, cause: Option<usize>, in_reply_to: Option<EventId>) -> Answer {
        Answer {
            order: self.key.clone(),
            what: match self.row.state {
                OrderState::Held => What::Held,
                OrderState::Confirmed => What::Confirmed,
                OrderState::Shipped => What::Shipped,
                OrderState::Released => What::Released,
                OrderState::Expired => What::Expired,
                OrderState::Rejected | OrderState::Awaited => What::Rejected,
            },
            in_reply_to,
            duplicate: false,
            lines: self.lines.iter().map(view).collect(),
            slots: self.slots.iter().map(view_slot).collect(),
            expires_at: (self.row.state == OrderState::Held).then_some(self.row.expires_at).flatten(),
            reason: None,
            shortages: Vec::new(),
            cause,
        }
    }
}

pub(super) fn view(line: &Reservation) -> LineView {
    LineView {
        sku: line.sku.clone(),
        warehouse: line.warehouse.clone(),
        qty: line.qty,
        shipped_qty: line.shipped_qty,
        returned_qty: line.returned_qty,
        state: line.state,
    }
}

pub(super) fn view_slot(hold: &SlotHold) -> SlotView {
    SlotView { slot: hold.slot.clone(), state: hold.state }
}

/// Why a step is taken, for the journal.
pub(super) struct Why<'a> {
    pub cause: Option<usize>,
    pub event_id: Option<&'a EventId>,
    pub reason: Option<Arc<str>>,
}

/// Figures, journal, movements, answers and reviews of a batch.
pub(super) struct Ledger {
    pub stock: StockTable,
    /// Periods that are held or confirmed, as far as the decision may ask for them.
    pub slots: SlotTable,
    known: Known,
    /// Rows that the transaction made and that no command has needed yet.
    spare: HashSet<StockKey>,
    touched: BTreeMap<StockKey, Touched>,
    /// How many steps each slot has taken.
    slot_steps: HashMap<LineId, u32>,
    new_lines: usize,
    new_slots: usize,
    decision: Decision,
}

struct Touched {
    before: Stock,
    cause: Option<usize>,
    /// How many steps have changed `reserved`.
    steps: u32,
}

impl Ledger {
    pub fn new(stock: StockTable, known: Known, made: HashSet<StockKey>) -> Self {
        Self {
            stock,
            slots: SlotTable::default(),
            known,
            spare: made,
            touched: BTreeMap::new(),
            slot_steps: HashMap::new(),
            new_lines: 0,
            new_slots: 0,
            decision: Decision::default(),
        }
    }

    pub fn with_slots(self, slots: SlotTable) -> Self {
        Self { slots, ..self }
    }

    pub fn knows_sku(&self, sku: &Sku) -> bool {
        self.known.skus.contains(sku)
    }

    pub fn knows_warehouse(&self, warehouse: &Warehouse) -> bool {
        self.known.warehouses.contains(warehouse)
    }

    pub fn knows_resource(&self, resource: &Resource) -> bool {
        self.known.resources.contains(resource)
    }

    /// Makes SKU and warehouse known. A row that is new with it is told of even where its figures stay 0.
    pub fn learn(&mut self, key: &StockKey, index: usize) {
        if self.spare.remove(key) {
            self.touched.insert(key.clone(), Touched { before: Stock::default(), cause: Some(index), steps: 0 });
        }
        if !self.known.skus.contains(&key.sku) {
            self.known.skus.insert(key.sku.clone());
        }
        if !self.known.warehouses.contains(&key.warehouse) {
            self.known.warehouses.insert(key.warehouse.clone());
        }
    }

    /// Remembers a document that is taken.
    pub fn file_document(&mut self, document: FiledDocument) {
        self.decision.documents.push(document);
    }

    /// Remembers a shipment that is taken.
    pub fn file_shipment(&mut self, shipment: FiledShipment) {
        self.decision.shipments.push(shipment);
    }

    /// Journals units that left a shelf for an order, or came back.
    pub fn carry(&mut self, line: ParcelLine) {
        self.decision.parcel_lines.push(line);
    }

    pub fn available(&self, sku: &Sku, warehouse: &Warehouse) -> Qty {
        self.stock.available(sku, warehouse)
    }

    /// How a row stands that cannot give a line what it asks for.
    pub fn denied(&self, sku: &Sku, warehouse: &Warehouse, requested: Qty) -> DeniedRow {
        let key = StockKey { sku: sku.clone(), warehouse: warehouse.clone() };
        let stock = self.stock.get(sku, warehouse).copied().unwrap_or_default();
        let steps = self.touched.get(&key).map_or(0, |touched| touched.steps);
        DeniedRow { key, requested, stock, steps }
    }

    /// Holds a new line for an order, or confirms it at once.
    pub fn open(
        &mut self,
        asked: &AskedLine,
        warehouse: Warehouse,
        state: ReservationState,
        why: &Why<'_>,
    ) -> Reservation {
        let line = Reservation {
            id: LineId::New(self.new_lines),
            sku: asked.sku.clone(),
            warehouse,
            named: asked.warehouse.is_some(),
            qty: asked.qty,
            shipped_qty: 0,
            returned_qty: 0,
            state,
            cancelled: false,
        };
        self.new_lines += 1;
        self.journal(&line, None, line.qty, why);
        line
    }

    /// Takes a line from one state to another (or leaves it there), `reserved` changing by `qty`.
    pub fn step(&mut self, line: &mut Reservation, to: ReservationState, qty: Qty, why: &Why<'_>) {
        let from = line.state;
        line.state = to;
        self.journal(line, Some(from), qty, why);
    }

    fn journal(&mut self, line: &Reservation, from: Option<ReservationState>, qty: Qty, why: &Why<'_>) {
        let key = StockKey { sku: line.sku.clone(), warehouse: line.warehouse.clone() };
        if qty != 0 {
            self.change(&key, 0, qty, why.cause);
        }
        self.decision.journal.push(JournalEntry {
            line: line.id,
            sku: key.sku,
            warehouse: key.warehouse,
            from,
            to: line.state,
            qty,
            reason: why.reason.clone(),
            event_id: why.event_id.cloned(),
        });
    }

    /// Takes a free slot for an order. `expires_at` is the order's, if it is held for a time.
    pub fn open_slot(
        &mut self,
        asked: &AskedSlot,
        state: ReservationState,
        order: &OrderKey,
        expires_at: Option<Timestamp>,
        why: &Why<'_>,
    ) -> SlotHold {
        let hold = SlotHold { id: LineId::New(self.new_slots), slot: asked.clone(), state, cancelled: false };
        self.new_slots += 1;
        self.journal_slot(&hold, None, order, expires_at, why);
        hold
    }

    /// Takes a slot from one state to another: from now on it is in others' way, or no longer.
    pub fn step_slot(
        &mut self,
        hold: &mut SlotHold,
        to: ReservationState,
        order: &OrderKey,
        expires_at: Option<Timestamp>,
        why: &Why<'_>,
    ) {
        let from = hold.state;
        hold.state = to;
        self.journal_slot(hold, Some(from), order, expires_at, why);
    }

    fn journal_slot(
        &mut self,
        hold: &SlotHold,
        from: Option<ReservationState>,
        order: &OrderKey,
        expires_at: Option<Timestamp>,
        why: &Why<'_>,
    ) {
        let steps = self.slot_steps.entry(hold.id).or_default();
        *steps += 1;
        if hold.state.is_live() {
            let expires_at = expires_at.filter(|_| hold.state == ReservationState::Held);
            self.slots.insert(Taken { slot: hold.slot.clone(), order: order.clone(), expires_at, steps: *steps });
        } else {
            self.slots.remove(&hold.slot);
        }
        self.decision.slot_journal.push(SlotStep {
            hold: hold.id,
            slot: hold.slot.clone(),
            from,
            to: hold.state,
            reason: why.reason.clone(),
            event_id: why.event_id.cloned(),
        });
    }

    /// Changes what lies on a shelf, for the reason that the movement names.
    pub fn move_units(
        &mut self,
        key: &StockKey,
        delta: Qty,
        kind: MovementKind,
        index: usize,
        event_id: Option<&EventId>,
    ) {
        if delta == 0 {
            return;
        }
        self.change(key, delta, 0, Some(index));
        self.decision.movements.push(Movement { key: key.clone(), delta, kind, event_id: event_id.cloned() });
    }

    fn change(&mut self, key: &StockKey, on_hand: Qty, reserved: Qty, cause: Option<usize>) {
        let Some(row) = self.stock.get_mut(&key.sku, &key.warehouse) else {
            return;
        };
        let step = u32::from(reserved != 0);
        match self.touched.get_mut(key) {
            Some(touched) => {
                touched.cause = cause;
                touched.steps += step;
            }
            None => {
                self.touched.insert(key.clone(), Touched { before: *row, cause, steps: step });
            }
        }
        row.on_hand += on_hand;
        row.reserved += reserved;
    }

    /// Tells an answer; its place is the outcome.
    pub fn tell(&mut self, answer: Answer) -> usize {
        self.decision.answers.push(answer);
        self.decision.answers.len() - 1
    }

    /// Requires a refund.
    pub fn require_refund(&mut self, refund: RefundRequired) {
        self.decision.refunds.push(refund);
    }

    /// Settles what this batch required back of a payment.
    pub fn settle_refunds(&mut self, key: &PaymentKey, settles: impl Fn(RefundReason) -> bool) {
        for refund in self.decision.refunds.iter_mut().filter(|refund| refund.key == *key && settles(refund.reason)) {
            refund.settled = true;
        }
    }

    /// Asks a person; its place is the outcome.
    pub fn ask_person(&mut self, review: Review) -> usize {
        self.decision.reviews.push(review);
        self.decision.reviews.len() - 1
    }

    /// Remembers for want of which rows somebody was refused.
    pub fn fell_short(&mut self, rows: impl IntoIterator<Item = StockKey>) {
        self.decision.short.extend(rows);
    }

    /// Remembers whose ended holds somebody was refused for.
    pub fn found_overdue(&mut self, orders: impl IntoIterator<Item = OrderKey>) {
        self.decision.overdue.extend(orders);
    }

    /// Every row that changed gets one new version and is told of once, also if its figures ended where they began.
    pub fn finish(mut self) -> Decision {
        for (key, touched) in self.touched {
            let Some(row) = self.stock.get_mut(&key.sku, &key.warehouse) else { continue };
            row.version = touched.before.version + 1;
            let (before, after) = (touched.before, *row);
            self.decision.stock.push(StockChange { key, before, after, cause: touched.cause });
        }
        self.decision.spare_rows = self.spare.into_iter().collect();
        self.decision.spare_rows.sort_unstable();
        self.decision.short.sort_unstable();
        self.decision.short.dedup();
        self.decision.overdue.sort_unstable();
        self.decision.overdue.dedup();
        self.decision.figures = self.stock;
        self.decision
    }
}

/// The shortage of one line.
pub(super) fn shortage(sku: &Sku, requested: Qty, available: Qty) -> Shortage {
    Shortage::Units { sku: sku.clone(), requested, available }
}
