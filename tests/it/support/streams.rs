//! Streams and consumers that differ from the shipped ones.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Ground, Launch};

/// Starts the program on changed definitions: each is a file of `streams/`, a key of it and the key's value.
pub fn overlay(ground: &Ground, changes: &[(&str, &str, Value)]) -> Launch {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("streams");
    let dir = ground.dir().join("streams");
    fs::create_dir_all(&dir).unwrap();
    for (file, key, value) in changes {
        let path = if dir.join(file).exists() { dir.join(file) } else { shipped.join(file) };
        let mut definition: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        definition[*key] = value.clone();
        fs::write(dir.join(file), definition.to_string()).unwrap();
    }
    Launch::new(ground).env("LASTUNIT_STREAMS__DIR", dir.display().to_string())
}

impl Launch {
    /// On a broker that waits for acknowledgements two seconds only, so that what a dead copy had in its hands comes again soon.
    pub fn impatient(ground: &Ground) -> Self {
        let ack_wait = || Value::from(2_000_000_000_u64);
        overlay(
            ground,
            &[
                ("ORDERS.lastunit-orders.consumer.json", "ack_wait", ack_wait()),
                ("PAYMENTS.lastunit-payments.consumer.json", "ack_wait", ack_wait()),
                ("INVENTORY.lastunit-inventory.consumer.json", "ack_wait", ack_wait()),
                ("SHIPMENTS.lastunit-shipments.consumer.json", "ack_wait", ack_wait()),
                ("STOCK.lastunit-publisher.consumer.json", "ack_wait", ack_wait()),
            ],
        )
    }
}
