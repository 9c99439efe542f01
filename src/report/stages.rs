//! Where an order's time went, as far as what is stored tells.
//!
//! | stage | from | to | by the clock of |
//! |---|---|---|---|
//! | waiting | the stream had received the message | its batch had begun and claimed the order | broker, database |
//! | locks | the same | its batch had all locks and decided | database |
//! | telling | the same | the broker had acknowledged the answer, and that was noted: write, commit, relay | database |
//! | all | the stream had received the message | the same | broker, database |
//!
//! Nobody stores when a batch was committed: what came before and after is one stage. An order that waited for locks longer than a quarter of
//! a second begins its hold after that, and the wait counts as waiting. What a rejected order took after it was claimed is not stored.

use std::fmt;

use anyhow::anyhow;
use hdrhistogram::{CreationError, Histogram};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::audit::{Broker, Interrupted};
use crate::broker::{From, Reading};
use crate::domain::{EventId, Kind, OrderKey, Timestamp};
use crate::messages::{self, Inbound};
use crate::store::audit;
use crate::store::reports::{self, Way};

/// What a stage takes at most, in microseconds: a day. What takes longer counts as that.
const LONGEST_US: u64 = 86_400_000_000;
/// The inbound stream of orders.
const ORDERS: &str = "ORDERS";
/// What cannot be told, for a person.
const UNTOLD: &str = "waiting compares the broker's clock with the database's; when a batch was committed is not stored, nor what a rejected order took after it was claimed";

/// Where time went, in microseconds.
#[derive(Debug)]
pub struct Stages {
    messages: u64,
    waiting: Stage,
    locks: Stage,
    telling: Stage,
    all: Stage,
    /// Waits below zero: the clocks differ by more than the wait.
    ahead: u64,
}

/// One stage: how many orders took how long.
#[derive(Debug)]
struct Stage(Histogram<u64>);

impl Stage {
    fn new() -> Result<Self, CreationError> {
        Ok(Self(Histogram::new_with_max(LONGEST_US, 3)?))
    }

    /// Adds a span; one that is negative is none, and what is longer than a day is a day.
    fn add(&mut self, from: Timestamp, to: Timestamp) {
        let micros = u64::try_from((to - from).whole_microseconds()).unwrap_or(0);
        self.0.saturating_record(micros);
    }

    #[allow(clippy::cast_precision_loss, reason = "microseconds far below 2^52")]
    fn ms(&self) -> Option<[f64; 4]> {
        let ms = |quantile| self.0.value_at_quantile(quantile) as f64 / 1_000.0;
        (!self.0.is_empty()).then(|| [ms(0.5), ms(0.9), ms(0.99), self.0.max() as f64 / 1_000.0])
    }

    fn to_json(&self) -> Value {
        let [p50, p90, p99, max] = self.ms().map_or([None; 4], |quantiles| quantiles.map(Some));
        json!({ "orders": self.0.len(), "p50_ms": p50, "p90_ms": p90, "p99_ms": p99, "max_ms": max })
    }
}

impl Stages {
    fn new() -> Result<Self, CreationError> {
        let (waiting, locks, telling, all) = (Stage::new()?, Stage::new()?, Stage::new()?, Stage::new()?);
        Ok(Self { messages: 0, waiting, locks, telling, all, ahead: 0 })
    }

    /// Adds what is stored of an order that the stream received then.
    fn add(&mut self, received: Timestamp, way: &Way) {
        self.messages += 1;
        let Some(claimed) = way.claimed_at else { return };
        self.ahead += u64::from(claimed < received);
        self.waiting.add(received, claimed);
        let Some(decided) = way.decided_at else { return };
        self.locks.add(claimed, decided);
        let Some(told) = way.told_at else { return };
        self.telling.add(decided, told);
        self.all.add(received, told);
    }

    /// How many orders it tells of.
    pub fn orders(&self) -> u64 {
        self.waiting.0.len()
    }

    /// The same for a program.
    pub fn to_json(&self) -> Value {
        json!({
            "messages": self.messages,
            "stages": {
                "waiting": self.waiting.to_json(), "locks": self.locks.to_json(),
                "telling": self.telling.to_json(), "all": self.all.to_json(),
            },
            "clocks_ahead": self.ahead,
            "untold": UNTOLD,
        })
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<44} {:>9} {:>9} {:>9} {:>9} {:>9}", "ms", "orders", "p50", "p90", "p99", "max")?;
        for (name, stage) in [
            ("received → claimed: waiting in the stream", &self.waiting),
            ("claimed → decided: locks", &self.locks),
            ("decided → told: write, commit, relay", &self.telling),
            ("received → told", &self.all),
        ] {
            write!(f, "{name:<44} {:>9}", stage.0.len())?;
            match stage.ms() {
                Some(quantiles) => quantiles.iter().try_for_each(|value| write!(f, " {value:>9.1}"))?,
                None => [""; 4].iter().try_for_each(|_| write!(f, " {:>9}", "–"))?,
            }
            writeln!(f)?;
        }
        writeln!(f, "\n{} messages; {UNTOLD}", self.messages)?;
        if self.ahead > 0 {
            write!(f, "{} were claimed before they were received: the clocks differ", self.ahead)?;
        }
        Ok(())
    }
}

