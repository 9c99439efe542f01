//! Random sequences of commands, cut into batches at random, against the naive model.

use proptest::collection::vec;
use proptest::prelude::*;

use super::ask::{
    Besides, cancel, cancel_slots, cancel_some, counted, create, dispatched, expire, failed, line, line_at, period,
    received, refunded, renew, returned, started, succeeded, transferred, written_off,
};
use super::model::Model;
use super::world::World;
use crate::domain::{AskedLine, AskedSlot, Command, Condition, PaymentMode, Qty};

const SHELVES: [(&str, &str, Qty); 5] =
    [("A", "main", 4), ("A", "far", 3), ("B", "main", 2), ("B", "near", 5), ("C", "far", 1)];
/// `web` and `ozon` have their warehouses, `shop` has none of its own.
const ROUTES: [(&str, &[&str]); 2] = [("web", &["main", "far", "mapped"]), ("ozon", &["near", "main"])];
const ROOMS: [&str; 2] = ["room", "hall"];
const ORDERS: [(&str, &str); 5] = [("web", "1"), ("web", "2"), ("web", "3"), ("shop", "1"), ("ozon", "1")];

#[derive(Debug, Clone)]
enum Act {
    /// A command comes.
    Ask(Command),
    /// An earlier command is delivered again, at that part of the way back.
    Again(prop::sample::Index),
    /// The clock moves.
    Pass(i64),
    /// New orders are taken, or no more.
    Accept(bool),
}

/// What happens, and whether a batch ends after it.
type Step = (Act, bool);

fn any_sku() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just("A"), 6 => Just("B"), 3 => Just("C"), 1 => Just("X")]
}

fn any_warehouse() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just("main"), 4 => Just("far"), 3 => Just("near"), 1 => Just("mapped"), 1 => Just("nowhere")]
}

/// Different SKUs with so many units each.
fn any_units() -> impl Strategy<Value = Vec<(&'static str, Qty)>> {
    vec((any_sku(), 1..4 as Qty), 1..4).prop_map(|mut lines| {
        let mut seen = Vec::new();
        lines.retain(|(sku, _)| {
            !seen.contains(sku) && {
                seen.push(*sku);
                true
            }
        });
        lines
    })
}

/// Lines of an order; if `all_named`, each names its warehouse.
fn any_lines(all_named: bool) -> impl Strategy<Value = Vec<AskedLine>> {
    let named = prop::bool::weighted(if all_named { 1.0 } else { 0.3 });
    (any_units(), vec((named, any_warehouse()), 3)).prop_map(|(units, places)| {
        let asked = |((sku, qty), (named, at)): ((&str, Qty), (bool, &str))| {
            if named { line_at(sku, qty, at) } else { line(sku, qty) }
        };
        units.into_iter().zip(places).map(asked).collect()
    })
}

/// Periods of which no two of a room overlap.
fn any_slots() -> impl Strategy<Value = Vec<AskedSlot>> {
    let room = prop_oneof![6 => Just("room"), 3 => Just("hall"), 1 => Just("shed")];
    vec((room, 0..5_i64, 1..3_i64), 1..3).prop_map(|slots| {
        let mut apart: Vec<AskedSlot> = Vec::new();
        for (room, from, hours) in slots {
            let slot = period(room, from, from + hours);
            let clash =
                |other: &AskedSlot| other.resource == slot.resource && slot.from < other.to && other.from < slot.to;
            if !apart.iter().any(clash) {
                apart.push(slot);
            }
        }
        apart
    })
}

/// What an order asks for: units, slots, or both.
fn any_wishes(all_named: bool) -> impl Strategy<Value = (Vec<AskedLine>, Vec<AskedSlot>)> {
    prop_oneof![
        6 => any_lines(all_named).prop_map(|lines| (lines, Vec::new())),
        2 => any_slots().prop_map(|slots| (Vec::new(), slots)),
        3 => (any_lines(all_named), any_slots()),
    ]
}

fn any_hold() -> impl Strategy<Value = Option<u64>> {
    prop::sample::select(vec![None, Some(1), Some(30), Some(90), Some(1000)])
}

fn any_id() -> impl Strategy<Value = String> {
    (0..60).prop_map(|number| format!("e{number}"))
}

