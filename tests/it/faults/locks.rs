//! F13: somebody outside holds a row for long.

use std::collections::HashMap;

use crate::support::{Ground, Launch, PATIENCE, Said, Shop, buyers, wait_until};

/// Of each SKU.
const ORDERS: i64 = 200;
/// Sessions of two copies at most: each its pool of six, and four that hold or wait for turns.
const SESSIONS: i64 = 20;

const DECIDED: &str = "SELECT count(*) FROM sales_order WHERE order_ref LIKE 'free-%'";
const WAITED: &str = "SELECT count(*) FROM sales_order WHERE order_ref LIKE 'locked-%'";
const OPEN: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE application_name = 'lastunit' AND datname = current_database()";

/// Orders for the locked SKU and for the free one by turns.
fn mixed() -> impl Iterator<Item = Said> + Send {
    let locked = buyers("locked", &["LOCKED"]).take(usize::try_from(ORDERS).unwrap());
    locked.zip(buyers("free", &["FREE"])).flat_map(|(locked, free)| [locked, free])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_row_delays_its_own_orders_only_and_piles_up_no_sessions() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).config("[database]\nlock_timeout_ms = 200");
    let copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count_many(&[("LOCKED", 150), ("FREE", 150)], "main").await;

    let mut holder = shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM stock WHERE sku = 'LOCKED' FOR UPDATE").execute(&mut *holder).await.unwrap();
    let ids = shop.load(mixed()).all().await;
    let mut sessions = 0;
    // Time and again they are tried, and time and again the lock is not to be had.
    wait_until("the free orders to be decided and the others to have been tried often", PATIENCE, async || {
        sessions = sessions.max(shop.number(OPEN).await);
        let locked_out =
            copies[0].metric("lastunit_retries_total").await + copies[1].metric("lastunit_retries_total").await;
        shop.number(DECIDED).await == ORDERS && locked_out >= 20
    })
    .await;
    assert_eq!(shop.number(WAITED).await, 0);
    assert!(sessions <= SESSIONS, "{sessions} sessions");
    for copy in &copies {
        assert_eq!(copy.get("/readyz").await.0, 200);
    }

    holder.commit().await.unwrap();
    shop.settled().await;
    shop.audit().await;
    let tally = shop.assert_answered_once(&ids).await;
    assert_eq!(tally, HashMap::from([("held".into(), 300), ("rejected".into(), 100)]));
    for sku in ["LOCKED", "FREE"] {
        assert_eq!(shop.figures(sku, "main").await.unwrap().reserved, 150, "{sku}");
    }
}
