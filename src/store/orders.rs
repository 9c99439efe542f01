//! Orders: claimed by inserting, locked where they were taken, changed where they became something else.

use std::collections::HashSet;

use sqlx::{AssertSqlSafe, PgConnection};

use super::inbox::digest;
use super::{Locking, StoreError, changed_all, denials};
use crate::domain::{
    Channel, CreateOrder, Currency, EventId, HoldBounds, Money, OrderChange, OrderKey, OrderRef, OrderRow, OrderState,
    PaymentMode, Rejection, Timestamp,
};

/// An order to claim: by the event that creates it, or as awaited by something that came before it.
#[derive(Debug, Clone)]
pub struct OrderClaim<'a> {
    /// Which order.
    pub key: OrderKey,
    /// What creates it; none where something else came first.
    pub creation: Option<(&'a CreateOrder, EventId)>,
}

/// What was claimed.
#[derive(Debug)]
pub struct Claimed {
    /// The instant that the claimed rows bear.
    pub at: Timestamp,
    /// The orders that had been taken before.
    pub taken: HashSet<OrderKey>,
}

impl OrderClaim<'_> {
    /// The row as it is inserted at that instant.
    pub fn row(&self, hold: HoldBounds, at: Timestamp) -> OrderRow {
        match &self.creation {
            Some((create, event_id)) => OrderRow::success(create, event_id.clone(), hold, at),
            None => OrderRow::awaited(at),
        }
    }

    /// For how many seconds it is held.
    fn hold_s(&self, hold: HoldBounds) -> Option<i64> {
        let (create, _) = self.creation.as_ref()?;
        (create.payment == PaymentMode::Online).then(|| hold.clamp(create.hold_for_s).whole_seconds())
    }
}

/// Claims orders. `claims` are sorted by key and each key stands there once.
pub async fn claim_many(
    connection: &mut PgConnection,
    claims: &[OrderClaim<'_>],
    hold: HoldBounds,
) -> Result<Claimed, StoreError> {
    let rows: Vec<OrderRow> = claims.iter().map(|claim| claim.row(hold, Timestamp::UNIX_EPOCH)).collect();
    let (at, channels, refs): (Timestamp, Option<Vec<String>>, Option<Vec<String>>) =
        sqlx::query_as(include_str!("orders_claim.sql"))
            .bind(claims.iter().map(|claim| claim.key.channel.as_str()).collect::<Vec<_>>())
            .bind(claims.iter().map(|claim| claim.key.order_ref.as_str()).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.state.word()).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.event_id.as_ref().map(EventId::as_str)).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.payment.word()).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.total.map(|total| total.amount)).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.total.as_ref().map(|total| total.currency.as_str())).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.digest.as_ref().map(|digest| digest.0.as_slice())).collect::<Vec<_>>())
            .bind(claims.iter().map(|claim| claim.hold_s(hold)).collect::<Vec<_>>())
            .fetch_one(connection)
            .await?;
    let taken = match channels.zip(refs) {
        None => HashSet::new(),
        Some((channels, refs)) => {
            let new: HashSet<OrderKey> =
                channels.iter().zip(&refs).map(|(channel, order)| key(channel, order)).collect();
            claims.iter().map(|claim| &claim.key).filter(|key| !new.contains(key)).cloned().collect()
        }
    };
    Ok(Claimed { at, taken })
}

/// Locks those of the orders that exist, and reads them. `keys` are sorted.
pub async fn lock_many(
    connection: &mut PgConnection,
    keys: &[OrderKey],
    locking: Locking,
) -> Result<Vec<(OrderKey, OrderRow)>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let statement = locking.apply(include_str!("orders_lock.sql"));
    let rows: Vec<StoredOrder> = sqlx::query_as(AssertSqlSafe(statement))
        .bind(keys.iter().map(|key| key.channel.as_str()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.order_ref.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.into_iter().map(StoredOrder::read).collect()
}

/// Which of the named orders have a row.
pub async fn existing(connection: &mut PgConnection, keys: &[OrderKey]) -> Result<HashSet<OrderKey>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(include_str!("orders_exist.sql"))
        .bind(keys.iter().map(|key| key.channel.as_str()).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.order_ref.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    Ok(rows.iter().map(|(channel, order_ref)| key(channel, order_ref)).collect())
}

/// Writes the changed columns of orders.
pub async fn update_many(connection: &mut PgConnection, changes: &[OrderChange]) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let updated = sqlx::query(include_str!("orders_update.sql"))
        .bind(changes.iter().map(|change| change.key.channel.as_str()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.key.order_ref.as_str()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.before.word()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.state.word()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.event_id.as_ref().map(EventId::as_str)).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.payment.word()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.total.map(|total| total.amount)).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.total.as_ref().map(|t| t.currency.as_str())).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.digest.as_ref().map(|d| d.0.as_slice())).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.rejection.map(Rejection::word)).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.created_at).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.held_since).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.row.expires_at).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.denial.as_ref().map(denials::to_json)).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    changed_all("orders", &updated, changes.len())
}

/// An order's key as it is stored.
pub(super) fn key(channel: &str, order_ref: &str) -> OrderKey {
    OrderKey { channel: Channel::stored(channel), order_ref: OrderRef::stored(order_ref) }
}

#[derive(sqlx::FromRow)]
struct StoredOrder {
    channel: String,
    order_ref: String,
    state: String,
    event_id: Option<String>,
    payment_mode: String,
    total_amount: Option<i64>,
    currency: Option<String>,
    digest: Option<Vec<u8>>,
    rejection: Option<String>,
    created_at: Timestamp,
    held_since: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

impl StoredOrder {
    fn read(self) -> Result<(OrderKey, OrderRow), StoreError> {
        let unreadable =
            |detail: &str| StoreError::Unreadable { what: "order", detail: format!("{detail} of {}", self.order_ref) };
        let currency = self.currency.as_deref().and_then(Currency::new);
        let row = OrderRow {
            state: OrderState::from_word(&self.state).ok_or_else(|| unreadable("state"))?,
            event_id: self.event_id.as_deref().map(EventId::stored),
            payment: PaymentMode::from_word(&self.payment_mode).ok_or_else(|| unreadable("payment_mode"))?,
            total: self.total_amount.zip(currency).map(|(amount, currency)| Money { amount, currency }),
            digest: self.digest.as_deref().map(digest).transpose()?,
            rejection: self.rejection.as_deref().and_then(Rejection::from_word),
            created_at: self.created_at,
            held_since: self.held_since,
            expires_at: self.expires_at,
        };
        Ok((key(&self.channel, &self.order_ref), row))
    }
}
