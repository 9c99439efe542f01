//! Inventory: received, written off, counted, transferred.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::RangeInclusive;

use super::Decode;
use super::fields::Object;
use super::lines::{LINES, Units};
use crate::domain::{
    Count, CountLine, Digest, DocumentKey, Kind, MovedLine, Qty, Receipt, Refusal, Sku, Text, Transfer, Warehouse,
    WriteOff,
};

/// What may lie on a shelf.
const ON_HAND: RangeInclusive<Qty> = 0..=1_000_000_000;

/// What reads the body of `inventory.<verb>.<warehouse>`.
pub(super) fn decoder(verb: &str) -> Option<Decode> {
    match verb {
        "received" => Some(received),
        "written_off" => Some(written_off),
        "counted" => Some(counted),
        "transferred" => Some(transferred),
        _ => None,
    }
}

fn received(warehouse: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    let warehouse = own(warehouse, body)?;
    let (document, lines) = documented(body)?;
    Ok(Kind::Receive(Receipt { warehouse, document, lines }))
}

fn written_off(warehouse: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    let warehouse = own(warehouse, body)?;
    let (document, lines) = documented(body)?;
    Ok(Kind::WriteOff(WriteOff { warehouse, document, lines }))
}

fn counted(warehouse: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    Ok(Kind::Count(Count { warehouse: own(warehouse, body)?, lines: figures(body)? }))
}

fn transferred(warehouse: &str, body: &Object<'_, '_>) -> Result<Kind, Refusal> {
    let warehouse = own(warehouse, body)?;
    let target = body.require("to")?;
    let to = target.name(Warehouse::new)?;
    if to == warehouse {
        return Err(target.invalid("must be another warehouse than the subject's"));
    }
    Ok(Kind::Transfer(Transfer { warehouse, to, lines: moved(body)? }))
}

fn own(warehouse: &str, body: &Object<'_, '_>) -> Result<Warehouse, Refusal> {
    body.judge_repeated_token("warehouse", warehouse)?;
    Ok(Warehouse::stored(warehouse))
}

/// Lines that a document may stand for.
fn documented(body: &Object<'_, '_>) -> Result<(Option<DocumentKey>, Vec<MovedLine>), Refusal> {
    body.get("reason").map(|field| field.words()).transpose()?;
    let document_ref = body.get("document_ref").map(|field| field.name(Text::new)).transpose()?;
    let lines = moved(body)?;
    let document = document_ref.map(|document_ref| DocumentKey { document_ref, digest: Digest::of_moved(&lines) });
    Ok((document, lines))
}

fn moved(body: &Object<'_, '_>) -> Result<Vec<MovedLine>, Refusal> {
    let mut units = Units::default();
    for item in body.require("lines")?.items(LINES)? {
        units.add(&item.into_object()?)?;
    }
    Ok(units.into_lines())
}

/// The figure of each SKU. One that is counted twice must be counted alike: figures do not add up.
fn figures(body: &Object<'_, '_>) -> Result<Vec<CountLine>, Refusal> {
    let mut counted = HashMap::new();
    let mut lines = Vec::new();
    for item in body.require("lines")?.items(LINES)? {
        let line = item.into_object()?;
        let sku = line.require("sku")?.name(Sku::new)?;
        let figure = line.require("on_hand")?;
        let on_hand = figure.whole(ON_HAND)?;
        match counted.entry(sku.clone()) {
            Entry::Vacant(first) => {
                first.insert(on_hand);
                lines.push(CountLine { sku, on_hand });
            }
            Entry::Occupied(earlier) if *earlier.get() == on_hand => {}
            Entry::Occupied(earlier) => {
                return Err(
                    figure.invalid(format_args!("must be {}, as another line of the same sku says", earlier.get()))
                );
            }
        }
    }
    Ok(lines)
}
