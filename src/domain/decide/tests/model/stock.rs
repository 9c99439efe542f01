//! Shelves of the model.

use super::{Model, Shelf};
use crate::domain::{Count, DocumentKey, Kind, MovedLine, Qty, Receipt, WriteOff};

impl Model {
    /// Decides a stock message.
    pub(super) fn stock(&mut self, subject: &str, kind: &Kind) -> String {
        match kind {
            Kind::Receive(Receipt { warehouse, document, lines }) => {
                self.filed(subject, document.as_ref(), lines, |model| model.receive(warehouse.as_str(), lines))
            }
            Kind::WriteOff(WriteOff { warehouse, document, lines }) => {
                self.filed(subject, document.as_ref(), lines, |model| {
                    model.take_out(warehouse.as_str(), lines, "written_off_below_reserved")
                })
            }
            Kind::Count(count) => self.count(count),
            Kind::Transfer(transfer) => {
                let from = transfer.warehouse.as_str();
                let fate = self.take_out(from, &transfer.lines, "transferred_below_reserved");
                if fate == "applied" { self.receive(transfer.to.as_str(), &transfer.lines) } else { fate }
            }
            _ => panic!("no stock message"),
        }
    }

    fn count(&mut self, count: &Count) -> String {
        let warehouse = count.warehouse.as_str();
        for line in &count.lines {
            if self.shelf(line.sku.as_str(), warehouse).is_some_and(|shelf| line.on_hand < shelf.reserved) {
                return "review count_below_reserved".into();
            }
        }
        for line in &count.lines {
            self.shelf_made(line.sku.as_str(), warehouse).on_hand = line.on_hand;
        }
        "applied".into()
    }

    /// A document is taken once; what it did is not judged again.
    fn filed(
        &mut self,
        subject: &str,
        document: Option<&DocumentKey>,
        lines: &[MovedLine],
        decide: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let Some(document) = document else {
            return decide(self);
        };
        let document_ref = document.document_ref.as_str();
        let mut content: Vec<String> = lines.iter().map(|line| format!("{line:?}")).collect();
        content.sort();
        let content = content.join(" ");
        for (on, of, known) in &self.documents {
            if on == subject && of == document_ref {
                return if *known == content { "applied".into() } else { "dead conflicting_duplicate".into() };
            }
        }
        let fate = decide(self);
        if !fate.starts_with("dead") {
            self.documents.push((subject.into(), document_ref.into(), content));
        }
        fate
    }

    fn receive(&mut self, warehouse: &str, lines: &[MovedLine]) -> String {
        for line in lines {
            self.shelf_made(line.sku.as_str(), warehouse).on_hand += line.qty;
        }
        "applied".into()
    }

    fn take_out(&mut self, warehouse: &str, lines: &[MovedLine], review: &str) -> String {
        if lines.iter().any(|line| self.shelves.iter().all(|shelf| shelf.sku != line.sku.as_str())) {
            return "dead unknown_sku".into();
        }
        if !self.knows_warehouse(warehouse) {
            return "dead unknown_warehouse".into();
        }
        if lines.iter().any(|line| self.free(line.sku.as_str(), warehouse) < line.qty) {
            return format!("review {review}");
        }
        for line in lines {
            self.shelf_made(line.sku.as_str(), warehouse).on_hand -= line.qty;
        }
        "applied".into()
    }

    pub(super) fn knows_warehouse(&self, name: &str) -> bool {
        self.shelves.iter().any(|shelf| shelf.warehouse == name)
            || self.routes.iter().any(|(_, warehouses)| warehouses.iter().any(|warehouse| warehouse == name))
    }

    fn shelf(&self, sku: &str, warehouse: &str) -> Option<&Shelf> {
        self.shelves.iter().find(|shelf| shelf.sku == sku && shelf.warehouse == warehouse)
    }

    pub(super) fn free(&self, sku: &str, warehouse: &str) -> Qty {
        self.shelf(sku, warehouse).map_or(0, |shelf| shelf.on_hand - shelf.reserved)
    }

    pub(super) fn shelf_made(&mut self, sku: &str, warehouse: &str) -> &mut Shelf {
        let is_it = |shelf: &Shelf| shelf.sku == sku && shelf.warehouse == warehouse;
        let place = self.shelves.iter().position(is_it).unwrap_or_else(|| {
            self.shelves.push(Shelf { sku: sku.into(), warehouse: warehouse.into(), on_hand: 0, reserved: 0 });
            self.shelves.len() - 1
        });
        &mut self.shelves[place]
    }
}
