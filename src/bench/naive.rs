//! One transaction per order, as it is usually written: the same rows, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, PgConnection, PgPool};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::config::Database;
use crate::store::migrate;

const SKU: &str = "COFFEE-GRINDER";

/// Orders per second over so many connections, all for one SKU.
pub(super) async fn rate(url: &str, connections: usize, seconds: u64) -> anyhow::Result<f64> {
    let pool = PgPoolOptions::new().max_connections(u32::try_from(connections)?).connect(url).await?;
    migrate::apply(&pool, &Database::default().schema).await?;
    sqlx::query("INSERT INTO stock (sku, warehouse, on_hand, version) VALUES ($1, 'main', 100000000, 1)")
        .bind(SKU)
        .execute(&pool)
        .await?;
    let orders = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let until = begun + Duration::from_secs(seconds);
    let mut buyers = JoinSet::new();
    for _ in 0..connections {
        buyers.spawn(buy_until(pool.clone(), until, orders.clone()));
    }
    while let Some(buyer) = buyers.join_next().await {
        buyer??;
    }
    let elapsed = begun.elapsed().as_secs_f64();
    pool.close().await;
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52 orders")]
    Ok(orders.load(Ordering::Relaxed) as f64 / elapsed)
}

async fn buy_until(pool: PgPool, until: Instant, orders: Arc<AtomicU64>) -> anyhow::Result<()> {
    let mut connection = pool.acquire().await?;
    while Instant::now() < until {
        buy(&mut connection).await?;
        orders.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

async fn buy(connection: &mut PgConnection) -> anyhow::Result<()> {
    let (event, order) = (Uuid::new_v4().to_string(), Uuid::new_v4().simple().to_string());
    let mut transaction = connection.begin().await?;
    let connection = &mut *transaction;
    sqlx::query(
        "INSERT INTO processed_event VALUES ('order.created.web', $1, clock_timestamp()) ON CONFLICT DO NOTHING",
    )
    .bind(&event)
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO sales_order (channel, order_ref, state, event_id, payment_mode, digest, held_since, expires_at, created_at)
         VALUES ('web', $1, 'held', $2, 'online', $3, clock_timestamp(), clock_timestamp() + interval '15 minutes', clock_timestamp())",
    )
    .bind(&order)
    .bind(&event)
    .bind([7_u8; 16].as_slice())
    .execute(&mut *connection)
    .await?;
    let (version, reserved): (i64, i64) = sqlx::query_as(
        "UPDATE stock SET reserved = reserved + 1, version = version + 1, updated_at = clock_timestamp()
         WHERE sku = $1 AND warehouse = 'main' AND on_hand - reserved >= 1 RETURNING version, reserved",
    )
    .bind(SKU)
    .fetch_one(&mut *connection)
    .await?;
    let reservation: i64 = sqlx::query_scalar(
        "INSERT INTO reservation (channel, order_ref, sku, warehouse, qty, state, named, expires_at, created_at)
         VALUES ('web', $1, $2, 'main', 1, 'held', false, clock_timestamp() + interval '15 minutes', clock_timestamp()) RETURNING id",
    )
    .bind(&order)
    .bind(SKU)
    .fetch_one(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO reservation_event (reservation_id, sku, warehouse, to_state, qty, event_id, at)
         VALUES ($1, $2, 'main', 'held', 1, $3, clock_timestamp())",
    )
    .bind(reservation)
    .bind(SKU)
    .bind(&event)
    .execute(&mut *connection)
    .await?;
    let told = format!(r#"{{"order_ref":"{order}","state":"held","version":{version},"reserved":{reserved}}}"#);
    sqlx::query("INSERT INTO outbox (stream, entries, written_at) VALUES ('RESERVATIONS', $1, clock_timestamp())")
        .bind(told.as_bytes())
        .execute(&mut *connection)
        .await?;
    transaction.commit().await?;
    Ok(())
}
