//! Invariant 6: every message that a consumer has acknowledged has exactly one fate.

use std::collections::HashMap;

use anyhow::Context as _;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::{Broker, Interrupted, Sink};
use crate::broker::{From, Reading, outlast_election};
use crate::domain::{EventKey, Finding, Kind, Place};
use crate::messages::{self, Inbound};
use crate::store::audit::{self, Asked, Fate};
use crate::topology::ConsumerFile;

/// How many events that have two fates, or none, at first sight are kept in mind before they are looked at a second time.
const SUSPECTS: usize = 10_000;
/// How long before the oldest message that a stream still holds a message may have been decided that it holds no more.
const BOUNDARY: Duration = Duration::HOUR;

/// How far a stream is acknowledged without a gap.
#[derive(Debug)]
pub(super) struct Acknowledged {
    consumer: ConsumerFile,
    to: u64,
    /// What was taken before this may have been taken from a message that the stream holds no more.
    complete_since: OffsetDateTime,
}

/// How far each inbound stream is acknowledged. A cluster that is electing a leader is asked again, for a time.
pub(super) async fn acknowledged(broker: &Broker) -> anyhow::Result<Vec<Acknowledged>> {
    outlast_election(|_| true, || ask_how_far(broker)).await
}

async fn ask_how_far(broker: &Broker) -> anyhow::Result<Vec<Acknowledged>> {
    let mut all = Vec::new();
    for consumer in broker.topology.deciding() {
        let stream = broker.jetstream.get_stream(&consumer.stream).await.with_context(|| consumer.stream.clone())?;
        let state = &stream.cached_info().state;
        let nothing_gone = state.first_sequence <= 1;
        let complete_since = if nothing_gone { OffsetDateTime::UNIX_EPOCH } else { state.first_timestamp + BOUNDARY };
        let durable: Result<PullConsumer, _> =
            broker.jetstream.get_consumer_from_stream(consumer.durable.as_str(), consumer.stream.as_str()).await;
        let to = durable.with_context(|| consumer.durable.clone())?.cached_info().ack_floor.stream_sequence;
        all.push(Acknowledged { consumer: consumer.clone(), to, complete_since });
    }
    Ok(all)
}

/// Asks for the fate of every message that is acknowledged.
pub(super) async fn check(
    snapshot: &mut PgConnection,
    broker: &Broker,
    acknowledged: &[Acknowledged],
    sink: &mut Sink<'_>,
) -> Result<(), Interrupted> {
    for stream in acknowledged {
        // Events that were taken although a message of theirs is dead: right only if another message of theirs is not.
        let mut suspects: HashMap<EventKey, Asked> = HashMap::new();
        // The last message of each event that has no fate: right only if another message of the event waited then, and died later.
        let mut lost: HashMap<EventKey, Asked> = HashMap::new();
        let mut reading = open(broker, stream, Some(stream.to)).await?;
        while let Some((asked, fates)) = next(snapshot, broker, stream, &mut reading).await? {
            for (asked, fate) in asked.iter().zip(&fates) {
                if is_lost(fate) {
                    match &asked.event {
                        Some(event) => drop(lost.insert(event.clone(), asked.clone())),
                        None => sink.found(&finding(stream, asked, "a fate", "none"))?,
                    }
                } else if let Some(event) = suspicious(stream, asked, fate) {
                    suspects.entry(event.clone()).or_insert_with(|| asked.clone());
                }
            }
            if suspects.len() >= SUSPECTS {
                judge(snapshot, broker, stream, std::mem::take(&mut suspects), sink).await?;
            }
            if lost.len() >= SUSPECTS {
                mourn(snapshot, broker, stream, std::mem::take(&mut lost), sink).await?;
            }
        }
        judge(snapshot, broker, stream, suspects, sink).await?;
        mourn(snapshot, broker, stream, lost, sink).await?;
    }
    Ok(())
}

/// Finds those messages that are really lost. A message of an event that waited by another message of its was recognised, and shares the fate of that
/// one, which was refused later. The stream is read once more, and only if there are any.
async fn mourn(
    snapshot: &mut PgConnection,
    broker: &Broker,
    stream: &Acknowledged,
    mut lost: HashMap<EventKey, Asked>,
    sink: &mut Sink<'_>,
) -> Result<(), Interrupted> {
    if lost.is_empty() {
        return Ok(());
    }
    let mut reading = open(broker, stream, None).await?;
    while let Some((asked, fates)) = next(snapshot, broker, stream, &mut reading).await? {
        for (asked, fate) in asked.iter().zip(&fates) {
            let (Some(event), Some(died_at)) = (&asked.event, fate.died_at) else { continue };
            if lost.get(event).is_some_and(|lost| lost.received_at <= died_at) {
                lost.remove(event);
            }
        }
    }
    let mut lost: Vec<Asked> = lost.into_values().collect();
    lost.sort_by_key(|asked| asked.sequence);
    for asked in lost {
        sink.found(&finding(stream, &asked, "a fate", "none"))?;
    }
    Ok(())
}

