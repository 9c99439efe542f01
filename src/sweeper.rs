//! What is overdue becomes commands: the sweeper gathers, and everything else is the ordinary path.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::Connection;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::domain::{Kind, OrderKey, Review, ReviewKind, ReviewSubject};
use crate::engine::{Engine, Item, Turn, Turnstile, tell_reviews};
use crate::store::{Pool, due, reviews, waiting};

/// How many overdue orders are taken at once.
const AT_ONCE: i64 = 1_000;
/// How often the nets are drawn: what waits although its order has come, and what has waited too long.
const NETS: Duration = Duration::from_secs(1);

/// What the sweeper works with.
#[derive(Debug, Clone)]
pub struct Sweeper {
    /// The database.
    pub pool: Pool,
    /// Decides.
    pub engine: Arc<Engine>,
    /// Rung when something was stored to be told.
    pub outbox: Arc<Notify>,
    /// The longest it sleeps.
    pub max_interval: Duration,
    /// After how long a waiting message becomes a question for a person.
    pub waiting_max: Duration,
}

/// Sweeps until `stop`. Several copies may: each order is locked by one and found expired by the others.
pub async fn run(sweeper: Sweeper, stop: CancellationToken) {
    let mut nets_due = tokio::time::Instant::now();
    while !stop.is_cancelled() {
        let pause = match sweeper.sweep(&mut nets_due, &stop).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "sweeping failed; it is tried again");
                sweeper.max_interval
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl Sweeper {
    /// Expires what is due, and tells how long it is until something may be due next.
    async fn sweep(&self, nets_due: &mut tokio::time::Instant, stop: &CancellationToken) -> anyhow::Result<Duration> {
        let mut connection = self.pool.acquire().await.context("no connection for the sweeper")?;
        let overdue = due::orders(&mut connection, AT_ONCE).await?;
        let next = due::next(&mut connection).await?;
        drop(connection);
        if !overdue.is_empty() {
            let expired = self.decide(overdue, Kind::Expire, stop).await?;
            // What nobody can expire, or another copy has just expired, is no reason to look again at once.
            return Ok(if expired { Duration::ZERO } else { self.max_interval });
        }
        if *nets_due <= tokio::time::Instant::now() {
            *nets_due = tokio::time::Instant::now() + NETS;
            self.draw_nets(stop).await?;
        }
        Ok(next.unwrap_or(self.max_interval).clamp(Duration::from_millis(1), self.max_interval))
    }

    /// Returns whether anything changed that is told.
    async fn decide(
        &self,
        orders: Vec<OrderKey>,
        kind: impl Fn(OrderKey) -> Kind,
        stop: &CancellationToken,
    ) -> anyhow::Result<bool> {
        let items = orders.into_iter().map(|order| Item::of_timer(kind(order))).collect();
        let mut turn = Turn::Shared { pool: &self.pool, turnstile: &Turnstile::default(), pass: None };
        let settled = self.engine.settle(&mut turn, items, stop).await?;
        if settled.told {
            self.outbox.notify_waiters();
        }
        Ok(settled.told)
    }

    /// What should never be found, and what a person should know of.
    async fn draw_nets(&self, stop: &CancellationToken) -> anyhow::Result<()> {
        let mut connection = self.pool.acquire().await?;
        let wakeable = waiting::wakeable(&mut connection, AT_ONCE).await?;
        drop(connection);
        if !wakeable.is_empty() {
            tracing::warn!(orders = wakeable.len(), "messages waited although their orders had come");
            self.decide(wakeable, Kind::Wake, stop).await?;
        }
        self.ask_about_overdue().await
    }

    async fn ask_about_overdue(&self) -> anyhow::Result<()> {
        let mut connection = self.pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        let overdue = waiting::overdue(&mut transaction, self.waiting_max, AT_ONCE).await?;
        let Some(at) = overdue.iter().map(|late| late.at).max() else { return Ok(transaction.rollback().await?) };
        let questions: Vec<Review> = overdue
            .into_iter()
            .map(|late| Review {
                kind: ReviewKind::WaitedTooLong,
                detail: format!(
                    "{} {} still waits for order {} of channel {}",
                    late.event.subject, late.event.id, late.order.order_ref, late.order.channel
                ),
                subject: ReviewSubject::Message {
                    subject: late.event.subject,
                    event_id: late.event.id,
                    rows: Vec::new(),
                },
                cause: 0,
            })
            .collect();
        let opened = reviews::open_many(&mut transaction, &questions, at).await?;
        tell_reviews(&mut transaction, &questions, &reviews::new_ids(&opened), at).await?;
        transaction.commit().await?;
        self.outbox.notify_waiters();
        Ok(())
    }
}
