//! Units come in, go, are counted, move.

use std::collections::HashMap;
use std::sync::Arc;

use super::ledger::Ledger;
use crate::domain::Qty;
use crate::domain::command::{Command, Count, Digest, DocumentKey, EventKey, Kind, MovedLine, Transfer};
use crate::domain::decision::{FiledDocument, MovementKind, Outcome, Review, ReviewKind, ReviewSubject};
use crate::domain::names::{Sku, Text, Warehouse};
use crate::domain::refusal::{Reason, Refusal};
use crate::domain::stock::StockKey;

/// Decides one stock message. Its lines take effect together or not at all.
pub(super) fn take(
    command: &Command,
    index: usize,
    ledger: &mut Ledger,
    documents: &mut HashMap<(Arc<str>, Text), Digest>,
) -> Outcome {
    let Some(event) = &command.event else {
        return Outcome::Attended;
    };
    let document = match &command.kind {
        Kind::Receive(receipt) => receipt.document.as_ref(),
        Kind::WriteOff(write_off) => write_off.document.as_ref(),
        _ => None,
    };
    if let Some(document) = document {
        match documents.get(&(event.subject.clone(), document.document_ref.clone())) {
            Some(known) if *known == document.digest => return Outcome::Applied,
            Some(_) => return Outcome::Refused(conflict(document)),
            None => {}
        }
    }
    let outcome = decide(command, event, index, ledger);
    if let (Some(document), false) = (document, matches!(outcome, Outcome::Refused(_))) {
        documents.insert((event.subject.clone(), document.document_ref.clone()), document.digest);
        ledger.file_document(FiledDocument {
            subject: event.subject.clone(),
            event_id: event.id.clone(),
            key: document.clone(),
        });
    }
    outcome
}

/// Decides one that was kept for a person, now that the person says so. Its document was filed when it was kept, and is no repeat of itself.
pub(super) fn take_kept(command: &Command, index: usize, ledger: &mut Ledger) -> Outcome {
    let Some(event) = &command.event else {
        return Outcome::Attended;
    };
    decide(command, event, index, ledger)
}

fn decide(command: &Command, event: &EventKey, index: usize, ledger: &mut Ledger) -> Outcome {
    let mut desk = Desk { event, index, ledger };
    match &command.kind {
        Kind::Receive(receipt) => desk.receive(&receipt.warehouse, &receipt.lines),
        Kind::WriteOff(write_off) => desk.write_off(&write_off.warehouse, &write_off.lines),
        Kind::Count(count) => desk.count(count),
        Kind::Transfer(transfer) => desk.transfer(transfer),
        _ => Outcome::Attended,
    }
}

fn conflict(document: &DocumentKey) -> Refusal {
    Refusal::new(
        Reason::ConflictingDuplicate,
        format!("document_ref {} was taken before with other lines", document.document_ref),
    )
}

/// Where one message is worked on.
struct Desk<'a> {
    event: &'a EventKey,
    index: usize,
    ledger: &'a mut Ledger,
}