/// Finds those of the suspects guilty that nothing clears.
async fn judge(
    snapshot: &mut PgConnection,
    broker: &Broker,
    stream: &Acknowledged,
    mut suspects: HashMap<EventKey, Asked>,
    sink: &mut Sink<'_>,
) -> Result<(), Interrupted> {
    clear(snapshot, broker, stream, &mut suspects).await?;
    let mut guilty: Vec<Asked> = suspects.into_values().collect();
    guilty.sort_by_key(|asked| asked.sequence);
    for asked in guilty {
        sink.found(&finding(stream, &asked, "one fate", "an open dead letter, and processed"))?;
    }
    Ok(())
}

async fn open(broker: &Broker, stream: &Acknowledged, last: Option<u64>) -> Result<Reading, Interrupted> {
    let opened = Reading::open(&broker.jetstream, &stream.consumer.stream, From::First, last).await;
    opened.map_err(Interrupted::Broker)
}

/// Clears the suspects of which some message did not die: that one was taken. The stream is read once more, and only if there are any.
async fn clear(
    snapshot: &mut PgConnection,
    broker: &Broker,
    stream: &Acknowledged,
    suspects: &mut HashMap<EventKey, Asked>,
) -> Result<(), Interrupted> {
    if suspects.is_empty() {
        return Ok(());
    }
    let mut reading = open(broker, stream, None).await?;
    while let Some((asked, fates)) = next(snapshot, broker, stream, &mut reading).await? {
        for (asked, fate) in asked.iter().zip(&fates) {
            if let (Some(event), None) = (&asked.event, fate.dead_and_open) {
                suspects.remove(event);
            }
        }
    }
    Ok(())
}

fn is_lost(fate: &Fate) -> bool {
    fate.taken_at.is_none() && !fate.waits && fate.dead_and_open.is_none()
}

/// The event, if it was taken although this message of it is an open dead letter, and surely not from a message that the stream holds no more.
fn suspicious<'a>(stream: &Acknowledged, asked: &'a Asked, fate: &Fate) -> Option<&'a EventKey> {
    let taken_late = fate.taken_at.is_some_and(|at| at >= stream.complete_since);
    asked.event.as_ref().filter(|_| fate.dead_and_open == Some(true) && taken_late)
}

/// The next messages and their fates; none at the end.
async fn next(
    snapshot: &mut PgConnection,
    broker: &Broker,
    stream: &Acknowledged,
    reading: &mut Reading,
) -> Result<Option<(Vec<Asked>, Vec<Fate>)>, Interrupted> {
    let window = reading.next().await.map_err(Interrupted::Broker)?;
    if window.is_empty() {
        return Ok(None);
    }
    let asked: Vec<Asked> = window
        .iter()
        .map(|(sequence, message)| ask(broker, *sequence, message))
        .collect::<Result<_, _>>()
        .map_err(Interrupted::Broker)?;
    let fates = audit::fates(snapshot, &stream.consumer.family, &asked).await?;
    Ok(Some((asked, fates)))
}

fn ask(broker: &Broker, sequence: u64, message: &Message) -> anyhow::Result<Asked> {
    let subject = broker.topology.contracted(message.subject.as_str()).unwrap_or(message.subject.as_str());
    let inbound = Inbound { subject, headers: message.headers.as_ref(), payload: &message.payload };
    let command = messages::decode(&inbound).ok();
    let info = message.info().map_err(|error| anyhow::anyhow!(error))?;
    let (event, kind) = command.map_or((None, None), |command| (command.event, Some(command.kind)));
    Ok(Asked {
        subject: subject.to_owned(),
        sequence: i64::try_from(sequence)?,
        received_at: info.published.truncate_to_microsecond(),
        event,
        creates: kind.and_then(|kind| match kind {
            Kind::Create(create) => Some(create.order),
            _ => None,
        }),
    })
}

fn finding(stream: &Acknowledged, asked: &Asked, expected: &str, found: &str) -> Finding {
    let place = Place {
        stream: Some(stream.consumer.family.clone()),
        sequence: Some(asked.sequence),
        subject: Some(asked.subject.clone()),
        event_id: asked.event.as_ref().map(|event| event.id.to_string()),
        ..Place::default()
    };
    Finding { invariant: 6, place, expected: expected.to_owned(), found: found.to_owned(), figure: None }
}
