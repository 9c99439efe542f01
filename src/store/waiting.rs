//! Messages that wait: for their order, or for a person.

use std::time::Duration;

use sqlx::PgConnection;

use super::message::{StoredMessage, headers_of};
use super::orders::key;
use super::{StoreError, changed_all};
use crate::domain::{EventId, EventKey, OrderKey, Timestamp};
use crate::messages::Message;

/// What a message waits for.
#[derive(Debug, Clone)]
pub enum For {
    /// Its order.
    Order(OrderKey),
    /// The resolution of a review.
    Review(i64),
}

/// A message that begins to wait.
#[derive(Debug)]
pub struct NewWaiting<'a> {
    /// For what.
    pub waits_for: For,
    /// Its event.
    pub event: &'a EventKey,
    /// The message.
    pub message: &'a Message,
}

/// Stores messages that begin to wait.
pub async fn insert_many(
    connection: &mut PgConnection,
    waiting: &[NewWaiting<'_>],
    at: Timestamp,
) -> Result<(), StoreError> {
    if waiting.is_empty() {
        return Ok(());
    }
    let order = |waiting: &NewWaiting<'_>| match &waiting.waits_for {
        For::Order(order) => Some(order.clone()),
        For::Review(_) => None,
    };
    let review = |waiting: &NewWaiting<'_>| match waiting.waits_for {
        For::Order(_) => None,
        For::Review(id) => Some(id),
    };
    sqlx::query(include_str!("waiting_insert.sql"))
        .bind(waiting.iter().map(|one| order(one).map(|key| key.channel.to_string())).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| order(one).map(|key| key.order_ref.to_string())).collect::<Vec<_>>())
        .bind(waiting.iter().map(review).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| &*one.message.stream).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| one.message.sequence).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| one.message.received_at).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| &*one.message.consumer).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| &*one.event.subject).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| one.event.id.as_str()).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| headers_of(one.message)).collect::<Vec<_>>())
        .bind(waiting.iter().map(|one| &*one.message.payload).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    Ok(())
}

/// What waits for these orders, oldest first, with the ids of its rows.
pub async fn load_many(connection: &mut PgConnection, orders: &[OrderKey]) -> Result<Vec<(i64, Message)>, StoreError> {
    if orders.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<Waiting> = sqlx::query_as(include_str!("waiting_load.sql"))
        .bind(orders.iter().map(|key| key.channel.as_str()).collect::<Vec<_>>())
        .bind(orders.iter().map(|key| key.order_ref.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.message.into())).collect())
}

/// What waited for its order waits for a person now: the ids of its rows, each with its review.
pub async fn put_under_review(connection: &mut PgConnection, asked: &[(i64, i64)]) -> Result<(), StoreError> {
    if asked.is_empty() {
        return Ok(());
    }
    let moved = sqlx::query(include_str!("waiting_review.sql"))
        .bind(asked.iter().map(|(id, _)| *id).collect::<Vec<_>>())
        .bind(asked.iter().map(|(_, review)| *review).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    changed_all("waiting messages", &moved, asked.len())
}

/// Takes away what waits no more.
pub async fn remove_many(connection: &mut PgConnection, ids: &[i64]) -> Result<(), StoreError> {
    if !ids.is_empty() {
        sqlx::query(include_str!("waiting_done.sql")).bind(ids).execute(connection).await?;
    }
    Ok(())
}

/// Orders that have come although something still waits for them.
pub async fn wakeable(connection: &mut PgConnection, limit: i64) -> Result<Vec<OrderKey>, StoreError> {
    let orders: Vec<(String, String)> =
        sqlx::query_as(include_str!("waiting_wakeable.sql")).bind(limit).fetch_all(connection).await?;
    Ok(orders.iter().map(|(channel, order_ref)| key(channel, order_ref)).collect())
}

/// A message that has waited too long.
#[derive(Debug)]
pub struct Overdue {
    /// The order it waits for.
    pub order: OrderKey,
    /// Its event.
    pub event: EventKey,
    /// The database's clock when that was found.
    pub at: Timestamp,
}

/// Marks what has waited longer than `bound` and returns it, once.
pub async fn overdue(connection: &mut PgConnection, bound: Duration, limit: i64) -> Result<Vec<Overdue>, StoreError> {
    let rows: Vec<(String, String, String, String, Timestamp)> = sqlx::query_as(include_str!("waiting_overdue.sql"))
        .bind(bound.as_secs_f64())
        .bind(limit)
        .fetch_all(connection)
        .await?;
    let read = |(channel, order_ref, subject, event_id, at): (String, String, String, String, _)| Overdue {
        order: key(&channel, &order_ref),
        event: EventKey { subject: subject.into(), id: EventId::stored(&event_id) },
        at,
    };
    Ok(rows.into_iter().map(read).collect())
}

#[derive(sqlx::FromRow)]
struct Waiting {
    id: i64,
    #[sqlx(flatten)]
    message: StoredMessage,
}
