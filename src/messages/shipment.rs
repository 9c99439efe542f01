//! Shipments: dispatched, returned.

use super::Decode;
use super::fields::{Field, Object};
use super::lines::{LINES, Units};
use crate::domain::{
    Channel, Condition, Digest, Kind, OrderKey, OrderRef, Refusal, Return, ReturnedLine, Shipment, ShipmentKey, Text,
    Warehouse,
};

/// What reads the body of `shipment.<verb>.<warehouse>`.
pub(super) fn decoder(verb: &str) -> Option<Decode> {
    match verb {
        "dispatched" => Some(dispatched),
        "returned" => Some(returned),
        _ => None,
    }
}

fn dispatched(warehouse: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    let (warehouse, order) = concerning(warehouse, body)?;
    let shipment_ref = body.require("shipment_ref")?.name(Text::new)?;
    let mut units = Units::default();
    for item in body.require("lines")?.items(LINES)? {
        units.add(&item.into_object()?)?;
    }
    let lines = units.into_lines();
    let digest = Digest::of_moved(&lines);
    Ok(Kind::Ship(Shipment { key: ShipmentKey { order, shipment_ref, warehouse }, digest, lines }))
}

fn returned(warehouse: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    let (warehouse, order) = concerning(warehouse, body)?;
    let (mut resellable, mut damaged) = (Units::default(), Units::default());
    for item in body.require("lines")?.items(LINES)? {
        let line = item.into_object()?;
        match condition(&line.require("condition")?)? {
            Condition::Resellable => resellable.add(&line)?,
            Condition::Damaged => damaged.add(&line)?,
        };
    }
    let of = |units: Units, condition| {
        let lines = units.into_lines().into_iter();
        lines.map(move |line| ReturnedLine { sku: line.sku, qty: line.qty, condition })
    };
    let lines = of(resellable, Condition::Resellable).chain(of(damaged, Condition::Damaged)).collect();
    Ok(Kind::Return(Return { order, warehouse, lines }))
}

/// The warehouse that tells it, and the order that it is about.
fn concerning(warehouse: &str, body: &Object<'_, '_>) -> Result<(Warehouse, OrderKey), Refusal> {
    body.judge_repeated_token("warehouse", warehouse)?;
    let channel = body.require("channel")?.name(Channel::new)?;
    let order_ref = body.require("order_ref")?.name(OrderRef::new)?;
    Ok((Warehouse::stored(warehouse), OrderKey { channel, order_ref }))
}

/// Never guessed: a damaged unit must not be sold again.
fn condition(field: &Field<'_, '_>) -> Result<Condition, Refusal> {
    Condition::from_word(field.text()?).ok_or_else(|| field.invalid("must be resellable or damaged"))
}