fn any_order_command(all_named: bool) -> impl Strategy<Value = Command> {
    let of = || (any_id(), prop::sample::select(&ORDERS[..]));
    let payment = prop_oneof![
        5 => Just(PaymentMode::Online),
        2 => Just(PaymentMode::Prepaid),
        1 => Just(PaymentMode::OnDelivery)
    ];
    let hold = |command, hold: Option<u64>| hold.into_iter().fold(command, Besides::for_s);
    prop_oneof![
        7 => (of(), any_wishes(all_named), payment, any_hold(), prop::option::of(Just(5))).prop_map(
            move |((id, (channel, order_ref)), (lines, slots), payment, s, total)| {
                let order = slots.into_iter().fold(create(&id, order_ref, lines), Besides::with_slot);
                let order = order.paid(payment).on(channel);
                hold(total.into_iter().fold(order, Besides::costing), s)
            }
        ),
        5 => (of(), any_hold()).prop_map(move |((id, (channel, order_ref)), s)| hold(renew(&id, order_ref).on(channel), s)),
        2 => of().prop_map(|(id, (channel, order_ref))| cancel(&id, order_ref).on(channel)),
        4 => (of(), any_units()).prop_map(|((id, (channel, order_ref)), units)| {
            cancel_some(&id, order_ref, &units).on(channel)
        }),
        2 => (of(), any_slots()).prop_map(|((id, (channel, order_ref)), slots)| {
            cancel_slots(&id, order_ref, slots).on(channel)
        }),
        1 => (of(), any_units(), any_slots()).prop_map(|((id, (channel, order_ref)), units, slots)| {
            slots.into_iter().fold(cancel_some(&id, order_ref, &units), Besides::with_slot).on(channel)
        }),
        1 => of().prop_map(|(_, (channel, order_ref))| expire(order_ref).on(channel)),
    ]
}

/// Five payments, of which each may be reported for any order.
fn any_payment_command() -> impl Strategy<Value = Command> {
    let report = prop_oneof![
        2 => Just(started as fn(&str, &str, &str) -> Command),
        2 => Just(failed as fn(&str, &str, &str) -> Command),
        5 => Just(succeeded as fn(&str, &str, &str) -> Command),
        2 => Just(refunded as fn(&str, &str, &str) -> Command),
    ];
    let payment = prop::sample::select(vec!["P1", "P2", "P3", "P4", "P5"]);
    let cents = prop::sample::select(vec![None, Some(5), Some(5), Some(7)]);
    (report, any_id(), payment, prop::sample::select(&ORDERS[..]), cents).prop_map(
        |(report, id, payment, (channel, order_ref), cents)| {
            let command = report(&id, payment, order_ref).on(channel);
            cents.into_iter().fold(command, Besides::costing)
        },
    )
}

fn any_stock_command() -> impl Strategy<Value = Command> {
    let document = || prop::option::weighted(0.5, prop::sample::select(vec!["PO-1", "PO-2"]));
    let by = |command, document: Option<&str>| document.into_iter().fold(command, Besides::by);
    let of = || (any_id(), any_warehouse(), any_units());
    prop_oneof![
        (of(), document()).prop_map(move |((id, at, units), document)| by(received(&id, at, &units), document)),
        (of(), document()).prop_map(move |((id, at, units), document)| by(written_off(&id, at, &units), document)),
        of().prop_map(|(id, at, units)| counted(&id, at, &units)),
        (of(), any_warehouse()).prop_map(|((id, at, units), to)| transferred(&id, at, to, &units)),
    ]
}

/// Units of at most two SKUs leave and come back, few at a time so that several parcels make one order.
fn any_parcel_command() -> impl Strategy<Value = Command> {
    let of = || (any_id(), prop::sample::select(&ORDERS[..]), any_warehouse(), vec((any_sku(), 1..3 as Qty), 1..3));
    let parcel = prop::sample::select(vec!["S-1", "S-2", "S-3", "S-4", "S-5", "S-6"]);
    let condition = || prop::sample::select(vec![Condition::Resellable, Condition::Damaged]);
    prop_oneof![
        3 => (of(), parcel).prop_map(|((id, (channel, order_ref), at, mut units), parcel)| {
            units.dedup_by_key(|(sku, _)| *sku);
            dispatched(&id, at, parcel, order_ref, &units).on(channel)
        }),
        2 => (of(), condition(), condition()).prop_map(|((id, (channel, order_ref), at, units), one, other)| {
            let mut lines: Vec<_> = units.into_iter().zip([one, other]).map(|((sku, qty), as_is)| (sku, qty, as_is)).collect();
            lines.dedup_by_key(|(sku, _, as_is)| (*sku, *as_is));
            returned(&id, at, order_ref, &lines).on(channel)
        }),
    ]
}

