//! Whether orders of a channel are on their way: then more may be sold there than is known here.

use async_nats::jetstream;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::stream::LastRawMessageErrorKind;

use crate::domain::Channel;
use crate::topology::Topology;

/// What takes stock of a channel's order.
const VERBS: [&str; 2] = ["created", "renewed"];

/// Whether the stream has an order of the channel that has not been decided.
///
/// # Errors
/// The broker's own.
pub(super) async fn has_unprocessed(
    jetstream: &jetstream::Context,
    topology: &Topology,
    channel: &Channel,
) -> Result<bool, async_nats::Error> {
    let file = topology.consumer_of("ORDERS").ok_or("no consumer of ORDERS is described")?;
    let stream = jetstream.get_stream(file.stream.as_str()).await?;
    let mut last = 0;
    for verb in VERBS {
        let subject = topology.published(&format!("order.{verb}.{channel}"));
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => last = last.max(message.sequence),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Asked after the stream: what is decided meanwhile is no reason to wait.
    let consumer: PullConsumer = stream.get_consumer(&file.durable).await?;
    let info = consumer.cached_info();
    let all_decided = info.num_pending == 0 && info.num_ack_pending == 0 && info.delivered.stream_sequence >= last;
    Ok(!all_decided && info.ack_floor.stream_sequence < last)
}