/// Reads the orders that the stream received since then and still has, and what is stored of each, in a snapshot that looks rows up.
/// A message counts with what made its order; one that was refused or is a repeat counts as a message only.
///
/// # Errors
/// The database's, and a broker that fails.
pub async fn read(session: &mut PgConnection, broker: &Broker, since: Timestamp) -> Result<Stages, Interrupted> {
    let stream = broker.topology.stream_name(ORDERS);
    let mut snapshot = audit::begin(session).await?;
    audit::look_up(&mut snapshot).await?;
    let mut reading =
        Reading::open(&broker.jetstream, &stream, From::Time(since), None).await.map_err(Interrupted::Broker)?;
    let mut stages = Stages::new().map_err(|error| Interrupted::Report(error.into()))?;
    loop {
        let window = reading.next().await.map_err(Interrupted::Broker)?;
        if window.is_empty() {
            break;
        }
        let mut orders = Vec::with_capacity(window.len());
        let mut received = Vec::with_capacity(window.len());
        for (_, message) in &window {
            if let Some(order) = order_of(broker, message) {
                orders.push(order);
                let info = message.info().map_err(|error| Interrupted::Broker(anyhow!(error)))?;
                received.push(info.published);
            }
        }
        let ways = reports::ways(&mut snapshot, &orders).await?;
        for (received, way) in received.into_iter().zip(&ways) {
            stages.add(received, way);
        }
    }
    snapshot.rollback().await?;
    Ok(stages)
}

/// The order that a message is to make, and by which event; none of any other message.
fn order_of(broker: &Broker, message: &async_nats::jetstream::Message) -> Option<(OrderKey, EventId)> {
    let subject = broker.topology.contracted(message.subject.as_str()).unwrap_or(message.subject.as_str());
    let inbound = Inbound { subject, headers: message.headers.as_ref(), payload: &message.payload };
    let command = messages::decode(&inbound).ok()?;
    match command.kind {
        Kind::Create(create) => Some((create.order, command.event?.id)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use time::Duration;
    use time::macros::datetime;

    use super::*;

    const RECEIVED: Timestamp = datetime!(2027-01-01 10:00 UTC);

    fn way(spans: [Option<i64>; 3]) -> Way {
        let [claimed_at, decided_at, told_at] = spans.map(|ms| ms.map(|ms| RECEIVED + Duration::milliseconds(ms)));
        Way { claimed_at, decided_at, told_at }
    }

    #[test]
    fn each_stage_is_from_the_end_of_the_one_before() {
        let mut stages = Stages::new().unwrap();
        stages.add(RECEIVED, &way([Some(5), Some(7), Some(17)]));
        let json = stages.to_json();
        let max = |stage: &str| format!("{:.0}", json["stages"][stage]["max_ms"].as_f64().unwrap());
        assert_eq!(["waiting", "locks", "telling", "all"].map(max), ["5", "2", "10", "17"]);
    }

    #[test]
    fn what_is_not_stored_is_not_counted() {
        let mut stages = Stages::new().unwrap();
        for spans in [[None; 3], [Some(5), None, None], [Some(5), Some(7), None]] {
            stages.add(RECEIVED, &way(spans));
        }
        let json = stages.to_json();
        let orders = |stage: &str| json["stages"][stage]["orders"].as_u64().unwrap();
        assert_eq!(["waiting", "locks", "telling", "all"].map(orders), [2, 1, 0, 0]);
        assert_eq!((json["messages"].as_u64(), stages.orders()), (Some(3), 2));
        assert_eq!(json["stages"]["all"]["p99_ms"], Value::Null);
    }

    #[test]
    fn clocks_that_differ_are_said() {
        let mut stages = Stages::new().unwrap();
        stages.add(RECEIVED, &way([Some(-3), Some(1), Some(2)]));
        let json = stages.to_json();
        assert_eq!((json["clocks_ahead"].as_u64(), json["stages"]["waiting"]["max_ms"].as_f64()), (Some(1), Some(0.0)));
        assert!(stages.to_string().contains("the clocks differ"));
    }
}
