//! Every kind of message there is, in an order that the seed decides.

use fastrand::Rng;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::datetime;

/// What is sold.
pub const SKUS: [&str; 8] = ["T-0", "T-1", "T-2", "T-3", "T-4", "T-5", "T-6", "T-7"];
pub const WAREHOUSES: [&str; 2] = ["main", "far"];
const CHANNELS: [&str; 2] = ["web", "shop"];

const PROVIDERS: [&str; 3] = ["stripe", "paypal", "sbp"];
/// What is let by the hour; few, so that orders collide.
pub const RESOURCES: [&str; 2] = ["room-0", "room-1"];

/// How far back what is said about an order reaches: mostly to holds, now and then to what has ended.
const BACK: u64 = 60;
const FAR_BACK: u64 = 500;
/// Where the slots begin.
const FIRST_SLOT: OffsetDateTime = datetime!(2027-01-01 00:00 UTC);

/// A message to publish.
pub struct Said {
    pub subject: String,
    pub body: Vec<u8>,
    /// The event whose answer is owed, if one is.
    pub owed: Option<String>,
}

/// An endless sequence of messages.
pub struct Messages {
    rng: Rng,
    messages: u64,
    orders: u64,
    /// What orders asked for, in turn: so that what is said of them mostly fits.
    asked: Vec<Vec<Value>>,
    /// The last message about an order, which may be repeated.
    last: Option<(String, Value)>,
}

