//! Orders of the model.

use super::{Line, Model, Order};
use crate::domain::{AskedLine, CancelLine, CancelOrder, CreateOrder, PaymentMode, Qty};

/// What a line asks for: SKU, units, the warehouse it must have, the warehouse it would rather have.
pub(super) type Wish = (String, Qty, Option<String>, Option<String>);

impl Order {
    /// What it asks for to be had again.
    pub(super) fn wishes_again(&self) -> Vec<Wish> {
        let lines = self.lines.iter().filter(|line| line.can_be_had_again());
        lines
            .map(|line| {
                let before = Some(line.warehouse.clone());
                let (named, rather) = if line.named { (before, None) } else { (None, before) };
                (line.sku.clone(), line.qty, named, rather)
            })
            .collect()
    }
}

impl Model {
    pub(super) fn create(&mut self, id: &str, create: &CreateOrder, place: Option<usize>) -> String {
        let mut lines: Vec<String> = create.lines.iter().map(|line| format!("{line:?}")).collect();
        lines.sort();
        let mut slots: Vec<String> = create.slots.iter().map(|slot| format!("{slot:?}")).collect();
        slots.sort();
        let content = format!("{:?} {:?} {lines:?} {slots:?}", create.payment, create.total);
        if let Some(place) = place
            && self.orders[place].state() != "rejected"
        {
            return if self.orders[place].content == content {
                self.tell_present(place, id)
            } else {
                "dead conflicting_duplicate".into()
            };
        }
        let hold = time::Duration::seconds(create.hold_for_s.unwrap_or(60).clamp(10, 200).cast_signed());
        let order = Order {
            key: format!("{}/{}", create.order.channel, create.order.order_ref),
            channel: create.order.channel.to_string(),
            made_by: place.map_or_else(|| id.into(), |place| self.orders[place].made_by.clone()),
            content,
            prepaid: create.payment == PaymentMode::Prepaid,
            total: create.total.map_or(-1, |total| total.amount),
            created_at: place.map_or(self.now, |place| self.orders[place].created_at),
            rejection: "",
            held_since: self.now,
            expires_at: self.now + hold,
            lines: Vec::new(),
            bookings: Vec::new(),
        };
        let place = place.unwrap_or(self.orders.len());
        if place < self.orders.len() {
            self.orders[place] = order;
        } else {
            self.orders.push(order);
        }
        match self.find(create) {
            Err((rejection, shortages)) => {
                let order = &mut self.orders[place];
                order.rejection = rejection;
                if order.prepaid || order.channel == "ozon" {
                    self.reviews.push(format!("oversold {}", order.key));
                }
                self.tell(place, id, &format!("rejected {rejection}{shortages}"))
            }
            Ok(warehouses) => {
                let state = if create.payment == PaymentMode::Online { "held" } else { "confirmed" };
                for (line, warehouse) in create.lines.iter().zip(warehouses) {
                    self.shelf_made(line.sku.as_str(), &warehouse).reserved += line.qty;
                    self.orders[place].lines.push(Line {
                        sku: line.sku.to_string(),
                        warehouse,
                        named: line.warehouse.is_some(),
                        qty: line.qty,
                        shipped: 0,
                        back: 0,
                        state,
                        cancelled: false,
                    });
                }
                self.book(place, &create.slots, state);
                self.tell(place, id, state)
            }
        }
    }

    /// Where the lines of a new order come from, or why there is nothing, and what is short.
    fn find(&self, create: &CreateOrder) -> Result<Vec<String>, (&'static str, String)> {
        let nothing = |lines: Vec<&AskedLine>| {
            lines.iter().map(|line| format!(" {} {}>0", line.sku, line.qty)).collect::<Vec<_>>().concat()
        };
        let unknown: Vec<&AskedLine> = create
            .lines
            .iter()
            .filter(|line| self.shelves.iter().all(|shelf| shelf.sku != line.sku.as_str()))
            .collect();
        if !unknown.is_empty() {
            return Err(("unknown_sku", nothing(unknown)));
        }
        let named_unknown = |line: &&AskedLine| {
            line.warehouse.as_ref().is_some_and(|warehouse| !self.knows_warehouse(warehouse.as_str()))
        };
        let nowhere: Vec<&AskedLine> = create.lines.iter().filter(named_unknown).collect();
        if !nowhere.is_empty() {
            return Err(("unknown_warehouse", nothing(nowhere)));
        }
        let undefined = self.undefined(&create.slots);
        if !undefined.is_empty() {
            return Err(("unknown_resource", undefined));
        }
        if !self.accept {
            return Err(("not_accepting", String::new()));
        }
        let wishes: Vec<Wish> = create
            .lines
            .iter()
            .map(|line| (line.sku.to_string(), line.qty, line.warehouse.as_ref().map(ToString::to_string), None))
            .collect();
        let taken = self.taken(&create.slots);
        match self.choose(create.order.channel.as_str(), &wishes) {
            Err(shortages) => Err(("insufficient_stock", shortages + &taken)),
            Ok(_) if !taken.is_empty() => Err(("slot_taken", taken)),
            Ok(warehouses) => Ok(warehouses),
        }
    }

