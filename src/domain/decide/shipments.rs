//! Units leave for an order, and come back.
//!
//! What is shipped was reserved in one warehouse and may leave another. Then two rows change: the shelf that it left loses units that were free
//! there, and the warehouse where it is reserved gets its hold back. The step in the journal is always that of the reservation's own row.

use std::collections::{BTreeMap, HashMap};

use super::ledger::{Entry, Ledger};
use super::orders::Ask;
use crate::domain::Qty;
use crate::domain::command::{Digest, MovedLine};
use crate::domain::decision::{Answer, MovementKind, Outcome, Review, ReviewKind, ReviewSubject, What};
use crate::domain::names::{Sku, Warehouse};
use crate::domain::order::{Reservation, ReservationState};
use crate::domain::refusal::{Reason, Refusal};
use crate::domain::shipment::{Condition, FiledShipment, ParcelKind, ParcelLine, Return, Shipment, ShipmentKey};
use crate::domain::stock::StockKey;

/// Shipments that were taken, with the digests of their lines.
pub(super) type Taken = HashMap<ShipmentKey, Digest>;

/// Units left a shelf. All lines take effect together or none; none is returned where it has to wait until the order is confirmed.
pub(super) fn ship(
    ask: &Ask<'_>,
    shipment: &Shipment,
    entry: &mut Entry,
    ledger: &mut Ledger,
    taken: &mut Taken,
) -> Option<Outcome> {
    match taken.get(&shipment.key) {
        Some(digest) if *digest == shipment.digest => return Some(ask.tell_present(entry, ledger)),
        Some(_) => return Some(Outcome::Refused(conflict(&shipment.key))),
        None => {}
    }
    if let Some(refusal) = judge(ask, shipment, entry, ledger) {
        return Some(Outcome::Refused(refusal));
    }
    if shipped_lines(shipment, entry).any(|(_, line, _)| line.state == ReservationState::Held) {
        return None;
    }
    let from = &shipment.key.warehouse;
    if !ledger.knows_warehouse(from) {
        let detail = format!("warehouse {from} has no stock row and stands in no channel's map");
        return Some(Outcome::Refused(Refusal::new(Reason::UnknownWarehouse, detail)));
    }
    if let Some(review) = more_than_free_elsewhere(ask, shipment, entry, ledger) {
        return Some(review);
    }
    let places: Vec<(usize, Qty)> = shipped_lines(shipment, entry).map(|(place, _, qty)| (place, qty)).collect();
    for (place, qty) in places {
        leave(ask, &mut entry.lines[place], from, qty, ledger);
    }
    entry.settle();
    taken.insert(shipment.key.clone(), shipment.digest);
    ledger.file_shipment(FiledShipment {
        key: shipment.key.clone(),
        digest: shipment.digest,
        event_id: ask.event.id.clone(),
    });
    let answer = Answer { what: What::Shipped, ..ask.answer(entry) };
    Some(Outcome::Answered(ledger.tell(answer)))
}

fn conflict(key: &ShipmentKey) -> Refusal {
    let detail =
        format!("shipment_ref {} of this order and warehouse was taken before with other lines", key.shipment_ref);
    Refusal::new(Reason::ConflictingDuplicate, detail)
}

/// The order's lines that are shipped, with their places and the units of each. What is not in the order is left out.
fn shipped_lines<'a>(
    shipment: &'a Shipment,
    entry: &'a Entry,
) -> impl Iterator<Item = (usize, &'a Reservation, Qty)> + 'a {
    shipment.lines.iter().filter_map(|shipped| {
        let (place, line) = line_of(&shipped.sku, entry)?;
        Some((place, line, shipped.qty))
    })
}

fn line_of<'a>(sku: &Sku, entry: &'a Entry) -> Option<(usize, &'a Reservation)> {
    entry.lines.iter().enumerate().find(|(_, line)| line.sku == *sku)
}

/// Why the shipment cannot be taken, if a line of it is wrong. Units that left although nobody held them are a person's business too.
fn judge(ask: &Ask<'_>, shipment: &Shipment, entry: &Entry, ledger: &mut Ledger) -> Option<Refusal> {
    if let Some(detail) = shipment.lines.iter().find_map(|shipped| without_hold(shipped, entry)) {
        ledger.ask_person(Review {
            kind: ReviewKind::ShippedWithoutHold,
            subject: ReviewSubject::Order(entry.key.clone()),
            detail: format!(
                "shipment {} left warehouse {} for order {} of channel {}: {detail}",
                shipment.key.shipment_ref, shipment.key.warehouse, entry.key.order_ref, entry.key.channel
            ),
            cause: ask.index,
        });
        return Some(Refusal::new(Reason::OverShipment, detail));
    }
    let too_many = shipped_lines(shipment, entry).find(|(_, line, qty)| *qty > line.outstanding());
    too_many.map(|(_, line, qty)| {
        let detail = format!("lines name {qty} of sku {}, of which {} are outstanding", line.sku, line.outstanding());
        Refusal::new(Reason::OverShipment, detail)
    })
}

