//! What was told of orders that the base has not got.

use std::collections::HashSet;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{Answers, NAMED, OrderName};
use crate::audit::Broker;
use crate::broker::{From, Reading};
use crate::domain::{Channel, OrderKey, OrderRef};
use crate::store::orders;
use crate::store::outbox::Lane;

/// Reads what was told since then.
pub(super) async fn since(
    session: &mut PgConnection,
    broker: &Broker,
    since: OffsetDateTime,
) -> anyhow::Result<Answers> {
    let name = broker.topology.stream_name(Lane::Reservations.stream());
    let mut reading = Reading::open(&broker.jetstream, &name, From::Time(since), None).await?;
    let mut answers = Answers::default();
    loop {
        let window = reading.next().await?;
        if window.is_empty() {
            return Ok(answers);
        }
        let told: Vec<OrderKey> = window.iter().filter_map(|(_, message)| order_of(&message.payload)).collect();
        let known = orders::existing(session, &sorted(&told)).await?;
        answers.told += told.len() as u64;
        for key in told.into_iter().filter(|key| !known.contains(key)) {
            answers.unknown += 1;
            let order = OrderName { channel: key.channel.to_string(), order_ref: key.order_ref.to_string() };
            if answers.unknown_named.len() < NAMED && !answers.unknown_named.contains(&order) {
                answers.unknown_named.push(order);
            }
        }
    }
}

fn sorted(told: &[OrderKey]) -> Vec<OrderKey> {
    let mut keys: Vec<OrderKey> = told.iter().collect::<HashSet<_>>().into_iter().cloned().collect();
    keys.sort_unstable();
    keys
}

/// The order that an answer is about; none where it is about something else.
fn order_of(body: &[u8]) -> Option<OrderKey> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(OrderKey {
        channel: Channel::new(body["channel"].as_str()?).ok()?,
        order_ref: OrderRef::new(body["order_ref"].as_str()?).ok()?,
    })
}
