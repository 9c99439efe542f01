//! Messages that the broker keeps and our client cannot read.
//!
//! A producer may publish anything as headers, and any bytes as a subject; the broker does not look. The client does: over some of it it loses
//! its connection, and a status it takes for the broker's own word. Such a message never reaches the engine, is delivered again for ever, and
//! hurts whoever it is delivered to, and all that is delivered after it. So what was delivered again is looked at through the broker's
//! interface, where both are only data (U+FFFD stands there for bytes that are no text). What cannot be read becomes a dead letter and is taken
//! out of its stream.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context as _;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::json;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

use super::Desk;
use crate::domain::{Reason, Refusal};
use crate::engine::{Item, Turn, Turnstile, Verdict};
use crate::messages::Message;
use crate::store::Pool;
use crate::topology::ConsumerFile;

/// How often it is asked whether anything was delivered again.
const EVERY: Duration = Duration::from_secs(2);
/// How many messages are asked for at once.
const AT_ONCE: usize = 64;

/// Lays to rest what cannot be read, until `stop`.
pub async fn run(desk: Desk, pool: Pool, stop: CancellationToken) {
    let mut looked: HashMap<&str, u64> = HashMap::new();
    while !stop.is_cancelled() {
        for file in desk.topology.deciding() {
            if let Err(error) = look(&desk, &pool, file, looked.entry(&file.durable).or_default(), &stop).await {
                tracing::warn!(consumer = %file.durable, error = format!("{error:#}"), "what was delivered again cannot be looked at yet");
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

/// Looks at everything that is out and was not `looked` at before, if any of it was delivered again.
async fn look(
    desk: &Desk,
    pool: &Pool,
    file: &ConsumerFile,
    looked: &mut u64,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let consumer: PullConsumer =
        desk.jetstream.get_consumer_from_stream(file.durable.as_str(), file.stream.as_str()).await?;
    let info = consumer.cached_info();
    let last = info.delivered.stream_sequence;
    if last < *looked {
        // The stream was made anew.
        *looked = 0;
    }
    if info.num_redelivered == 0 {
        return Ok(());
    }
    let first = info.ack_floor.stream_sequence.max(*looked) + 1;
    let stored = futures::stream::iter(first..=last).map(|sequence| stored(&desk.jetstream, file, sequence));
    let mut unreadable = stored
        .buffered(AT_ONCE)
        .try_filter_map(|stored| std::future::ready(stored.map_or(Ok(None), |stored| item(desk, file, &stored))));
    let mut found = Vec::new();
    while let Some(item) = unreadable.try_next().await? {
        found.push(item);
    }
    drop(unreadable);
    lay_to_rest(desk, pool, file, found, stop).await?;
    *looked = last;
    Ok(())
}

async fn lay_to_rest(
    desk: &Desk,
    pool: &Pool,
    file: &ConsumerFile,
    found: Vec<(u64, Item)>,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let stream = desk.jetstream.get_stream(&file.stream).await?;
    let (sequences, items): (Vec<u64>, Vec<Item>) = found.into_iter().unzip();
    let mut turn = Turn::Shared { pool, turnstile: &Turnstile::default(), pass: None };
    let settled = desk.engine.settle(&mut turn, items, stop).await?;
    desk.outbox.notify_waiters();
    for (sequence, verdict) in sequences.into_iter().zip(settled.verdicts) {
        anyhow::ensure!(verdict == Verdict::Term, "message {sequence} could not be laid to rest");
        stream.delete_message(sequence).await?;
        tracing::warn!(stream = %file.stream, sequence, "a message that cannot be read was taken out of its stream");
    }
    Ok(())
}

/// A message as the broker's interface tells it.
#[derive(Debug, Deserialize)]
struct Stored {
    subject: String,
    seq: u64,
    #[serde(default)]
    hdrs: String,
    #[serde(default)]
    data: String,
    #[serde(with = "time::serde::rfc3339")]
    time: OffsetDateTime,
}

#[derive(Debug, Deserialize)]
struct Answer {
    message: Stored,
}

/// The message of a sequence; none where it is gone.
async fn stored(js: &jetstream::Context, file: &ConsumerFile, sequence: u64) -> anyhow::Result<Option<Stored>> {
    let request = format!("STREAM.MSG.GET.{}", file.stream);
    match js.request::<_, _, Response<Answer>>(request, &json!({ "seq": sequence })).await? {
        Response::Ok(answer) => Ok(Some(answer.message)),
        Response::Err { error } if error.error_code() == ErrorCode::NO_MESSAGE_FOUND => Ok(None),
        Response::Err { error } => Err(error.into()),
    }
}

/// What is to be laid to rest, if it cannot be read.
fn item(desk: &Desk, file: &ConsumerFile, stored: &Stored) -> anyhow::Result<Option<(u64, Item)>> {
    let block = STANDARD.decode(&stored.hdrs).context("headers")?;
    let (headers, fault) = if block.is_empty() { (HeaderMap::new(), None) } else { read(&block) };
    let is_text = !stored.subject.contains(char::REPLACEMENT_CHARACTER);
    if fault.is_none() && is_text {
        return Ok(None);
    }
    let subject = desk.topology.contracted(&stored.subject).unwrap_or(&stored.subject);
    let message = Message {
        stream: file.family.as_str().into(),
        sequence: i64::try_from(stored.seq)?,
        received_at: stored.time.truncate_to_microsecond(),
        consumer: file.durable.as_str().into(),
        subject: subject.into(),
        headers: (!headers.is_empty()).then_some(headers),
        payload: STANDARD.decode(&stored.data).context("data")?.into(),
    };
    let sequence = stored.seq;
    let item = match fault {
        Some(fault) if is_text => {
            let refusal = Refusal::new(Reason::InvalidField, format!("its headers cannot be read: {fault}"));
            Item { message: Some(message), asked: Err(refusal), replays: None, resolves: None }
        }
        // No name has such a token.
        _ => Item::of_message(message),
    };
    Ok(Some((sequence, item)))
}

/// The headers of a block as the client reads it, as far as they can be read, and the first thing that cannot.
fn read(block: &[u8]) -> (HeaderMap, Option<String>) {
    let text = String::from_utf8_lossy(block);
    let mut fault = std::str::from_utf8(block).err().map(|error| format!("not UTF-8: {error}"));
    let mut headers = HeaderMap::new();
    let mut lines = text.lines().peekable();
    let version = lines.next().unwrap_or_default();
    if version.strip_prefix("NATS/1.0").map(str::trim) != Some("") {
        fault = fault.or(Some(format!("the first line must be NATS/1.0, but is {version:?}")));
    }
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        while let Some(more) = lines.next_if(|next| next.starts_with(char::is_whitespace)) {
            line.push_str(more);
        }
        match header(&line) {
            _ if line.is_empty() => {}
            Some((name, value)) => headers.append(name, value),
            None => fault = fault.or(Some(format!("{line:?} is no header"))),
        }
    }
    (headers, fault)
}

fn header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    Some((name.parse().ok()?, value.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_as_the_client_reads_it() {
        for (block, faulty) in [
            ("NATS/1.0\r\n\r\n", false),
            ("NATS/1.0\r\nA: 1\r\nB:2\r\n\r\n", false),
            ("NATS/1.0\r\nA: 1\r\n 2\r\n\r\n", false),
            ("NATS/1.0\r\nA: ü: x\r\n\r\n", false),
            ("NATS/1.0\r\nA:\r\n\r\n", false),
            ("NATS/1.0\r\nA: 1\r2\r\n\r\n", true),
            ("NATS/1.0\r\nA B\r\n\r\n", true),
            ("NATS/1.0\r\nA B: 1\r\n\r\n", true),
            ("NATS/1.0 100\r\n\r\n", true),
            ("NATS/1.0 404 No Messages\r\n\r\n", true),
            ("NATS/2.0\r\n\r\n", true),
            ("\r\n\r\n", true),
        ] {
            assert_eq!(read(block.as_bytes()).1.is_some(), faulty, "{block:?}");
        }
        assert!(read(b"NATS/1.0\r\nA: \xff\r\n\r\n").1.is_some());
    }

    #[test]
    fn what_can_be_read_is_kept() {
        let (headers, fault) = read(b"NATS/1.0\r\nA: 1\r\nbad\r\nA: 2\r\n\r\n");
        let values: Vec<_> = headers.get_all("A").map(HeaderValue::as_str).collect();
        assert_eq!(values, ["1", "2"]);
        assert_eq!(fault.as_deref(), Some("\"bad\" is no header"));
    }
}