impl Desk<'_> {
    fn receive(&mut self, warehouse: &Warehouse, lines: &[MovedLine]) -> Outcome {
        for line in lines {
            self.learn(&line.sku, warehouse);
            self.move_units(&line.sku, warehouse, line.qty, MovementKind::Received);
        }
        Outcome::Applied
    }

    fn write_off(&mut self, warehouse: &Warehouse, lines: &[MovedLine]) -> Outcome {
        if let Some(refusal) = self.unknown(warehouse, lines) {
            return Outcome::Refused(refusal);
        }
        if let Some(review) = self.more_than_free(ReviewKind::WrittenOffBelowReserved, warehouse, lines) {
            return review;
        }
        for line in lines {
            self.move_units(&line.sku, warehouse, -line.qty, MovementKind::WrittenOff);
        }
        Outcome::Applied
    }

    fn count(&mut self, count: &Count) -> Outcome {
        let reserved =
            |desk: &Self, sku: &Sku| desk.ledger.stock.get(sku, &count.warehouse).map_or(0, |row| row.reserved);
        let below: Vec<_> = count.lines.iter().filter(|line| line.on_hand < reserved(self, &line.sku)).collect();
        if let Some(first) = below.first() {
            let detail = format!(
                "{} of sku {} were counted in warehouse {}, where {} are reserved",
                first.on_hand,
                first.sku,
                count.warehouse,
                reserved(self, &first.sku)
            );
            let skus = below.iter().map(|line| &line.sku).cloned().collect();
            return self.ask_person(ReviewKind::CountBelowReserved, &count.warehouse, skus, detail);
        }
        for line in &count.lines {
            self.learn(&line.sku, &count.warehouse);
            let before = self.ledger.stock.get(&line.sku, &count.warehouse).map_or(0, |row| row.on_hand);
            self.move_units(&line.sku, &count.warehouse, line.on_hand - before, MovementKind::Counted);
        }
        Outcome::Applied
    }

    fn transfer(&mut self, transfer: &Transfer) -> Outcome {
        if let Some(refusal) = self.unknown(&transfer.warehouse, &transfer.lines) {
            return Outcome::Refused(refusal);
        }
        let kind = ReviewKind::TransferredBelowReserved;
        if let Some(review) = self.more_than_free(kind, &transfer.warehouse, &transfer.lines) {
            return review;
        }
        for line in &transfer.lines {
            self.move_units(&line.sku, &transfer.warehouse, -line.qty, MovementKind::Transferred);
            self.learn(&line.sku, &transfer.to);
            self.move_units(&line.sku, &transfer.to, line.qty, MovementKind::Transferred);
        }
        Outcome::Applied
    }

    fn unknown(&self, warehouse: &Warehouse, lines: &[MovedLine]) -> Option<Refusal> {
        if let Some(line) = lines.iter().find(|line| !self.ledger.knows_sku(&line.sku)) {
            let detail = format!("lines name sku {}, which has no stock row in any warehouse", line.sku);
            return Some(Refusal::new(Reason::UnknownSku, detail));
        }
        if !self.ledger.knows_warehouse(warehouse) {
            let detail = format!("warehouse {warehouse} has no stock row and stands in no channel's map");
            return Some(Refusal::new(Reason::UnknownWarehouse, detail));
        }
        None
    }

    /// Opens a review if a line takes more than is free; then nothing of the message is applied.
    fn more_than_free(&mut self, kind: ReviewKind, warehouse: &Warehouse, lines: &[MovedLine]) -> Option<Outcome> {
        let too_much = |line: &&MovedLine| line.qty > self.ledger.available(&line.sku, warehouse);
        let short: Vec<_> = lines.iter().filter(too_much).collect();
        let first = short.first()?;
        let detail = format!(
            "{} of sku {} are to leave warehouse {warehouse}, where {} are free",
            first.qty,
            first.sku,
            self.ledger.available(&first.sku, warehouse)
        );
        let skus = short.iter().map(|line| line.sku.clone()).collect();
        Some(self.ask_person(kind, warehouse, skus, detail))
    }

    fn ask_person(&mut self, kind: ReviewKind, warehouse: &Warehouse, skus: Vec<Sku>, detail: String) -> Outcome {
        let rows: Vec<StockKey> = skus.into_iter().map(|sku| StockKey { sku, warehouse: warehouse.clone() }).collect();
        self.ledger.fell_short(rows.iter().cloned());
        Outcome::UnderReview(self.ledger.ask_person(Review {
            kind,
            subject: ReviewSubject::Message {
                subject: self.event.subject.clone(),
                event_id: self.event.id.clone(),
                rows,
            },
            detail,
            cause: self.index,
        }))
    }

    fn learn(&mut self, sku: &Sku, warehouse: &Warehouse) {
        self.ledger.learn(&StockKey { sku: sku.clone(), warehouse: warehouse.clone() }, self.index);
    }

    fn move_units(&mut self, sku: &Sku, warehouse: &Warehouse, delta: Qty, kind: MovementKind) {
        let key = StockKey { sku: sku.clone(), warehouse: warehouse.clone() };
        self.ledger.move_units(&key, delta, kind, self.index, Some(&self.event.id));
    }
}
