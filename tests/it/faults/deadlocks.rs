//! F11: two copies, the same SKUs in opposite order.

use serde_json::{Value, json};

use crate::support::{Ground, Launch, Said, Shop};

const SKUS: [&str; 6] = ["A", "B", "C", "D", "E", "F"];
const ORDERS: usize = 1_500;

/// Orders over all SKUs, every second one backwards, with renewals and cancels of the orders before, some of which come too early; and, among
/// them, deliveries that touch the same rows.
fn mixed() -> impl Iterator<Item = Said> + Send {
    (0..ORDERS).flat_map(|n| {
        let mut skus = SKUS;
        if n % 2 == 1 {
            skus.reverse();
        }
        let lines: Vec<Value> = skus.iter().map(|sku| json!({ "sku": sku, "qty": 1 })).collect();
        let order = json!({ "event_id": format!("new-{n}"), "order_ref": format!("o{n}"), "lines": lines });
        let about = |event: &str, n: usize| json!({ "event_id": format!("{event}-{n}"), "order_ref": format!("o{n}") });
        let mut said = vec![("order.created.web".to_owned(), order)];
        match n % 4 {
            0 => said.push(("order.renewed.web".into(), about("renew", n))),
            1 => said.push(("order.cancelled.web".into(), about("cancel", n - 1))),
            2 => said.push(("order.cancelled.web".into(), about("early", n + 1))),
            _ => {}
        }
        if n % 50 == 0 {
            said.push((
                "inventory.received.main".into(),
                json!({ "event_id": format!("more-{n}"), "lines": said[0].1["lines"].as_array().unwrap() }),
            ));
        }
        said
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn two_copies_over_the_same_rows_never_deadlock() {
    let mut ground = Ground::own().await;
    let launch = Launch::new(&ground);
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count_many(&SKUS.map(|sku| (sku, 500)), "main").await;

    let mut ids = shop.load(mixed()).all().await;
    ids.retain(|id| !id.starts_with("more"));
    shop.settled().await;
    shop.audit().await;
    shop.assert_answered_once(&ids).await;
    assert_eq!(shop.number("SELECT count(*) FROM waiting_message").await, 0);
    assert!(!ground.postgres().log().contains("deadlock detected"));
}