impl Messages {
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), messages: 0, orders: 0, asked: Vec::new(), last: None }
    }

    /// Units for every shelf.
    pub fn opening() -> impl Iterator<Item = Said> {
        WAREHOUSES.into_iter().map(|warehouse| {
            let lines: Vec<Value> = SKUS.iter().map(|sku| json!({ "sku": sku, "on_hand": 200 })).collect();
            let body = json!({ "event_id": format!("opening-{warehouse}"), "lines": lines });
            silent(format!("inventory.counted.{warehouse}"), &body)
        })
    }

    /// More units of a SKU than any one message takes off a shelf.
    pub fn room(id: &str, sku: &str, warehouse: &str) -> Said {
        let body = json!({ "event_id": id, "lines": [{ "sku": sku, "qty": 50 }] });
        silent(format!("inventory.received.{warehouse}"), &body)
    }

    /// The next message, and the id under which it is published.
    pub fn next(&mut self) -> (String, Said) {
        self.messages += 1;
        (format!("p{}", self.messages), self.said())
    }

    fn said(&mut self) -> Said {
        let id = format!("e{}", self.messages);
        match self.rng.u32(..100) {
            0..24 => self.order(&id, 1),
            24..38 => self.order(&id, 4),
            38..43 => self.about("renewed", &id),
            43..47 => self.about("cancelled", &id),
            47..52 => self.partial_cancel(&id),
            52..69 => self.payment(&id),
            69..78 => self.shipment(&id),
            78..82 => self.returned(&id),
            82..86 => self.inventory("received", &id),
            86..88 => self.inventory("written_off", &id),
            88..90 => self.count(&id),
            90..92 => self.transfer(&id),
            92..97 => self.repeat(id),
            _ => self.bad(&id),
        }
    }

    fn sku(&mut self) -> &'static str {
        SKUS[self.rng.usize(..SKUS.len())]
    }

    fn warehouse(&mut self) -> &'static str {
        WAREHOUSES[self.rng.usize(..WAREHOUSES.len())]
    }

    /// Orders go to the channels by turns, so that whoever knows the number knows the channel.
    fn channel(order: u64) -> &'static str {
        CHANNELS[usize::from(order.is_multiple_of(3))]
    }

    fn order(&mut self, id: &str, lines: usize) -> Said {
        self.orders += 1;
        let mut wanted = Vec::new();
        for _ in 0..self.rng.usize(1..=lines) {
            let mut line = json!({ "sku": self.sku(), "qty": self.rng.u32(1..=3) });
            if lines > 1 && wanted.is_empty() && self.rng.u32(..4) == 0 {
                line["warehouse"] = json!(self.warehouse());
            }
            wanted.push(line);
        }
        // A SKU with a warehouse may stand only once.
        let named = wanted[0].get("warehouse").map(|_| wanted[0]["sku"].clone());
        let mut first = true;
        wanted.retain(|line| std::mem::take(&mut first) || Some(&line["sku"]) != named.as_ref());
        self.asked.push(wanted.clone());
        if lines > 1 && self.rng.u32(..3) == 0 {
            let slot = self.slot();
            self.asked.last_mut().unwrap().push(slot.clone());
            wanted.push(slot);
        }
        let payment = ["online", "online", "online", "prepaid", "on_delivery"][self.rng.usize(..5)];
        let mut body = json!({
            "event_id": id, "order_ref": format!("o{}", self.orders), "payment": payment,
            "hold_for_s": self.rng.u32(1..=4), "lines": wanted,
        });
        if !self.orders.is_multiple_of(4) {
            body["total"] = Self::costs(self.orders);
        }
        let subject = format!("order.created.{}", Self::channel(self.orders));
        self.last = Some((subject.clone(), body.clone()));
        owed(subject, &body)
    }

    /// What an order costs: whoever knows the number knows it, also before the order comes.
    fn costs(order: u64) -> Value {
        json!({ "amount": 1_000 + order, "currency": "RUB" })
    }

    /// An hour or two of a resource, not far from those of the orders around.
    fn slot(&mut self) -> Value {
        let from = i64::try_from(self.orders / 20).unwrap() + self.rng.i64(0..3);
        let at = |hour| (FIRST_SLOT + time::Duration::hours(hour)).format(&Rfc3339).unwrap();
        let resource = RESOURCES[self.rng.usize(..RESOURCES.len())];
        json!({ "resource": resource, "from": at(from), "to": at(from + self.rng.i64(1..=2)) })
    }

    /// About an order that was, or that is to come soon.
    fn any_order(&mut self) -> u64 {
        if self.rng.u32(..10) == 0 {
            return self.orders + self.rng.u64(1..=3);
        }
        let back = if self.rng.u32(..3) == 0 { FAR_BACK } else { BACK };
        self.orders.saturating_sub(self.rng.u64(..back)).max(1)
    }

    /// A line of the order, or a part of it; one that it hardly has where the order has not come.
    fn part_of(&mut self, order: u64, slots: bool) -> Value {
        let asked = self.asked.get(usize::try_from(order).unwrap() - 1).cloned().unwrap_or_default();
        let mut lines: Vec<Value> = asked.into_iter().filter(|line| slots || line.get("sku").is_some()).collect();
        if lines.is_empty() {
            return json!({ "sku": self.sku(), "qty": 1 });
        }
        let line = lines.swap_remove(self.rng.usize(..lines.len()));
        let Some(qty) = line["qty"].as_u64() else { return line };
        // Now and then more than is there.
        let most = if self.rng.u32(..20) == 0 { qty + 2 } else { qty };
        json!({ "sku": line["sku"], "qty": self.rng.u64(1..=most) })
    }

    fn remember(&mut self, subject: String, body: Value) -> Said {
        let said = silent(subject.clone(), &body);
        self.last = Some((subject, body));
        said
    }

    /// An order has a payment, some have a second, and now and then one names the payment of another.
    fn payment(&mut self, id: &str) -> Said {
        let order = self.any_order();
        let verb = match self.rng.u32(..17) {
            0..3 => "started",
            3..12 => "succeeded",
            12..15 => "failed",
            _ => "refunded",
        };
        let (tried, of) = match self.rng.u32(..40) {
            0..8 => (1, order),
            8 => (0, order.saturating_sub(1).max(1)),
            _ => (0, order),
        };
        let provider = PROVIDERS[usize::try_from((of + tried) % 3).unwrap()];
        let mut body = json!({
            "event_id": id, "payment_id": format!("P{of}-{tried}"), "channel": Self::channel(order),
            "order_ref": format!("o{order}"), "amount": Self::costs(order),
        });
        match self.rng.u32(..24) {
            0 => body["amount"]["amount"] = json!(1),
            1 => body["amount"]["currency"] = json!("EUR"),
            2 => body["amount"] = Value::Null,
            3..14 if verb == "refunded" => body["amount"]["amount"] = json!((1_000 + order) / 2),
            _ => {}
        }
        self.remember(format!("payment.{verb}.{provider}"), body)
    }

    fn shipment(&mut self, id: &str) -> Said {
        let order = self.any_order();
        let line = self.part_of(order, false);
        let parcel = format!("S{}", self.rng.u32(..6));
        let body = json!({
            "event_id": id, "shipment_ref": parcel, "channel": Self::channel(order),
            "order_ref": format!("o{order}"), "lines": [line],
        });
        // Orders that name none are mostly served by the first by name.
        let warehouse = WAREHOUSES[usize::from(self.rng.u32(..3) > 0)];
        self.remember(format!("shipment.dispatched.{warehouse}"), body)
    }

    fn returned(&mut self, id: &str) -> Said {
        let order = self.any_order();
        let mut line = self.part_of(order, false);
        line["condition"] = json!(["resellable", "damaged"][self.rng.usize(..2)]);
        let body = json!({
            "event_id": id, "channel": Self::channel(order), "order_ref": format!("o{order}"), "lines": [line],
        });
        silent(format!("shipment.returned.{}", self.warehouse()), &body)
    }

    fn about(&mut self, verb: &str, id: &str) -> Said {
        let order = self.any_order();
        let body = json!({ "event_id": id, "order_ref": format!("o{order}"), "hold_for_s": 2 });
        owed(format!("order.{verb}.{}", Self::channel(order)), &body)
    }

    fn partial_cancel(&mut self, id: &str) -> Said {
        let order = self.any_order();
        let lines = json!([self.part_of(order, true)]);
        let body = json!({ "event_id": id, "order_ref": format!("o{order}"), "lines": lines });
        owed(format!("order.cancelled.{}", Self::channel(order)), &body)
    }

    fn moved(&mut self, id: &str) -> Value {
        let lines = json!([{ "sku": self.sku(), "qty": self.rng.u32(1..=20) }, { "sku": self.sku(), "qty": 1 }]);
        json!({ "event_id": id, "lines": lines })
    }

    fn inventory(&mut self, verb: &str, id: &str) -> Said {
        let body = self.moved(id);
        silent(format!("inventory.{verb}.{}", self.warehouse()), &body)
    }

    fn count(&mut self, id: &str) -> Said {
        // Now and then fewer than are promised, which a person must judge.
        let on_hand = if self.rng.u32(..5) == 0 { self.rng.u32(..20) } else { self.rng.u32(100..300) };
        let body = json!({ "event_id": id, "lines": [{ "sku": self.sku(), "on_hand": on_hand }] });
        silent(format!("inventory.counted.{}", self.warehouse()), &body)
    }

    fn transfer(&mut self, id: &str) -> Said {
        let mut body = self.moved(id);
        body["to"] = json!(WAREHOUSES[1]);
        silent(format!("inventory.transferred.{}", WAREHOUSES[0]), &body)
    }

    /// The last order, payment or parcel once more: under its own event id, which is silence, or under another, which of an order is answered.
    fn repeat(&mut self, id: String) -> Said {
        let Some((subject, mut body)) = self.last.clone() else { return self.order(&id, 1) };
        if self.rng.bool() {
            return silent(subject, &body);
        }
        body["event_id"] = json!(id);
        if subject.starts_with("order.") { owed(subject, &body) } else { silent(subject, &body) }
    }

    fn bad(&mut self, id: &str) -> Said {
        let line = |qty: Value| json!({ "event_id": id, "order_ref": "bad", "lines": [{ "sku": "T-0", "qty": qty }] });
        let moved = |sku: &str| json!({ "event_id": id, "lines": [{ "sku": sku, "qty": 1 }] });
        let wants = |line: Value| json!({ "event_id": id, "order_ref": format!("bad-{id}"), "lines": [line] });
        let no_room = json!({ "resource": "room-9", "from": "2027-01-01T10:00:00Z", "to": "2027-01-01T11:00:00Z" });
        let (subject, body) = match self.rng.u32(..11) {
            0 => ("order.created.web", line(json!(0)).to_string()),
            1 => ("order.created.web", line(json!("1")).to_string()),
            2 => ("order.created.web", "{ \"event_id\": ".to_owned()),
            3 => ("order.forgotten.web", line(json!(1)).to_string()),
            4 => ("inventory.counted.main", json!({ "event_id": id, "lines": [{ "sku": "T-0" }] }).to_string()),
            5 => ("order.created.web", json!({ "event_id": id, "channel": "shop" }).to_string()),
            6 => ("inventory.written_off.main", moved("T-8").to_string()),
            7 => ("inventory.written_off.nowhere", moved("T-0").to_string()),
            // These two are answered: nobody has what they want.
            8 => return owed("order.created.web".to_owned(), &wants(json!({ "sku": "T-8", "qty": 1 }))),
            9 => return owed("order.created.shop".to_owned(), &wants(no_room)),
            // This one has an id after all, the one under which it is published.
            _ => {
                let body = json!({ "order_ref": "o1" });
                let said = silent("order.cancelled.web".to_owned(), &body);
                return Said { owed: Some(format!("p{}", self.messages)), ..said };
            }
        };
        Said { subject: subject.to_owned(), body: body.into_bytes(), owed: None }
    }
}

fn silent(subject: String, body: &Value) -> Said {
    Said { subject, body: body.to_string().into_bytes(), owed: None }
}

fn owed(subject: String, body: &Value) -> Said {
    let id = body["event_id"].as_str().unwrap().to_owned();
    Said { owed: Some(id), ..silent(subject, body) }
}
