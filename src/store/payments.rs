//! Payments, what gateways said of them, and the refunds that are required.

use std::collections::BTreeSet;

use sqlx::PgConnection;

use super::orders::key;
use super::{StoreError, changed_all};
use crate::domain::{
    Currency, Decision, EventId, Money, NewReport, OrderKey, Payment, PaymentChange, PaymentKey, PaymentState,
    Provider, RefundReason, RefundRequired, Reported, Settlement, Text, Timestamp,
};

/// The payments of these orders, whose locks are held, and these payments whosever they are.
pub async fn load_many(
    connection: &mut PgConnection,
    orders: &BTreeSet<OrderKey>,
    payments: &BTreeSet<PaymentKey>,
) -> Result<Vec<Payment>, StoreError> {
    if orders.is_empty() && payments.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<StoredPayment> = sqlx::query_as(include_str!("payments_load.sql"))
        .bind(orders.iter().map(|order| order.channel.as_str()).collect::<Vec<_>>())
        .bind(orders.iter().map(|order| order.order_ref.as_str()).collect::<Vec<_>>())
        .bind(payments.iter().map(|payment| payment.provider.as_str()).collect::<Vec<_>>())
        .bind(payments.iter().map(|payment| payment.payment_id.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.into_iter().map(StoredPayment::read).collect()
}

/// Writes what was decided of payments. Two orders that name one id meet at the insert, which comes after all locks and before all other
/// rows that two orders may share: so the later waits for the earlier, and nobody for the later.
pub async fn write(connection: &mut PgConnection, decision: &Decision, at: Timestamp) -> Result<(), StoreError> {
    let (new, changed): (Vec<&PaymentChange>, Vec<_>) =
        decision.payments.iter().partition(|change| change.before.is_none());
    insert_many(connection, &new, at).await?;
    update_many(connection, &changed, at).await?;
    report_many(connection, &decision.reports, at).await?;
    settle_many(connection, &decision.settled, at).await?;
    require_many(connection, &decision.refunds, at).await
}

async fn insert_many(connection: &mut PgConnection, new: &[&PaymentChange], at: Timestamp) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let inserted = sqlx::query(include_str!("payments_insert.sql"))
        .bind(new.iter().map(|change| change.after.key.provider.as_str()).collect::<Vec<_>>())
        .bind(new.iter().map(|change| change.after.key.payment_id.as_str()).collect::<Vec<_>>())
        .bind(new.iter().map(|change| change.after.order.channel.as_str()).collect::<Vec<_>>())
        .bind(new.iter().map(|change| change.after.order.order_ref.as_str()).collect::<Vec<_>>())
        .bind(new.iter().map(|change| change.after.state.word()).collect::<Vec<_>>())
        .bind(new.iter().map(|change| amount(change.after.amount.as_ref())).collect::<Vec<_>>())
        .bind(new.iter().map(|change| currency(change.after.amount.as_ref())).collect::<Vec<_>>())
        .bind(new.iter().map(|change| change.after.refunded).collect::<Vec<_>>())
        .bind(new.iter().map(|change| change.after.pays).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("new payments", &inserted, new.len())
}

async fn update_many(
    connection: &mut PgConnection,
    changes: &[&PaymentChange],
    at: Timestamp,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let before = |change: &&PaymentChange| change.before;
    let updated = sqlx::query(include_str!("payments_update.sql"))
        .bind(changes.iter().map(|change| change.after.key.provider.as_str()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.key.payment_id.as_str()).collect::<Vec<_>>())
        .bind(changes.iter().filter_map(before).map(|(state, _)| state.word()).collect::<Vec<_>>())
        .bind(changes.iter().filter_map(before).map(|(_, refunded)| refunded).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.state.word()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| amount(change.after.amount.as_ref())).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| currency(change.after.amount.as_ref())).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.refunded).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.pays).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("payments", &updated, changes.len())
}

