//! Commands, built briefly: by channel `web` unless they say otherwise.

use std::sync::Arc;

use crate::domain::{
    AskedLine, AskedSlot, CancelLine, CancelOrder, Channel, Command, Condition, Count, CountLine, CreateOrder,
    Currency, Digest, DocumentKey, EventId, EventKey, Kind, Money, MovedLine, OrderKey, OrderRef, PaymentKey,
    PaymentMode, PaymentReport, PaymentState, Provider, Qty, Receipt, RenewOrder, Resource, Return, ReturnedLine,
    Shipment, ShipmentKey, Sku, StockKey, Text, Timestamp, Transfer, Warehouse, WriteOff,
};

pub(super) fn sku(name: &str) -> Sku {
    Sku::new(name).expect("a SKU")
}

pub(super) fn warehouse(name: &str) -> Warehouse {
    Warehouse::new(name).expect("a warehouse")
}

pub(super) fn channel(name: &str) -> Channel {
    Channel::new(name).expect("a channel")
}

pub(super) fn row(of: &str, at: &str) -> StockKey {
    StockKey { sku: sku(of), warehouse: warehouse(at) }
}

pub(super) fn order(channel_name: &str, order_ref: &str) -> OrderKey {
    OrderKey { channel: channel(channel_name), order_ref: OrderRef::new(order_ref).expect("an order_ref") }
}

/// A command that an event asks for.
fn asked(subject: &str, id: &str, kind: Kind) -> Command {
    Command { event: Some(EventKey { subject: subject.into(), id: EventId::new(id).expect("an event id") }), kind }
}

/// A line for which the program chooses the warehouse.
pub(super) fn line(of: &str, qty: Qty) -> AskedLine {
    AskedLine { sku: sku(of), qty, warehouse: None }
}

/// A line whose warehouse the order names.
pub(super) fn line_at(of: &str, qty: Qty, at: &str) -> AskedLine {
    AskedLine { warehouse: Some(warehouse(at)), ..line(of, qty) }
}

/// An hour of a resource.
pub(super) fn slot(resource: &str) -> AskedSlot {
    period(resource, 0, 1)
}

/// Hours of a resource.
pub(super) fn period(resource: &str, from: i64, to: i64) -> AskedSlot {
    let at = |hour| Timestamp::UNIX_EPOCH + time::Duration::hours(hour);
    AskedSlot { resource: Resource::new(resource).expect("a resource"), from: at(from), to: at(to) }
}

pub(super) fn create(id: &str, order_ref: &str, lines: impl Into<Vec<AskedLine>>) -> Command {
    let create = CreateOrder {
        order: order("web", order_ref),
        payment: PaymentMode::Online,
        total: None,
        hold_for_s: None,
        lines: lines.into(),
        slots: Vec::new(),
        digest: Digest([0; 16]),
    };
    asked("order.created.web", id, Kind::Create(create)).digested()
}

pub(super) fn renew(id: &str, order_ref: &str) -> Command {
    let renew = RenewOrder { order: order("web", order_ref), hold_for_s: None };
    asked("order.renewed.web", id, Kind::Renew(renew))
}

/// Cancels the whole order.
pub(super) fn cancel(id: &str, order_ref: &str) -> Command {
    let cancel = CancelOrder { order: order("web", order_ref), reason: None, lines: None };
    asked("order.cancelled.web", id, Kind::Cancel(cancel))
}

/// Cancels the named units.
pub(super) fn cancel_some(id: &str, order_ref: &str, lines: &[(&str, Qty)]) -> Command {
    let lines = lines.iter().map(|(of, qty)| CancelLine::Units(sku(of), *qty)).collect();
    let cancel = CancelOrder { order: order("web", order_ref), reason: None, lines: Some(lines) };
    asked("order.cancelled.web", id, Kind::Cancel(cancel))
}

fn reported(id: &str, payment: &str, order_ref: &str, says: PaymentState) -> Command {
    let report =
        PaymentReport { key: payment_key(payment), order: order("web", order_ref), says, amount: None, reason: None };
    asked(&format!("payment.{}.stripe", says.word()), id, Kind::Payment(report))
}