/// Why these units were held by nobody, if they were not.
fn without_hold(shipped: &MovedLine, entry: &Entry) -> Option<String> {
    let Some((_, line)) = line_of(&shipped.sku, entry) else {
        return Some(format!("lines name sku {}, which is not in the order", shipped.sku));
    };
    match line.state {
        ReservationState::Released | ReservationState::Expired => {
            Some(format!("lines name sku {}, which is {} and not held", line.sku, line.state.word()))
        }
        ReservationState::Held | ReservationState::Confirmed | ReservationState::Shipped => None,
    }
}

/// Opens a review if units left a warehouse that neither held them for this order nor has them free; then nothing of the message is applied.
fn more_than_free_elsewhere(ask: &Ask<'_>, shipment: &Shipment, entry: &Entry, ledger: &mut Ledger) -> Option<Outcome> {
    let from = &shipment.key.warehouse;
    let short: Vec<_> = shipped_lines(shipment, entry)
        .filter(|(_, line, qty)| line.warehouse != *from && *qty > ledger.available(&line.sku, from))
        .collect();
    let (_, line, qty) = short.first()?;
    let detail = format!(
        "{qty} of sku {} left warehouse {from} for order {} of channel {}, which holds them in warehouse {}; {} are free in {from}",
        line.sku,
        entry.key.order_ref,
        entry.key.channel,
        line.warehouse,
        ledger.available(&line.sku, from)
    );
    let row = |line: &Reservation| StockKey { sku: line.sku.clone(), warehouse: from.clone() };
    let rows: Vec<StockKey> = short.iter().map(|(_, line, _)| row(line)).collect();
    ledger.fell_short(rows.iter().cloned());
    Some(Outcome::UnderReview(ledger.ask_person(Review {
        kind: ReviewKind::ShippedElsewhere,
        subject: ReviewSubject::Message { subject: ask.event.subject.clone(), event_id: ask.event.id.clone(), rows },
        detail,
        cause: ask.index,
    })))
}

/// Units of one line leave a shelf. The hold ends where it stands, whichever shelf they left. With nothing left outstanding the line is shipped.
fn leave(ask: &Ask<'_>, line: &mut Reservation, from: &Warehouse, qty: Qty, ledger: &mut Ledger) {
    let to = if qty == line.outstanding() { ReservationState::Shipped } else { line.state };
    line.shipped_qty += qty;
    ledger.step(line, to, -qty, &ask.why(Some(What::Shipped.word().into())));
    let shelf = StockKey { sku: line.sku.clone(), warehouse: from.clone() };
    ledger.move_units(&shelf, -qty, MovementKind::Shipped, ask.index, Some(&ask.event.id));
    ledger.carry(parcel_line(ask, line, from, ParcelKind::Shipped, qty));
}

fn parcel_line(ask: &Ask<'_>, line: &Reservation, at: &Warehouse, kind: ParcelKind, qty: Qty) -> ParcelLine {
    ParcelLine {
        line: line.id,
        sku: line.sku.clone(),
        warehouse: at.clone(),
        kind,
        qty,
        event_id: ask.event.id.clone(),
    }
}

/// Units came back: at most what was shipped and has not come back. All lines take effect together or none. No state changes.
pub(super) fn take_back(ask: &Ask<'_>, returned: &Return, entry: &mut Entry, ledger: &mut Ledger) -> Outcome {
    if let Some(detail) = too_much_back(returned, entry) {
        return Outcome::Refused(Refusal::new(Reason::OverReturn, detail));
    }
    for came in &returned.lines {
        let Some((place, _)) = line_of(&came.sku, entry) else { continue };
        let line = &mut entry.lines[place];
        line.returned_qty += came.qty;
        let kind = match came.condition {
            Condition::Resellable => {
                let shelf = StockKey { sku: came.sku.clone(), warehouse: returned.warehouse.clone() };
                ledger.learn(&shelf, ask.index);
                ledger.move_units(&shelf, came.qty, MovementKind::Returned, ask.index, Some(&ask.event.id));
                ParcelKind::Returned
            }
            Condition::Damaged => ParcelKind::Damaged,
        };
        ledger.carry(parcel_line(ask, line, &returned.warehouse, kind, came.qty));
    }
    let answer = Answer { what: What::Returned, ..ask.answer(entry) };
    Outcome::Answered(ledger.tell(answer))
}

/// Why more came back than can have, if it did. The conditions of one SKU count together.
fn too_much_back(returned: &Return, entry: &Entry) -> Option<String> {
    let mut sums: BTreeMap<&Sku, Qty> = BTreeMap::new();
    for came in &returned.lines {
        *sums.entry(&came.sku).or_default() += came.qty;
    }
    sums.into_iter().find_map(|(sku, qty)| {
        let Some((_, line)) = line_of(sku, entry) else {
            return Some(format!("lines name sku {sku}, which is not in the order"));
        };
        let out = line.shipped_qty - line.returned_qty;
        (qty > out)
            .then(|| format!("lines name {qty} of sku {sku}, of which {out} were shipped and have not come back"))
    })
}
