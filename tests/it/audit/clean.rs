//! A system at work gives no false alarm.

use std::time::Duration;

use serde_json::{Value, json};

use super::{findings, rows};
use crate::support::{Ground, Launch, PATIENCE, Said, Shop, buyers, wait_until};

/// Orders, cancels of some of them before and after, nonsense, and receipts.
fn traffic() -> impl Iterator<Item = Said> + Send {
    buyers("sale", &["A", "B", "C"]).enumerate().flat_map(|(n, order)| {
        let mut said = vec![order];
        let cancel = |of: usize| {
            let body = json!({ "event_id": format!("cancel-{of}"), "order_ref": format!("sale-{of}") });
            ("order.cancelled.web".to_owned(), body)
        };
        match n % 10 {
            1 => said.push(cancel(n)),
            2 => said.push(cancel(n + 20)),
            3 => said.push(("order.created.web".to_owned(), json!({ "event_id": format!("bad-{n}"), "lines": 7 }))),
            4 => said.push((
                "inventory.received.main".to_owned(),
                json!({ "event_id": format!("in-{n}"), "lines": [{ "sku": "A", "qty": 1 }] }),
            )),
            _ => {}
        }
        said
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn under_load_nothing_is_found() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count_many(&[("A", 1_000), ("B", 2_000), ("C", 3_000)], "main").await;
    let load = shop.load(traffic().take(100_000));
    let mut decided = 0;
    for _ in 0..8 {
        wait_until("more orders to be decided", PATIENCE, async || {
            shop.number("SELECT count(*) FROM sales_order").await >= decided + 200
        })
        .await;
        decided = shop.number("SELECT count(*) FROM sales_order").await;
        assert_eq!(findings(&launch).await, [] as [Value; 0]);
    }
    load.end().await;
    shop.settled().await;
    shop.audit().await;
    assert_eq!(findings(&launch).await, [] as [Value; 0]);
    assert_eq!(launch.run(&["audit"]).await.stdout, "nothing found\n");
}

/// The audit waits for no lock, and nobody waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_nobody() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    let _program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    shop.settled().await;
    let mut holder = shop.db.begin().await.unwrap();
    for lock in ["stock", "reservation", "reservation_event", "sales_order", "processed_event", "dead_letter"] {
        let statement = format!("LOCK TABLE {lock} IN EXCLUSIVE MODE");
        sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&mut *holder).await.unwrap();
    }
    let ended = tokio::time::timeout(Duration::from_secs(30), launch.run(&["audit", "--json"])).await.unwrap();
    assert_eq!((ended.code, rows(&ended).len()), (Some(0), 0));
    holder.rollback().await.unwrap();
}