/// A payment of the provider `stripe`.
pub(super) fn payment_key(payment_id: &str) -> PaymentKey {
    let provider = Provider::new("stripe").expect("a provider");
    PaymentKey { provider, payment_id: Text::new(payment_id).expect("a payment_id") }
}

pub(super) fn started(id: &str, payment: &str, order_ref: &str) -> Command {
    reported(id, payment, order_ref, PaymentState::Started)
}

pub(super) fn failed(id: &str, payment: &str, order_ref: &str) -> Command {
    reported(id, payment, order_ref, PaymentState::Failed)
}

pub(super) fn succeeded(id: &str, payment: &str, order_ref: &str) -> Command {
    reported(id, payment, order_ref, PaymentState::Succeeded)
}

pub(super) fn refunded(id: &str, payment: &str, order_ref: &str) -> Command {
    reported(id, payment, order_ref, PaymentState::Refunded)
}

/// Cancels the named slots.
pub(super) fn cancel_slots(id: &str, order_ref: &str, slots: impl IntoIterator<Item = AskedSlot>) -> Command {
    let lines = slots.into_iter().map(CancelLine::Slot).collect();
    let cancel = CancelOrder { order: order("web", order_ref), reason: None, lines: Some(lines) };
    asked("order.cancelled.web", id, Kind::Cancel(cancel))
}

/// The sweeper's command.
pub(super) fn expire(order_ref: &str) -> Command {
    Command { event: None, kind: Kind::Expire(order("web", order_ref)) }
}

/// The sweeper's net: something waits for this order.
pub(super) fn wake(order_ref: &str) -> Command {
    Command { event: None, kind: Kind::Wake(order("web", order_ref)) }
}

fn moved(lines: &[(&str, Qty)]) -> Vec<MovedLine> {
    lines.iter().map(|(of, qty)| MovedLine { sku: sku(of), qty: *qty }).collect()
}

pub(super) fn received(id: &str, at: &str, lines: &[(&str, Qty)]) -> Command {
    let receipt = Receipt { warehouse: warehouse(at), document: None, lines: moved(lines) };
    asked(&format!("inventory.received.{at}"), id, Kind::Receive(receipt))
}

pub(super) fn written_off(id: &str, at: &str, lines: &[(&str, Qty)]) -> Command {
    let write_off = WriteOff { warehouse: warehouse(at), document: None, lines: moved(lines) };
    asked(&format!("inventory.written_off.{at}"), id, Kind::WriteOff(write_off))
}

pub(super) fn counted(id: &str, at: &str, lines: &[(&str, Qty)]) -> Command {
    let lines = lines.iter().map(|(of, on_hand)| CountLine { sku: sku(of), on_hand: *on_hand }).collect();
    let count = Count { warehouse: warehouse(at), lines };
    asked(&format!("inventory.counted.{at}"), id, Kind::Count(count))
}

pub(super) fn transferred(id: &str, from: &str, to: &str, lines: &[(&str, Qty)]) -> Command {
    let transfer = Transfer { warehouse: warehouse(from), to: warehouse(to), lines: moved(lines) };
    asked(&format!("inventory.transferred.{from}"), id, Kind::Transfer(transfer))
}

/// Units left that warehouse for an order of `web`.
pub(super) fn dispatched(id: &str, at: &str, shipment_ref: &str, order_ref: &str, lines: &[(&str, Qty)]) -> Command {
    let lines = moved(lines);
    let shipment_ref = Text::new(shipment_ref).expect("a shipment_ref");
    let key = ShipmentKey { order: order("web", order_ref), shipment_ref, warehouse: warehouse(at) };
    let shipment = Shipment { key, digest: Digest::of_moved(&lines), lines };
    asked(&format!("shipment.dispatched.{at}"), id, Kind::Ship(shipment))
}

/// Units of an order of `web` came back to that warehouse.
pub(super) fn returned(id: &str, at: &str, order_ref: &str, lines: &[(&str, Qty, Condition)]) -> Command {
    let came =
        |(of, qty, condition): &(&str, Qty, Condition)| ReturnedLine { sku: sku(of), qty: *qty, condition: *condition };
    let lines = lines.iter().map(came).collect();
    let returned = Return { order: order("web", order_ref), warehouse: warehouse(at), lines };
    asked(&format!("shipment.returned.{at}"), id, Kind::Return(returned))
}

