//! Every kind of message there is, in an order that the seed decides.

use fastrand::Rng;
use serde_json::{Value, json};

/// What is sold.
pub const SKUS: [&str; 8] = ["T-0", "T-1", "T-2", "T-3", "T-4", "T-5", "T-6", "T-7"];
pub const WAREHOUSES: [&str; 2] = ["main", "far"];
const CHANNELS: [&str; 2] = ["web", "shop"];

/// How far back what is said about an order reaches.
const BACK: u64 = 60;

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
    /// The last new order, which may be repeated.
    last: Option<(String, Value)>,
}

impl Messages {
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), messages: 0, orders: 0, last: None }
    }

    /// Units for every shelf.
    pub fn opening() -> impl Iterator<Item = Said> {
        WAREHOUSES.into_iter().map(|warehouse| {
            let lines: Vec<Value> = SKUS.iter().map(|sku| json!({ "sku": sku, "on_hand": 200 })).collect();
            let body = json!({ "event_id": format!("opening-{warehouse}"), "lines": lines });
            silent(format!("inventory.counted.{warehouse}"), &body)
        })
    }

    /// The next message, and the id under which it is published.
    pub fn next(&mut self) -> (String, Said) {
        self.messages += 1;
        (format!("p{}", self.messages), self.said())
    }

    fn said(&mut self) -> Said {
        let id = format!("e{}", self.messages);
        match self.rng.u32(..100) {
            0..40 => self.order(&id, 1),
            40..54 => self.order(&id, 4),
            54..62 => self.about("renewed", &id),
            62..72 => self.about("cancelled", &id),
            72..78 => self.partial_cancel(&id),
            78..84 => self.inventory("received", &id),
            84..86 => self.inventory("written_off", &id),
            86..88 => self.count(&id),
            88..91 => self.transfer(&id),
            91..96 => self.repeat(id),
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
        let payment = ["online", "online", "online", "prepaid", "on_delivery"][self.rng.usize(..5)];
        let body = json!({
            "event_id": id, "order_ref": format!("o{}", self.orders), "payment": payment,
            "hold_for_s": self.rng.u32(1..=4), "lines": wanted,
        });
        let subject = format!("order.created.{}", Self::channel(self.orders));
        self.last = Some((subject.clone(), body.clone()));
        owed(subject, &body)
    }

    /// About an order that was, or that is to come soon.
    fn any_order(&mut self) -> u64 {
        if self.rng.u32(..10) == 0 {
            return self.orders + self.rng.u64(1..=3);
        }
        self.orders.saturating_sub(self.rng.u64(..BACK)).max(1)
    }

    fn about(&mut self, verb: &str, id: &str) -> Said {
        let order = self.any_order();
        let body = json!({ "event_id": id, "order_ref": format!("o{order}"), "hold_for_s": 2 });
        owed(format!("order.{verb}.{}", Self::channel(order)), &body)
    }

    fn partial_cancel(&mut self, id: &str) -> Said {
        let order = self.any_order();
        let lines = json!([{ "sku": self.sku(), "qty": 1 }]);
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
        let body = json!({ "event_id": id, "lines": [{ "sku": self.sku(), "on_hand": self.rng.u32(100..300) }] });
        silent(format!("inventory.counted.{}", self.warehouse()), &body)
    }

    fn transfer(&mut self, id: &str) -> Said {
        let mut body = self.moved(id);
        body["to"] = json!(WAREHOUSES[1]);
        silent(format!("inventory.transferred.{}", WAREHOUSES[0]), &body)
    }

    /// The last order once more: under its own event id, which is silence, or under another, which is answered.
    fn repeat(&mut self, id: String) -> Said {
        let Some((subject, mut body)) = self.last.clone() else { return self.order(&id, 1) };
        if self.rng.bool() {
            return silent(subject, &body);
        }
        body["event_id"] = json!(id);
        owed(subject, &body)
    }

    fn bad(&mut self, id: &str) -> Said {
        let line = |qty: Value| json!({ "event_id": id, "order_ref": "bad", "lines": [{ "sku": "T-0", "qty": qty }] });
        let (subject, body) = match self.rng.u32(..6) {
            0 => ("order.created.web", line(json!(0)).to_string()),
            1 => ("order.created.web", line(json!("1")).to_string()),
            2 => ("order.created.web", "{ \"event_id\": ".to_owned()),
            3 => ("order.forgotten.web", line(json!(1)).to_string()),
            4 => ("inventory.counted.main", json!({ "event_id": id, "lines": [{ "sku": "T-0" }] }).to_string()),
            _ => ("order.cancelled.web", json!({ "order_ref": "o1" }).to_string()),
        };
        // The last has an id after all, the one under which it is published.
        let owes = subject == "order.cancelled.web";
        Said { subject: subject.to_owned(), body: body.into_bytes(), owed: owes.then(|| format!("p{}", self.messages)) }
    }
}

fn silent(subject: String, body: &Value) -> Said {
    Said { subject, body: body.to_string().into_bytes(), owed: None }
}

fn owed(subject: String, body: &Value) -> Said {
    let id = body["event_id"].as_str().unwrap().to_owned();
    Said { owed: Some(id), ..silent(subject, body) }
}