    pub(super) fn choose(&self, channel: &str, wishes: &[Wish]) -> Result<Vec<String>, String> {
        let candidates = self.candidates(channel);
        let mut chosen: Vec<Option<String>> = Vec::new();
        for (sku, qty, named, rather) in wishes {
            let rather = rather.clone().filter(|rather| self.free(sku, rather) >= *qty);
            chosen.push(named.clone().filter(|named| self.free(sku, named) >= *qty).or(rather));
        }
        let open = |place: &usize| chosen[*place].is_none() && wishes[*place].2.is_none();
        let open: Vec<usize> = (0..wishes.len()).filter(open).collect();
        let serves = |warehouse: &String, place: usize| self.free(&wishes[place].0, warehouse) >= wishes[place].1;
        let serves_all = candidates.iter().find(|warehouse| open.iter().all(|place| serves(warehouse, *place)));
        for place in open {
            let own = || candidates.iter().find(|warehouse| serves(warehouse, place));
            chosen[place] = serves_all.or_else(own).cloned();
        }
        let mut shortages = Vec::new();
        for ((sku, qty, named, rather), chosen) in wishes.iter().zip(&chosen) {
            if chosen.is_none() {
                let mut best = rather.as_ref().map_or(0, |rather| self.free(sku, rather));
                for warehouse in named.as_ref().map_or(&candidates[..], std::slice::from_ref) {
                    best = best.max(self.free(sku, warehouse));
                }
                shortages.push(format!(" {sku} {qty}>{best}"));
            }
        }
        if shortages.is_empty() { Ok(chosen.into_iter().flatten().collect()) } else { Err(shortages.concat()) }
    }

    fn candidates(&self, channel: &str) -> Vec<String> {
        for (of, warehouses) in &self.routes {
            if of == channel {
                return warehouses.clone();
            }
        }
        let mut all: Vec<String> = self.shelves.iter().map(|shelf| shelf.warehouse.clone()).collect();
        all.sort();
        all.dedup();
        all
    }

    pub(super) fn renew(&mut self, id: &str, hold_for_s: Option<u64>, place: usize) -> String {
        let end = self.now + time::Duration::seconds(hold_for_s.unwrap_or(60).clamp(10, 200).cast_signed());
        let order = &mut self.orders[place];
        if order.state() == "held" {
            let end = end.min(order.held_since + time::Duration::seconds(200));
            if end <= order.expires_at {
                return self.tell(place, id, "held duplicate");
            }
            order.expires_at = end;
            return self.tell(place, id, "held");
        }
        let ended: Vec<_> = order.bookings.iter().filter(|booking| booking.can_be_had_again()).cloned().collect();
        if !order.lines.iter().any(Line::can_be_had_again) && ended.is_empty() {
            return self.tell_present(place, id);
        }
        if !self.accept {
            return self.tell(place, id, "expired duplicate not_accepting");
        }
        let wishes = order.wishes_again();
        let channel = order.channel.clone();
        let taken = self.all_taken(&ended);
        match self.choose(&channel, &wishes) {
            Err(shortages) => self.tell(place, id, &format!("expired duplicate hold_ended{shortages}{taken}")),
            Ok(_) if !taken.is_empty() => self.tell(place, id, &format!("expired duplicate hold_ended{taken}")),
            Ok(warehouses) => {
                for ((sku, qty, ..), warehouse) in wishes.iter().zip(&warehouses) {
                    self.shelf_made(sku, warehouse).reserved += qty;
                }
                let order = &mut self.orders[place];
                let lines = order.lines.iter_mut().filter(|line| line.can_be_had_again());
                for (line, warehouse) in lines.zip(warehouses) {
                    line.warehouse = warehouse;
                    line.state = "held";
                }
                for booking in order.bookings.iter_mut().filter(|booking| booking.can_be_had_again()) {
                    booking.state = "held";
                }
                order.held_since = self.now;
                order.expires_at = end;
                self.tell(place, id, "held")
            }
        }
    }

