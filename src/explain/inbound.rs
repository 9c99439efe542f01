//! The messages about an order, as far as the streams still hold them.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context as _;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use serde_json::json;
use tokio::time::Instant;

use super::story::{Event, Source, Story, clock};
use crate::audit::Broker;
use crate::broker::{From, Reading};
use crate::domain::{OrderKey, Timestamp};
use crate::messages::{Glance, Inbound, glance};

/// The subject that is read for an order of a channel.
type SubjectOf = fn(&str) -> String;

/// The streams that messages about orders come on, and what of each is read for an order of a channel.
/// The subjects of money and parcels do not name the channel.
const STREAMS: [(&str, SubjectOf); 3] = [
    ("ORDERS", |channel| format!("order.*.{channel}")),
    ("PAYMENTS", |_| "payment.>".to_owned()),
    ("SHIPMENTS", |_| "shipment.>".to_owned()),
];

/// How long one stream is read.
const READ_FOR: Duration = Duration::from_secs(10);
/// How long before the order's own instant its messages may have come: what came before the order, and clocks that differ.
const BEFORE: time::Duration = time::Duration::HOUR;

pub(super) async fn read(broker: Result<&Broker, String>, story: &mut Story) {
    let broker = match broker {
        Ok(broker) => broker,
        Err(why) => return story.unchecked.push(format!("the messages that came: {why}")),
    };
    let from = story.facts.as_ref().map_or(From::First, |facts| From::Time(facts.created_at - BEFORE));
    for (family, subject) in STREAMS {
        let subject = broker.topology.published(&subject(story.order.channel.as_str()));
        match read_stream(broker, family, &subject, from, &story.order).await {
            Ok(found) => {
                for (event, known) in found.messages {
                    story.events.push(event);
                    story.known_events.extend(known);
                }
                if let Some(to) = found.cut_off {
                    story.unchecked.push(format!("messages in {family} later than {}: there are many", clock(to)));
                }
            }
            Err(error) => story.unchecked.push(format!("messages in {family}: {error:#}")),
        }
    }
}

#[derive(Default)]
struct Found {
    /// Each with its event, if it has an id.
    messages: Vec<(Event, Option<(String, String)>)>,
    /// How far the reading came, if its time was over before the end.
    cut_off: Option<Timestamp>,
}

async fn read_stream(
    broker: &Broker,
    family: &str,
    subject: &str,
    from: From,
    order: &OrderKey,
) -> anyhow::Result<Found> {
    let name = broker.topology.stream_name(family);
    let acknowledged = acknowledged(broker, family).await?;
    let mut reading = Reading::open_on(&broker.jetstream, &name, subject, from, None).await?;
    let until = Instant::now() + READ_FOR;
    let mut found = Found::default();
    let mut came: HashMap<(String, String), u64> = HashMap::new();
    loop {
        let window = reading.next().await?;
        let Some((_, last)) = window.last() else { return Ok(found) };
        let came_to = received_at(last)?;
        for (sequence, message) in &window {
            let subject = broker.topology.contracted(message.subject.as_str()).unwrap_or(message.subject.as_str());
            let inbound = Inbound { subject, headers: message.headers.as_ref(), payload: &message.payload };
            if let Some(seen) = glance(&inbound).filter(|seen| seen.order == *order) {
                let known = seen.event_id.as_ref().map(|id| (subject.to_owned(), id.to_string()));
                let nth = known.clone().map_or(1, |event| {
                    let times = came.entry(event).or_default();
                    *times += 1;
                    *times
                });
                let arrival = Arrival { sequence: *sequence, nth, pending: *sequence > acknowledged };
                found.messages.push((event(family, subject, &seen, received_at(message)?, &arrival), known));
            }
        }
        if Instant::now() > until {
            found.cut_off = Some(came_to);
            return Ok(found);
        }
    }
}

fn received_at(message: &Message) -> anyhow::Result<Timestamp> {
    let info = message.info().map_err(|error| anyhow::anyhow!(error))?;
    Ok(info.published.truncate_to_microsecond())
}

/// Up to where the stream is acknowledged without a gap.
async fn acknowledged(broker: &Broker, family: &str) -> anyhow::Result<u64> {
    let Some(consumer) = broker.topology.consumer_of(family) else { return Ok(0) };
    let (durable, stream) = (consumer.durable.as_str(), consumer.stream.as_str());
    let durable: PullConsumer =
        broker.jetstream.get_consumer_from_stream(durable, stream).await.context(consumer.durable.clone())?;
    Ok(durable.cached_info().ack_floor.stream_sequence)
}

/// How a message stands in its stream.
struct Arrival {
    sequence: u64,
    /// Which of the messages of its event it is, the first being 1: what is published again comes again.
    nth: u64,
    pending: bool,
}

fn event(family: &str, subject: &str, seen: &Glance, at: Timestamp, arrival: &Arrival) -> Event {
    let Arrival { sequence, nth, pending } = *arrival;
    let id = seen.event_id.as_ref().map_or_else(|| "without an event id".to_owned(), |id| format!("event {id}"));
    let pending_says = if pending { "; not everything up to it is acknowledged yet" } else { "" };
    let again = if nth > 1 { format!(", message {nth} of this event") } else { String::new() };
    let says = format!("{subject}, {id}: {family} {sequence}{again}{pending_says}");
    let fields = json!({
        "stream": family, "sequence": sequence, "subject": subject, "event_id": seen.event_id.as_ref().map(ToString::to_string),
        "message_of_event": nth, "acknowledged": !pending,
    });
    Event::new(at, Source::Message, says, fields)
}
