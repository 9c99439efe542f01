//! The whole life of orders: created, paid, shipped.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use uuid::Uuid;

use super::load::{Load, PATIENCE, Producer};
use super::tap::Tap;

/// SKUs that the orders are for.
const SKUS: usize = 1_000;

/// How fast orders went through their life.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    orders: usize,
    created: Duration,
    paid: Duration,
    shipped: Duration,
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^52 orders")]
impl Life {
    /// Whole lives per second: from the first order's publication to the last parcel's answer.
    pub fn per_second(&self) -> f64 {
        self.orders as f64 / (self.created + self.paid + self.shipped).as_secs_f64()
    }

    /// Each stage by itself, per second: orders held, payments that confirmed, parcels that shipped.
    pub fn stages(&self) -> [(&'static str, f64); 3] {
        [("created", self.created), ("paid", self.paid), ("shipped", self.shipped)]
            .map(|(name, took)| (name, self.orders as f64 / took.as_secs_f64()))
    }
}

/// One unit each, over 1,000 SKUs: all orders, when they are held all payments, when they are confirmed all parcels.
pub(super) async fn lead(load: &Load, orders: usize) -> anyhow::Result<Life> {
    let prefix = Uuid::new_v4().simple().to_string();
    let skus: Vec<String> = (0..SKUS).map(|n| format!("{prefix}-{n}")).collect();
    load.stock(&skus, 1_000_000).await?;
    let sku = |n: usize| &skus[n % SKUS];
    let refs: Vec<String> = (0..orders).map(|_| Uuid::new_v4().simple().to_string()).collect();
    let orders_made = refs.iter().enumerate().map(|(n, order)| {
        let event = Uuid::new_v4();
        format!(r#"{{"event_id":"{event}","order_ref":"{order}","lines":[{{"sku":"{}","qty":1}}]}}"#, sku(n))
    });
    let payments = refs.iter().map(|order| {
        let event = Uuid::new_v4();
        format!(r#"{{"event_id":"{event}","payment_id":"P-{order}","channel":"web","order_ref":"{order}"}}"#)
    });
    let parcels = refs.iter().enumerate().map(|(n, order)| {
        let (event, sku) = (Uuid::new_v4(), sku(n));
        format!(
            r#"{{"event_id":"{event}","shipment_ref":"S-1","channel":"web","order_ref":"{order}","lines":[{{"sku":"{sku}","qty":1}}]}}"#
        )
    });
    let (orders_made, payments, parcels): (Vec<_>, Vec<_>, Vec<_>) =
        (orders_made.collect(), payments.collect(), parcels.collect());
    Ok(Life {
        orders,
        created: stage(load, "order.created.web", orders_made, "reservation.held.>").await?,
        paid: stage(load, "payment.succeeded.bench", payments, "reservation.confirmed.>").await?,
        shipped: stage(load, "shipment.dispatched.main", parcels, "reservation.shipped.>").await?,
    })
}

/// Publishes all of them and waits for as many of these answers; how long both took.
async fn stage(load: &Load, subject: &'static str, messages: Vec<String>, answer: &str) -> anyhow::Result<Duration> {
    let mut answers = Tap::open(&load.nats, answer).await?;
    let wanted = messages.len();
    let begun = Instant::now();
    let reading = async {
        for _ in 0..wanted {
            answers.next().await?;
        }
        anyhow::Ok(begun.elapsed())
    };
    let reading = tokio::time::timeout(PATIENCE, reading);
    let publishing = async {
        let mut producer = Producer::new(&load.js);
        for message in messages {
            producer.publish_to(subject, message).await?;
        }
        producer.finish().await
    };
    let (published, read) = tokio::join!(publishing, reading);
    published?;
    read.with_context(|| format!("some of {subject} were not answered"))?
}