fn any_steps(all_named: bool) -> impl Strategy<Value = Vec<Step>> {
    let act = prop_oneof![
        20 => any_order_command(all_named).prop_map(Act::Ask),
        14 => any_payment_command().prop_map(Act::Ask),
        5 => any_stock_command().prop_map(Act::Ask),
        4 => any::<prop::sample::Index>().prop_map(Act::Again),
        6 => any_parcel_command().prop_map(Act::Ask),
        5 => prop::sample::select(vec![10, 20, 30, 60, 90]).prop_map(Act::Pass),
        1 => any::<bool>().prop_map(Act::Accept),
    ];
    vec((act, prop::bool::weighted(0.4)), 1..50)
}

/// Where batches end, besides where the clock moves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cuts {
    AsDrawn,
    Everywhere,
    Nowhere,
}

/// World and model, side by side.
struct Pair {
    world: World,
    model: Model,
    batch: Vec<Command>,
}

impl Pair {
    fn new(narrow: bool) -> Self {
        let world = ROUTES.iter().fold(World::with(&SHELVES), |world, (channel, route)| world.route(channel, route));
        let mut world = world.rooms(&ROOMS);
        world.narrow = narrow;
        Self { world, model: Model::with(&SHELVES, &ROUTES).rooms(&ROOMS), batch: Vec::new() }
    }

    /// Ends the batch, and compares. What is due but not yet touched may still stand where a batch sees only what it names.
    fn cut(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        for command in &self.batch {
            self.model.take(command);
        }
        self.world.take(std::mem::take(&mut self.batch));
        assert_eq!(self.world.fates, self.model.fates);
        assert_eq!(self.world.presents, self.model.presents);
        assert_eq!(self.world.reviews, self.model.reviews);
        assert_eq!(self.world.refunds, self.model.refunds);
        if !self.world.narrow {
            self.compare();
        }
    }

    fn compare(&self) {
        assert_eq!(self.world.picture(), self.model.picture());
        assert_eq!(self.world.told_by_order(), self.model.told);
    }

    fn run(mut self, steps: &[Step], cuts: Cuts) {
        let mut past: Vec<Command> = Vec::new();
        for (act, drawn) in steps {
            match act {
                Act::Ask(command) => self.batch.push(command.clone()),
                Act::Again(_) if past.is_empty() => {}
                Act::Again(index) => self.batch.push(index.get(&past).clone()),
                _ => self.cut(),
            }
            match act {
                Act::Ask(_) | Act::Again(_) => past.extend(self.batch.last().cloned()),
                Act::Pass(seconds) => {
                    self.world.pass(*seconds);
                    self.model.now = self.world.now;
                }
                Act::Accept(accept) => {
                    self.world.policy.accept_orders = *accept;
                    self.model.accept = *accept;
                }
            }
            if cuts == Cuts::Everywhere || (cuts == Cuts::AsDrawn && *drawn) {
                self.cut();
            }
        }
        self.batch.extend(ORDERS.map(|(channel, order_ref)| expire(order_ref).on(channel)));
        self.cut();
        self.compare();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_a_sequence_is_cut_it_ends_as_the_model_says(steps in any_steps(false)) {
        for cuts in [Cuts::AsDrawn, Cuts::Everywhere, Cuts::Nowhere] {
            Pair::new(false).run(&steps, cuts);
        }
    }

    #[test]
    fn nobody_is_refused_because_what_is_due_was_not_shown(steps in any_steps(true)) {
        for cuts in [Cuts::AsDrawn, Cuts::Everywhere, Cuts::Nowhere] {
            Pair::new(true).run(&steps, cuts);
        }
    }
}