async fn report_many(connection: &mut PgConnection, reports: &[NewReport], at: Timestamp) -> Result<(), StoreError> {
    if reports.is_empty() {
        return Ok(());
    }
    let inserted = sqlx::query(include_str!("payments_report.sql"))
        .bind(reports.iter().map(|report| report.key.provider.as_str()).collect::<Vec<_>>())
        .bind(reports.iter().map(|report| report.key.payment_id.as_str()).collect::<Vec<_>>())
        .bind(reports.iter().map(|report| report.reported.says.word()).collect::<Vec<_>>())
        .bind(reports.iter().map(|report| report.reported.event_id.as_str()).collect::<Vec<_>>())
        .bind(reports.iter().map(|report| amount(report.reported.amount.as_ref())).collect::<Vec<_>>())
        .bind(reports.iter().map(|report| currency(report.reported.amount.as_ref())).collect::<Vec<_>>())
        .bind(reports.iter().map(|report| report.reason.as_deref()).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("reports of payments", &inserted, reports.len())
}

async fn settle_many(connection: &mut PgConnection, settled: &[Settlement], at: Timestamp) -> Result<(), StoreError> {
    if !settled.is_empty() {
        sqlx::query(include_str!("refunds_settle.sql"))
            .bind(settled.iter().map(|refund| refund.key.provider.as_str()).collect::<Vec<_>>())
            .bind(settled.iter().map(|refund| refund.key.payment_id.as_str()).collect::<Vec<_>>())
            .bind(settled.iter().map(|refund| refund.whole).collect::<Vec<_>>())
            .bind(at)
            .execute(connection)
            .await?;
    }
    Ok(())
}

async fn require_many(
    connection: &mut PgConnection,
    refunds: &[RefundRequired],
    at: Timestamp,
) -> Result<(), StoreError> {
    if refunds.is_empty() {
        return Ok(());
    }
    let inserted = sqlx::query(include_str!("refunds_require.sql"))
        .bind(refunds.iter().map(|refund| refund.key.provider.as_str()).collect::<Vec<_>>())
        .bind(refunds.iter().map(|refund| refund.key.payment_id.as_str()).collect::<Vec<_>>())
        .bind(refunds.iter().map(|refund| refund.reason.word()).collect::<Vec<_>>())
        .bind(refunds.iter().map(|refund| refund.event_id.as_str()).collect::<Vec<_>>())
        .bind(refunds.iter().map(|refund| amount(refund.amount.as_ref())).collect::<Vec<_>>())
        .bind(refunds.iter().map(|refund| currency(refund.amount.as_ref())).collect::<Vec<_>>())
        .bind(refunds.iter().map(|refund| refund.settled).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("required refunds", &inserted, refunds.len())
}

fn amount(money: Option<&Money>) -> Option<i64> {
    money.map(|money| money.amount)
}

fn currency(money: Option<&Money>) -> Option<&str> {
    money.map(|money| money.currency.as_str())
}

fn money(amount: Option<i64>, currency: Option<&str>) -> Option<Money> {
    let (amount, currency) = amount.zip(currency.and_then(Currency::new))?;
    Some(Money { amount, currency })
}

#[derive(sqlx::FromRow)]
struct StoredPayment {
    provider: String,
    payment_id: String,
    channel: String,
    order_ref: String,
    state: String,
    amount: Option<i64>,
    currency: Option<String>,
    refunded_amount: i64,
    pays: bool,
    verbs: Option<Vec<String>>,
    event_ids: Option<Vec<String>>,
    amounts: Option<Vec<Option<i64>>>,
    currencies: Option<Vec<Option<String>>>,
    reasons: Option<Vec<String>>,
}

impl StoredPayment {
    fn read(self) -> Result<Payment, StoreError> {
        let unreadable = |what: &str, word: &str| StoreError::Unreadable {
            what: "payment",
            detail: format!("{what} {word} of {} at {}", self.payment_id, self.provider),
        };
        let state = |word: &str| PaymentState::from_word(word).ok_or_else(|| unreadable("state", word));
        let reason = |word: &String| RefundReason::from_word(word).ok_or_else(|| unreadable("reason", word));
        let amounts = self.amounts.iter().flatten().zip(self.currencies.iter().flatten());
        let reports = self.verbs.iter().flatten().zip(self.event_ids.iter().flatten()).zip(amounts);
        let reports = reports.map(|((verb, event_id), (amount, currency))| {
            let (says, event_id) = (state(verb)?, EventId::stored(event_id));
            Ok(Reported { says, event_id, amount: money(*amount, currency.as_deref()) })
        });
        Ok(Payment {
            key: PaymentKey { provider: Provider::stored(&self.provider), payment_id: Text::stored(&self.payment_id) },
            order: key(&self.channel, &self.order_ref),
            state: state(&self.state)?,
            amount: money(self.amount, self.currency.as_deref()),
            refunded: self.refunded_amount,
            pays: self.pays,
            reports: reports.collect::<Result<_, StoreError>>()?,
            required: self.reasons.iter().flatten().map(reason).collect::<Result<_, _>>()?,
        })
    }
}
