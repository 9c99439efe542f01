//! F18: an outbound stream is full.

use serde_json::json;

use crate::support::{Ground, PATIENCE, Said, Shop, order, overlay, wait_until};

const SKUS: usize = 300;
/// Less than what is told in it.
const TOO_SMALL: i64 = 64 << 10;

fn receipts() -> impl Iterator<Item = Said> + Send {
    (0..SKUS).map(|n| {
        let body = json!({ "event_id": format!("i{n}"), "lines": [{ "sku": format!("S{n}"), "qty": 1 }] });
        ("inventory.received.main".to_owned(), body)
    })
}

fn orders() -> impl Iterator<Item = Said> + Send {
    (0..SKUS).map(|n| ("order.created.web".to_owned(), order(&format!("e{n}"), &format!("o{n}"), &format!("S{n}"))))
}

/// Everything is decided, all that goes to `other` is told, and all that goes to the full one is kept; when there is room, it is told too.
async fn drains(full: &str, other: &str) {
    let ground = Ground::new().await;
    let file = format!("{full}.stream.json");
    let launch = overlay(&ground, &[(&file, "max_bytes", TOO_SMALL.into())]);
    let _copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.load(receipts()).all().await;
    wait_until("every receipt to be decided", PATIENCE, async || {
        shop.number("SELECT count(*) FROM stock").await == i64::try_from(SKUS).unwrap()
    })
    .await;
    let ids = shop.load(orders()).all().await;
    wait_until("every order to be decided", PATIENCE, async || {
        shop.number("SELECT count(*) FROM sales_order").await == i64::try_from(SKUS).unwrap()
    })
    .await;
    let untold = async |stream: &str| -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM outbox WHERE stream = $1 AND sent_at IS NULL")
            .bind(stream)
            .fetch_one(&shop.db)
            .await
            .unwrap()
    };
    wait_until("the other lane to have told all", PATIENCE, async || untold(other).await == 0).await;
    assert!(untold(full).await > 0);
    let info = shop.js.get_stream(full).await.unwrap().cached_info().clone();
    assert!(info.state.messages > 0);
    assert!(info.state.bytes <= TOO_SMALL.cast_unsigned(), "{} bytes", info.state.bytes);

    let mut config = info.config;
    config.max_bytes = 1 << 30;
    shop.js.update_stream(&config).await.unwrap();
    shop.settled().await;
    shop.audit().await;
    assert_eq!(shop.assert_answered_once(&ids).await["held"], SKUS);
    shop.assert_told_in_order().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_wait_for_room_while_figures_are_told() {
    drains("RESERVATIONS", "STOCK").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_wait_for_room_while_answers_are_told() {
    drains("STOCK", "RESERVATIONS").await;
}
