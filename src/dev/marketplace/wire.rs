//! How an answer is given, and how it goes wrong on the way.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde_json::Value;

use super::Fault;
use super::world::{Flight, World, Write};

/// Between two bytes of an answer that drips.
const DRIP: Duration = Duration::from_millis(50);

/// An answer that may still go wrong.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn json(status: StatusCode, body: &Value) -> Self {
        Self { status, headers: HeaderMap::new(), body: body.to_string() }
    }

    pub(super) fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: String::new() }
    }

    pub(super) fn with(mut self, name: &'static str, value: u64) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from(value));
        self
    }

    pub(super) fn send(self) -> Response {
        (self.status, self.headers, self.body).into_response()
    }
}

/// How a channel says that its rate is exceeded, with that pause in seconds or with none.
pub(super) type Throttled = fn(Option<u64>) -> Reply;

/// Applies what is to be applied and answers, as the fault of the push has it.
pub(super) async fn carry_out(
    world: &Arc<World>,
    mut flight: Flight,
    writes: Vec<Write>,
    reply: Reply,
    throttled: Throttled,
) -> Response {
    match flight.fault.take() {
        Some(Fault::Lie) => return reply.send(),
        Some(Fault::Late(after)) => {
            // A task that panics has not applied it; then nobody is answered as if it had.
            if world.apply_later(writes, after).await.is_err() {
                return cut();
            }
            return reply.send();
        }
        Some(Fault::AcceptedLate(after)) => {
            drop(world.apply_later(writes, after));
            return reply.send();
        }
        Some(Fault::Throttled(pause)) => return throttled(pause).send(),
        Some(Fault::Status(status)) => return with_status(status).send(),
        other => flight.fault = other,
    }
    world.lock().apply(&writes);
    match flight.fault.take() {
        Some(Fault::AppliedThenStatus(status)) => with_status(status).send(),
        Some(fault) => spoil(&fault, reply, Some(flight)).await,
        None => reply.send(),
    }
}

/// A reading's answer, as the fault of the reading has it.
pub(super) async fn read(fault: Option<Fault>, reply: Reply, throttled: Throttled) -> Response {
    match fault {
        None => reply.send(),
        Some(Fault::Throttled(pause)) => throttled(pause).send(),
        Some(Fault::Status(status)) => with_status(status).send(),
        Some(fault) => spoil(&fault, reply, None).await,
    }
}

/// What goes wrong on the way only. The flight is over when the answer is.
async fn spoil(fault: &Fault, reply: Reply, flight: Option<Flight>) -> Response {
    match fault {
        Fault::Slow(after) => {
            tokio::time::sleep(*after).await;
            reply.send()
        }
        Fault::HalfBody => half(&reply),
        Fault::Drip => drip(flight),
        Fault::Cut => cut(),
        _ => reply.send(),
    }
}

fn with_status(status: u16) -> Reply {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Reply { status, headers: HeaderMap::new(), body: "<html>something is broken</html>".to_owned() }
}

/// An answer without a body has no half: then it is one that promises a body.
fn half(reply: &Reply) -> Response {
    let text = if reply.body.is_empty() { r#"{"something":"#.to_owned() } else { reply.body.clone() };
    let end = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let parts = [Ok(Bytes::from(text[..end].to_owned())), Err(broken())];
    (StatusCode::OK, Body::from_stream(stream::iter(parts))).into_response()
}

/// Blanks, before a document that never comes.
fn drip(flight: Option<Flight>) -> Response {
    let drops = stream::unfold(flight, |flight| async {
        tokio::time::sleep(DRIP).await;
        Some((Ok::<_, io::Error>(Bytes::from_static(b" ")), flight))
    });
    (StatusCode::OK, Body::from_stream(drops)).into_response()
}

fn cut() -> Response {
    Body::from_stream(stream::iter([Err::<Bytes, _>(broken())])).into_response()
}

fn broken() -> io::Error {
    io::Error::other("cut off, as was asked for")
}
