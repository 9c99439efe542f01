//! Orders: created, renewed, cancelled.

use super::Decode;
use super::fields::{Field, Object};
use super::lines::{LINES, Slots, Units};
use crate::domain::{
    AskedLine, AskedSlot, CancelLine, CancelOrder, Channel, CreateOrder, Currency, Digest, Kind, Money, OrderKey,
    OrderRef, PaymentMode, Refusal, RenewOrder, Warehouse,
};

/// What reads the body of `order.<verb>.<channel>`.
pub(super) fn decoder(verb: &str) -> Option<Decode> {
    match verb {
        "created" => Some(created),
        "renewed" => Some(renewed),
        "cancelled" => Some(cancelled),
        _ => None,
    }
}

fn created(channel: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    let order = order_key(channel, body)?;
    let payment = body.get("payment").map_or(Ok(PaymentMode::Online), |field| payment(&field))?;
    let total = body.get("total").map(money).transpose()?;
    let hold_for_s = hold_for_s(body)?;
    let (lines, slots) = asked(body)?;
    let digest = Digest::of_order(payment, total, &lines, &slots);
    Ok(Kind::Create(CreateOrder { order, payment, total, hold_for_s, lines, slots, digest }))
}

fn renewed(channel: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    Ok(Kind::Renew(RenewOrder { order: order_key(channel, body)?, hold_for_s: hold_for_s(body)? }))
}

fn cancelled(channel: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    let order = order_key(channel, body)?;
    let reason = match body.get("reason") {
        Some(field) => Some(field.words()?.into()),
        None => None,
    };
    let lines = body.get("lines").map(|lines| given_back(&lines)).transpose()?;
    Ok(Kind::Cancel(CancelOrder { order, reason, lines }))
}

fn order_key(channel: &str, body: &Object<'_, '_>) -> Result<OrderKey, Refusal> {
    body.judge_repeated_token("channel", channel)?;
    Ok(OrderKey { channel: Channel::stored(channel), order_ref: body.require("order_ref")?.name(OrderRef::new)? })
}

fn payment(field: &Field<'_, '_>) -> Result<PaymentMode, Refusal> {
    PaymentMode::from_word(field.text()?).ok_or_else(|| field.invalid("must be online, prepaid or on_delivery"))
}

pub(super) fn money(field: Field<'_, '_>) -> Result<Money, Refusal> {
    let money = field.into_object()?;
    let amount = money.require("amount")?.whole(0..=i64::MAX)?;
    let currency = money.require("currency")?;
    let currency = Currency::new(currency.text()?).ok_or_else(|| currency.invalid("must be three capital letters"))?;
    Ok(Money { amount, currency })
}

fn hold_for_s(body: &Object<'_, '_>) -> Result<Option<u64>, Refusal> {
    body.get("hold_for_s").map(|field| field.at_least_one()).transpose()
}

/// What a line is about.
enum Subject {
    Units,
    Slot,
}

fn subject_of(line: &Object<'_, '_>) -> Result<Subject, Refusal> {
    match (line.get("sku"), line.get("resource")) {
        (Some(_), None) => Ok(Subject::Units),
        (None, Some(_)) => Ok(Subject::Slot),
        _ => Err(line.invalid("must have either a sku or a resource")),
    }
}

fn asked(body: &Object<'_, '_>) -> Result<(Vec<AskedLine>, Vec<AskedSlot>), Refusal> {
    let list = body.require("lines")?;
    let (mut units, mut warehouses, mut slots) = (Units::default(), Vec::new(), Slots::default());
    for (place, item) in list.items(LINES)?.enumerate() {
        let line = item.into_object()?;
        match subject_of(&line)? {
            Subject::Units => {
                let sum = units.add(&line)?;
                warehouses.resize(warehouses.len().max(sum + 1), None);
                name_warehouse(&mut warehouses[sum], &line)?;
            }
            Subject::Slot => slots.add(place, &line)?,
        }
    }
    let lines = units.into_lines().into_iter().zip(warehouses);
    let lines = lines.map(|(moved, warehouse)| AskedLine { sku: moved.sku, qty: moved.qty, warehouse });
    Ok((lines.collect(), slots.into_apart(&list)?))
}

/// Lines of one SKU are one line: the warehouse that one of them names holds for all, and no two may differ.
fn name_warehouse(named: &mut Option<Warehouse>, line: &Object<'_, '_>) -> Result<(), Refusal> {
    let Some(field) = line.get("warehouse") else {
        return Ok(());
    };
    let warehouse = field.name(Warehouse::new)?;
    match named {
        Some(other) if *other != warehouse => {
            Err(field.invalid(format_args!("must be \"{other}\", which another line of the same sku names")))
        }
        _ => {
            *named = Some(warehouse);
            Ok(())
        }
    }
}

fn given_back(list: &Field<'_, '_>) -> Result<Vec<CancelLine>, Refusal> {
    let (mut units, mut slots) = (Units::default(), Slots::default());
    for (place, item) in list.items(LINES)?.enumerate() {
        let line = item.into_object()?;
        match subject_of(&line)? {
            Subject::Units => units.add(&line).map(drop)?,
            Subject::Slot => slots.add(place, &line)?,
        }
    }
    let units = units.into_lines().into_iter();
    let units = units.map(|line| CancelLine::Units(line.sku, line.qty));
    let slots = slots.into_apart(list)?.into_iter().map(CancelLine::Slot);
    Ok(units.chain(slots).collect())
}