    pub(super) fn cancel(&mut self, id: &str, cancel: &CancelOrder, place: usize) -> String {
        let order = &mut self.orders[place];
        if ["rejected", "released", "expired"].contains(&order.state()) {
            for line in &mut order.lines {
                match named_units(cancel, &line.sku) {
                    None if cancel.lines.is_none() => line.cancelled = true,
                    Some(units) if !line.cancelled && units < line.qty => line.qty -= units,
                    Some(_) => line.cancelled = true,
                    None => {}
                }
            }
            for booking in &mut order.bookings {
                booking.cancelled |= cancel.lines.is_none() || booking.is_named(cancel);
            }
            return self.tell_present(place, id);
        }
        let outstanding =
            |sku: &str| -> Qty { order.lines.iter().filter(|line| line.sku == sku).map(Line::outstanding).sum() };
        let too_much = match &cancel.lines {
            None => {
                order.lines.iter().all(|line| line.outstanding() == 0)
                    && order.bookings.iter().all(|booking| !booking.is_live())
            }
            Some(named) => named.iter().any(|named| match named {
                CancelLine::Units(sku, units) => *units > outstanding(sku.as_str()),
                CancelLine::Slot(slot) => !order.bookings.iter().any(|booking| booking.is_live() && booking.is(slot)),
            }),
        };
        if too_much {
            return "dead over_cancel".into();
        }
        let mut freed: Vec<(String, String, Qty)> = Vec::new();
        for line in &mut order.lines {
            let whole = cancel.lines.is_none().then_some(line.outstanding());
            let units = whole.or(named_units(cancel, &line.sku)).unwrap_or(0);
            if units == 0 {
                continue;
            }
            freed.push((line.sku.clone(), line.warehouse.clone(), units));
            if units < line.outstanding() {
                line.qty -= units;
            } else if line.shipped > 0 {
                line.qty -= units;
                line.state = "shipped";
            } else {
                line.state = "released";
                line.cancelled = true;
            }
        }
        let mut given: Vec<String> =
            freed.iter().map(|(sku, warehouse, units)| format!("{units} {sku} {warehouse} released")).collect();
        for booking in &mut order.bookings {
            if booking.is_live() && (cancel.lines.is_none() || booking.is_named(cancel)) {
                booking.state = "released";
                booking.cancelled = true;
                given.push(format!("{} released", booking.period()));
            }
        }
        for (sku, warehouse, units) in freed {
            self.shelf_made(&sku, &warehouse).reserved -= units;
        }
        self.ask_back_cancelled(place, &given.join(", "));
        let order = &self.orders[place].key;
        let paid_here = self.payments.iter().any(|payment| payment.order == *order && payment.pays);
        if self.orders[place].prepaid && !paid_here {
            self.reviews.push(format!("refund_elsewhere {}", self.orders[place].key));
        }
        self.tell(place, id, "released cancelled")
    }

    pub fn expire_what_is_due(&mut self) {
        for place in 0..self.orders.len() {
            if self.orders[place].state() != "held" || self.orders[place].expires_at > self.now {
                continue;
            }
            let mut freed: Vec<(String, String, Qty)> = Vec::new();
            for line in self.orders[place].lines.iter_mut().filter(|line| line.state == "held") {
                line.state = "expired";
                freed.push((line.sku.clone(), line.warehouse.clone(), line.qty));
            }
            for booking in self.orders[place].bookings.iter_mut().filter(|booking| booking.state == "held") {
                booking.state = "expired";
            }
            for (sku, warehouse, units) in freed {
                self.shelf_made(&sku, &warehouse).reserved -= units;
            }
            self.tell(place, "timer", "expired hold_ended");
        }
    }

    pub(super) fn tell_present(&mut self, place: usize, id: &str) -> String {
        let said = self.orders[place].present();
        self.tell(place, id, &said)
    }

    pub(super) fn tell(&mut self, place: usize, id: &str, said: &str) -> String {
        let order = &self.orders[place];
        let text = format!("{id}: {said} [{}] {}", order.picture(), order.end());
        self.told.entry(order.key.clone()).or_default().push(text);
        said.into()
    }
}

/// How many units of a SKU a cancel names.
fn named_units(cancel: &CancelOrder, of: &str) -> Option<Qty> {
    cancel.lines.iter().flatten().find_map(|named| match named {
        CancelLine::Units(sku, units) => (sku.as_str() == of).then_some(*units),
        CancelLine::Slot(_) => None,
    })
}
