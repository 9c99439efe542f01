//! Parcels of the model.

use super::{Line, Model};
use crate::domain::{Command, Condition, Kind, Qty, Return, Shipment};

impl Model {
    pub(super) fn ship(&mut self, id: &str, shipment: &Shipment, place: usize) -> String {
        let from = shipment.key.warehouse.to_string();
        let mut content: Vec<String> = shipment.lines.iter().map(|line| format!("{line:?}")).collect();
        content.sort();
        let content = content.join(" ");
        let name = format!("{from} {} {}", self.orders[place].key, shipment.key.shipment_ref);
        for (taken, known) in &self.shipments {
            if *taken == name {
                let same = *known == content;
                return if same { self.tell_present(place, id) } else { "dead conflicting_duplicate".into() };
            }
        }
        let wanted: Vec<(usize, Qty)> = self.lines_of(place, shipment);
        let dead = ["released", "expired"];
        let lines = &self.orders[place].lines;
        let held_by_nobody = wanted.iter().any(|(line, _)| dead.contains(&lines[*line].state));
        if wanted.len() < shipment.lines.len() || held_by_nobody {
            self.reviews.push(format!("shipped_without_hold {}", self.orders[place].key));
            return "dead over_shipment".into();
        }
        if wanted.iter().any(|(line, units)| *units > lines[*line].outstanding()) {
            return "dead over_shipment".into();
        }
        if wanted.iter().any(|(line, _)| lines[*line].state == "held") {
            return "waiting".into();
        }
        if !self.knows_warehouse(&from) {
            return "dead unknown_warehouse".into();
        }
        let elsewhere = |line: &Line, units: Qty| line.warehouse != from && self.free(&line.sku, &from) < units;
        if wanted.iter().any(|(line, units)| elsewhere(&lines[*line], *units)) {
            return "review shipped_elsewhere".into();
        }
        for (line, units) in wanted {
            let line = &mut self.orders[place].lines[line];
            line.shipped += units;
            if line.shipped == line.qty {
                line.state = "shipped";
            }
            let (sku, home) = (line.sku.clone(), line.warehouse.clone());
            self.shelf_made(&sku, &home).reserved -= units;
            self.shelf_made(&sku, &from).on_hand -= units;
        }
        self.shipments.push((name, content));
        self.tell(place, id, "shipped")
    }

    /// Which lines of the order are shipped, and how many units of each; fewer than the shipment has, if one is not in the order.
    fn lines_of(&self, place: usize, shipment: &Shipment) -> Vec<(usize, Qty)> {
        let mut found = Vec::new();
        for shipped in &shipment.lines {
            for (number, line) in self.orders[place].lines.iter().enumerate() {
                if line.sku == shipped.sku.as_str() {
                    found.push((number, shipped.qty));
                }
            }
        }
        found
    }

    pub(super) fn take_back(&mut self, id: &str, returned: &Return, place: usize) -> String {
        let key = self.orders[place].key.clone();
        let shipment_of_order = |command: &Command| match &command.kind {
            Kind::Ship(shipment) => format!("{}/{}", shipment.key.order.channel, shipment.key.order.order_ref) == key,
            _ => false,
        };
        if self.waiting.iter().any(|(_, command)| shipment_of_order(command)) {
            return "waiting".into();
        }
        for came in &returned.lines {
            let of_sku = |sku: &str| sku == came.sku.as_str();
            let units: Qty = returned.lines.iter().filter(|line| of_sku(line.sku.as_str())).map(|line| line.qty).sum();
            let lines = &self.orders[place].lines;
            let out: Qty = lines.iter().filter(|line| of_sku(&line.sku)).map(|line| line.shipped - line.back).sum();
            if units > out {
                return "dead over_return".into();
            }
        }
        for came in &returned.lines {
            for line in &mut self.orders[place].lines {
                if line.sku == came.sku.as_str() {
                    line.back += came.qty;
                }
            }
            if came.condition == Condition::Resellable {
                self.shelf_made(came.sku.as_str(), returned.warehouse.as_str()).on_hand += came.qty;
            }
        }
        self.tell(place, id, "returned")
    }
}
