//! Messages that cannot even be read: where a subject or a header is no text the client library drops the connection (or the broker's stored
//! words look like the broker's own), and the broker would deliver the message again for ever, and with it whatever came right behind.
//!
//! They are found through the broker's own interface, which tells headers as base64, and laid to rest before a consumer is opened and after
//! every reconnection, well before the broker delivers them again.

use async_nats::HeaderName;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use tokio_util::sync::CancellationToken;

use super::Desk;
use crate::broker::Connection;
use crate::domain::{Reason, Refusal, Timestamp};
use crate::engine::{Item, Turn, Verdict};
use crate::messages::Message;
use crate::store::Pool;
use crate::topology::ConsumerFile;

/// How many messages are looked at side by side.
const SIDE_BY_SIDE: usize = 64;

/// Lays to rest, at every reconnection, what may have broken the connection.
pub async fn run(desk: Desk, file: ConsumerFile, pool: Pool, stop: CancellationToken) {
    let mut connection = desk.connection.clone();
    connection.mark_unchanged();
    while let Some(Ok(())) = stop.run_until_cancelled(connection.changed()).await {
        let is_up = matches!(*connection.borrow_and_update(), Connection::Up(_));
        if is_up && let Err(error) = lay_to_rest(&desk, &file, &mut Turn::Shared(&pool), &stop).await {
            tracing::warn!(consumer = %file.durable, error = format!("{error:#}"), "what cannot be read was not looked for");
        }
    }
    stop.cancelled().await;
}

/// Makes dead letters of what was delivered, is not acknowledged and cannot be read.
pub(super) async fn lay_to_rest(
    desk: &Desk,
    file: &ConsumerFile,
    turn: &mut Turn<'_>,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let consumer: PullConsumer = desk
        .jetstream
        .get_consumer_from_stream(file.durable.as_str(), file.stream.as_str())
        .await
        .map_err(|error| anyhow::anyhow!(error))?;
    let info = consumer.cached_info();
    if info.num_ack_pending == 0 {
        return Ok(());
    }
    let delivered = info.ack_floor.stream_sequence + 1..=info.delivered.stream_sequence;
    let found: Vec<Message> = stream::iter(delivered)
        .map(|sequence| look(desk, file, sequence))
        .buffered(SIDE_BY_SIDE)
        .try_filter_map(|found| std::future::ready(Ok(found)))
        .try_collect()
        .await?;
    if found.is_empty() {
        return Ok(());
    }
    let unread = Refusal::new(Reason::MalformedJson, "its subject or one of its headers is not text that can be read");
    let items = found.iter().map(|message| Item { message: Some(message.clone()), asked: Err(unread.clone()) });
    let settled = desk.engine.settle(turn, items.collect(), stop).await?;
    if settled.told {
        desk.outbox.notify_waiters();
    }
    let client = desk.jetstream.client();
    for (message, verdict) in found.iter().zip(settled.verdicts) {
        if verdict == Verdict::Term {
            // Where the delivery that is acknowledged was lost, only its place in the stream counts.
            let ack = format!("$JS.ACK.{}.{}.1.{}.1.1.0", file.stream, file.durable, message.sequence);
            client.publish(ack, "+TERM".into()).await?;
        }
    }
    Ok(())
}

/// The message at that place of the stream, if it is there and cannot be read.
async fn look(desk: &Desk, file: &ConsumerFile, sequence: u64) -> anyhow::Result<Option<Message>> {
    let request = format!("STREAM.MSG.GET.{}", file.stream);
    let answer: Response<Value> = desk.jetstream.request(request, &json!({ "seq": sequence })).await?;
    let Response::Ok(answer) = answer else { return Ok(None) };
    let text = |field: &str| answer["message"][field].as_str().unwrap_or_default().to_owned();
    let subject = text("subject");
    if is_readable(&subject, &STANDARD.decode(text("hdrs"))?) {
        return Ok(None);
    }
    let contracted = desk.topology.contracted(&subject).unwrap_or(&subject);
    Ok(Some(Message {
        stream: file.family.as_str().into(),
        sequence: i64::try_from(sequence)?,
        received_at: Timestamp::parse(&text("time"), &Rfc3339)?,
        consumer: file.durable.as_str().into(),
        subject: contracted.into(),
        headers: None,
        payload: STANDARD.decode(text("data"))?.into(),
    }))
}

/// Whether the client library can make a message of it. The broker's JSON has U+FFFD for what is no UTF-8.
fn is_readable(subject: &str, headers: &[u8]) -> bool {
    let Ok(headers) = std::str::from_utf8(headers) else { return false };
    let mut lines = headers.lines();
    let is_header = |line: &str| {
        let name = line.split_once(':').map(|(name, _)| name.parse::<HeaderName>());
        !line.contains('\r')
            && (line.trim().is_empty() || line.starts_with(char::is_whitespace) || matches!(name, Some(Ok(_))))
    };
    !subject.contains('\u{fffd}')
        && lines.next().is_none_or(|version| version.trim_end() == "NATS/1.0")
        && lines.all(is_header)
}

#[cfg(test)]
mod tests {
    use super::is_readable;

    #[test]
    fn only_what_the_client_reads_is_readable() {
        let headers = |text: &str| format!("NATS/1.0\r\n{text}\r\n\r\n").into_bytes();
        for good in [headers("A: b"), headers("A:\r\nB-c: é\r\n folded"), Vec::new()] {
            assert!(is_readable("order.created.web", &good), "{good:?}");
        }
        let bad = [
            headers("A: b\rc"),
            headers("no colon"),
            headers("A b: c"),
            b"NATS/1.0 409 Gone\r\n\r\n".to_vec(),
            b"\xff".to_vec(),
        ];
        for bad in bad {
            assert!(!is_readable("order.created.web", &bad), "{bad:?}");
        }
        assert!(!is_readable("order.created.\u{fffd}", &headers("A: b")));
    }
}