/// What a command may say besides.
pub(super) trait Besides: Sized {
    /// It comes through another channel.
    fn on(self, channel: &str) -> Self;
    /// The order is paid in another way.
    fn paid(self, payment: PaymentMode) -> Self;
    /// The order costs, or the payment is of, so many cents.
    fn costing(self, cents: i64) -> Self;
    /// The order or the renewal asks for a hold of so many seconds.
    fn for_s(self, seconds: u64) -> Self;
    /// The order asks for a slot too, or the cancel names it too.
    fn with_slot(self, slot: AskedSlot) -> Self;
    /// The cancel gives its reason.
    fn because(self, words: &str) -> Self;
    /// The stock message bears a document.
    fn by(self, document_ref: &str) -> Self;
    /// The order's digest is that of its content.
    fn digested(self) -> Self;
}

impl Besides for Command {
    fn on(mut self, name: &str) -> Self {
        match &mut self.kind {
            Kind::Create(CreateOrder { order, .. })
            | Kind::Renew(RenewOrder { order, .. })
            | Kind::Cancel(CancelOrder { order, .. })
            | Kind::Payment(PaymentReport { order, .. })
            | Kind::Expire(order)
            | Kind::Wake(order) => order.channel = channel(name),
            // A warehouse's subject does not name the channel.
            Kind::Ship(Shipment { key: ShipmentKey { order, .. }, .. }) | Kind::Return(Return { order, .. }) => {
                order.channel = channel(name);
                return self;
            }
            _ => panic!("no command of a channel"),
        }
        // The subject of a payment names its provider.
        if let (Some(event), false) = (&mut self.event, matches!(self.kind, Kind::Payment(_))) {
            let (family, _) = event.subject.rsplit_once('.').expect("a subject");
            event.subject = Arc::from(format!("{family}.{name}"));
        }
        self
    }

    fn paid(mut self, payment: PaymentMode) -> Self {
        self.creation().payment = payment;
        self.digested()
    }

    fn costing(mut self, cents: i64) -> Self {
        let money = Currency::new("EUR").map(|currency| Money { amount: cents, currency });
        if let Kind::Payment(report) = &mut self.kind {
            report.amount = money;
            return self;
        }
        self.creation().total = money;
        self.digested()
    }

    fn for_s(mut self, seconds: u64) -> Self {
        match &mut self.kind {
            Kind::Create(CreateOrder { hold_for_s, .. }) | Kind::Renew(RenewOrder { hold_for_s, .. }) => {
                *hold_for_s = Some(seconds);
            }
            _ => panic!("no command that holds"),
        }
        self
    }

    fn with_slot(mut self, slot: AskedSlot) -> Self {
        if let Kind::Cancel(cancel) = &mut self.kind {
            cancel.lines.get_or_insert_default().push(CancelLine::Slot(slot));
            return self;
        }
        self.creation().slots.push(slot);
        self.digested()
    }

    fn because(mut self, words: &str) -> Self {
        match &mut self.kind {
            Kind::Cancel(cancel) => cancel.reason = Some(words.into()),
            _ => panic!("no cancel"),
        }
        self
    }

    fn by(mut self, document_ref: &str) -> Self {
        match &mut self.kind {
            Kind::Receive(Receipt { document, lines, .. }) | Kind::WriteOff(WriteOff { document, lines, .. }) => {
                let document_ref = Text::new(document_ref).expect("a document_ref");
                *document = Some(DocumentKey { document_ref, digest: Digest::of_moved(lines) });
            }
            _ => panic!("no command with a document"),
        }
        self
    }

    fn digested(mut self) -> Self {
        let create = self.creation();
        create.digest = Digest::of_order(create.payment, create.total, &create.lines, &create.slots);
        self
    }
}

trait Creation {
    fn creation(&mut self) -> &mut CreateOrder;
}

impl Creation for Command {
    fn creation(&mut self) -> &mut CreateOrder {
        match &mut self.kind {
            Kind::Create(create) => create,
            _ => panic!("no order"),
        }
    }
}
