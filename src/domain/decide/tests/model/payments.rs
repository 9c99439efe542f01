//! Payments of the model.

use super::{Model, Payment};
use crate::domain::PaymentReport;

const STATES: [&str; 4] = ["started", "failed", "succeeded", "refunded"];

fn rank(state: &str) -> usize {
    STATES.iter().position(|known| *known == state).expect("a state")
}

impl Payment {
    fn asked_back(&self) -> bool {
        self.asked.iter().any(|reason| *reason != "partially_cancelled")
    }

    pub(super) fn picture(&self) -> String {
        let pays = if self.pays { " pays" } else { "" };
        format!("{} {} {}-{}{pays}", self.id, self.state, self.amount, self.refunded)
    }
}

impl Model {
    pub(super) fn payment(&mut self, event: &str, report: &PaymentReport, place: usize) -> String {
        let (id, verb) = (report.key.payment_id.to_string(), report.says.word());
        let amount = report.amount.map_or(-1, |money| money.amount);
        let order = self.orders[place].key.clone();
        if let Some(known) = self.payments.iter().find(|payment| payment.id == id) {
            let before = known.said.iter().find(|(said, by, _)| *said == verb && (verb != "refunded" || by == event));
            let other_order = known.order != order;
            if other_order || before.is_some_and(|(_, _, before)| *before != amount) {
                self.reviews.push(format!("payment_mismatch {id}"));
                return "noted".into();
            }
            if before.is_some() {
                return "noted".into();
            }
        } else {
            self.payments.push(Payment {
                id: id.clone(),
                order: order.clone(),
                state: verb,
                amount: -1,
                refunded: 0,
                pays: false,
                said: Vec::new(),
                asked: Vec::new(),
            });
        }
        let index = self.payments.iter().position(|payment| payment.id == id).expect("a payment");
        let payment = &mut self.payments[index];
        payment.said.push((verb, event.to_owned(), amount));
        if verb == "refunded" {
            return self.refund(index, amount);
        }
        if rank(verb) > rank(payment.state) {
            payment.state = verb;
        }
        if amount >= 0 && (verb == "succeeded" || payment.state == verb) {
            payment.amount = amount;
        }
        if payment.state != verb {
            return "noted".into();
        }
        let held = self.orders[place].state() == "held";
        match verb {
            "started" if held => {
                let order = &mut self.orders[place];
                let window = self.now + time::Duration::seconds(90);
                let end = window.min(order.created_at + time::Duration::seconds(200));
                if end <= order.expires_at {
                    return "noted".into();
                }
                order.expires_at = end;
                self.tell(place, event, "held")
            }
            "failed" if held => {
                let lives = |payment: &Payment| payment.state == "started" || payment.state == "succeeded";
                if self.payments.iter().any(|payment| payment.order == order && lives(payment)) {
                    return "noted".into();
                }
                let mut freed = Vec::new();
                for line in self.orders[place].lines.iter_mut().filter(|line| line.state == "held") {
                    line.state = "released";
                    freed.push((line.sku.clone(), line.warehouse.clone(), line.qty));
                }
                for booking in self.orders[place].bookings.iter_mut().filter(|booking| booking.state == "held") {
                    booking.state = "released";
                }
                for (sku, warehouse, units) in freed {
                    self.shelf_made(&sku, &warehouse).reserved -= units;
                }
                self.tell(place, event, "released payment_failed")
            }
            "succeeded" => self.success(index, event, place, amount),
            _ => "noted".into(),
        }
    }

    fn success(&mut self, index: usize, event: &str, place: usize, amount: i64) -> String {
        let order = &self.orders[place];
        let agrees = order.total < 0 || order.total == amount;
        let paid = self.payments.iter().any(|payment| payment.order == order.key && payment.pays);
        let state = order.state();
        if state == "rejected" {
            return self.ask_back(index, place, "order_rejected");
        }
        if (state == "confirmed" || state == "shipped") && paid {
            return self.ask_back(index, place, "already_paid");
        }
        let late = state == "expired" || state == "released";
        let mut places = Vec::new();
        if late {
            if !order.can_be_had_again() {
                return self.ask_back(index, place, "cancelled");
            }
            let ended: Vec<_> = order.bookings.iter().filter(|booking| booking.can_be_had_again()).cloned().collect();
            if !self.all_taken(&ended).is_empty() {
                return self.ask_back(index, place, "expired_and_sold_out");
            }
            match self.choose(&order.channel, &order.wishes_again()) {
                Ok(warehouses) => places = warehouses,
                Err(_) => return self.ask_back(index, place, "expired_and_sold_out"),
            }
        }
        if !agrees {
            self.reviews.push(format!("payment_mismatch {}", self.payments[index].id));
            return "noted".into();
        }
        self.payments[index].pays = true;
        if state == "confirmed" || state == "shipped" {
            return "noted".into();
        }
        let mut taken = Vec::new();
        let lines = self.orders[place].lines.iter_mut().filter(|line| line.can_be_had_again());
        for (line, warehouse) in lines.zip(places) {
            line.warehouse.clone_from(&warehouse);
            line.state = "confirmed";
            taken.push((line.sku.clone(), warehouse, line.qty));
        }
        for (sku, warehouse, units) in taken {
            self.shelf_made(&sku, &warehouse).reserved += units;
        }
        for line in self.orders[place].lines.iter_mut().filter(|line| line.state == "held") {
            line.state = "confirmed";
        }
        for booking in &mut self.orders[place].bookings {
            if booking.state == "held" || (late && booking.can_be_had_again()) {
                booking.state = "confirmed";
            }
        }
        self.tell(place, event, if late { "confirmed had_again" } else { "confirmed" })
    }

    fn refund(&mut self, index: usize, amount: i64) -> String {
        let payment = &mut self.payments[index];
        payment.refunded += amount.max(0);
        let whole = amount < 0 || payment.amount < 0 || payment.refunded >= payment.amount;
        let open = payment.state != "refunded";
        let asked = payment.asked_back() || (!whole && !payment.asked.is_empty());
        if whole {
            payment.state = "refunded";
        }
        if !open || !asked {
            self.reviews.push(format!("refund_unasked {}", self.payments[index].id));
        }
        "noted".into()
    }

    fn ask_back(&mut self, index: usize, place: usize, reason: &'static str) -> String {
        let payment = &mut self.payments[index];
        payment.asked.push(reason);
        let left = if payment.amount < 0 { -1 } else { (payment.amount - payment.refunded).max(0) };
        let lines = self.orders[place].picture();
        self.refunds.push(format!("{} {reason} {left} [{lines}]", self.payments[index].id));
        "noted".into()
    }

    /// A cancel gave these lines back.
    pub(super) fn ask_back_cancelled(&mut self, place: usize, given: &str) {
        let order = self.orders[place].key.clone();
        let whole = ["released", "expired"].contains(&self.orders[place].state());
        let mut ids: Vec<String> = self.payments.iter().map(|payment| payment.id.clone()).collect();
        ids.sort();
        for id in ids {
            let index = self.payments.iter().position(|payment| payment.id == id).expect("a payment");
            let payment = &mut self.payments[index];
            if payment.order != order || payment.state != "succeeded" || payment.asked_back() {
                continue;
            }
            if whole {
                self.ask_back(index, place, "cancelled");
            } else if payment.pays {
                payment.asked.push("partially_cancelled");
                self.refunds.push(format!("{id} partially_cancelled -1 [{given}]"));
            }
        }
    }
}
