//! Questions over NATS: a service of the micro protocol, which `nats micro ls` finds. Every copy answers, as one queue group.
//!
//! It has connections of its own, few, and answers few questions at once: however many are asked, orders are decided as if nobody asked.

use std::time::Duration;

use async_nats::service::ServiceExt as _;
use async_nats::service::endpoint::Endpoint;
use async_nats::{HeaderMap, service};
use futures::StreamExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Condition, Readiness};
use crate::config::Database;
use crate::domain::{Channel, OrderKey, OrderRef, Sku, Warehouse};
use crate::messages::{self, WireTime};
use crate::store::query::{self, OrderPart, StockRow};
use crate::store::{self, Pool, StoreError};
use crate::topology::Topology;

/// The service's name, and its queue group.
const NAME: &str = "lastunit";
/// Connections that questions share.
const CONNECTIONS: u32 = 2;
/// Questions of one kind that are worked on at once. Those beyond wait.
const AT_ONCE: usize = 4;
/// What the program's readiness calls it.
pub const CONDITION: &str = "queries";
/// How long a question may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// How long to wait before the service is begun again.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest question that is read, in bytes.
const LONGEST: usize = 4 * 1024;

/// What answers.
#[derive(Clone)]
pub struct Query {
    client: async_nats::Client,
    subjects: [String; 2],
    /// A question to the broker that this program may ask whatever else it may.
    probe: String,
    reply_prefixes: Vec<String>,
    pool: Pool,
}

/// Why there is no answer.
struct Fault {
    code: &'static str,
    message: String,
}

impl Fault {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The number that clients of the protocol expect beside the word, after HTTP's.
    fn status(&self) -> u16 {
        match self.code {
            "not_found" | "unknown_sku" => 404,
            "unavailable" => 503,
            _ => 400,
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        tracing::warn!(error = %error, "a question was not answered");
        Self::new("unavailable", "the database does not answer")
    }
}

impl Query {
    /// The subjects bear the streams' prefix, as all others do; the name does not. Answers go only to subjects that begin with one of the
    /// prefixes: the program may publish where who asks may not.
    ///
    /// # Errors
    /// An address of the database that cannot be understood.
    pub fn new(
        client: async_nats::Client,
        topology: &Topology,
        database: &Database,
        reply_prefixes: Vec<String>,
    ) -> Result<Self, sqlx::Error> {
        let database = Database { max_connections: CONNECTIONS, ..database.clone() };
        let subjects = ["order", "stock"].map(|about| topology.published(&format!("lastunit.query.{about}")));
        let probe = format!("$JS.API.STREAM.INFO.{}", topology.stream_name("RESERVATIONS"));
        Ok(Self { client, subjects, probe, reply_prefixes, pool: store::connect(&database)? })
    }

    async fn order(&self, question: &[u8]) -> Result<Value, Fault> {
        let question: OrderQuestion = read(question)?;
        let channel = Channel::new(&question.channel).map_err(|fault| invalid("channel", &fault))?;
        let order_ref = OrderRef::new(&question.order_ref).map_err(|fault| invalid("order_ref", &fault))?;
        let order = OrderKey { channel, order_ref };
        let mut connection = self.pool.acquire().await.map_err(StoreError::from)?;
        let parts = query::order(&mut connection, &order).await?;
        let Some(first) = parts.first() else {
            let OrderKey { channel, order_ref } = &order;
            return Err(Fault::new("not_found", format!("no order {order_ref} of channel {channel} is known")));
        };
        Ok(order_state(&order, first, &parts))
    }

    async fn stock(&self, question: &[u8]) -> Result<Value, Fault> {
        let question: StockQuestion = read(question)?;
        let sku = Sku::new(&question.sku).map_err(|fault| invalid("sku", &fault))?;
        let warehouse =
            question.warehouse.map(|text| Warehouse::new(&text).map_err(|fault| invalid("warehouse", &fault)));
        let warehouse = warehouse.transpose()?;
        let mut connection = self.pool.acquire().await.map_err(StoreError::from)?;
        let rows = query::stock(&mut connection, sku.as_str(), warehouse.as_ref().map(Warehouse::as_str)).await?;
        match (rows.is_empty(), &warehouse) {
            (true, None) => Err(Fault::new("unknown_sku", format!("sku {sku} has no stock row in any warehouse"))),
            (true, Some(warehouse)) => {
                Err(Fault::new("not_found", format!("sku {sku} has no stock row in warehouse {warehouse}")))
            }
            (false, _) => Ok(json!({ "sku": sku.as_str(), "rows": rows.iter().map(stock_row).collect::<Vec<_>>() })),
        }
    }

    async fn answer(&self, about: About, request: service::Request) {
        let wanted =
            request.message.reply.as_ref().is_some_and(|to| messages::judge_reply_to(to, &self.reply_prefixes));
        if !wanted {
            metrics::counter!(super::metrics::REPLIES_IGNORED).increment(1);
            return;
        }
        let question = &request.message.payload;
        let asked = async {
            match about {
                About::Order => self.order(question).await,
                About::Stock => self.stock(question).await,
            }
        };
        let late = |_| Err(Fault::new("unavailable", "the database does not answer in time"));
        let sent = match tokio::time::timeout(ANSWER_WITHIN, asked).await.unwrap_or_else(late) {
            Ok(state) => request.respond(Ok(state.to_string().into())).await,
            Err(fault) => self.refuse(&request, &fault).await,
        };
        if let Err(error) = sent {
            tracing::warn!(error = %error, "an answer was not sent");
        }
    }

    /// The protocol has an error in headers; the contract has it in the body too.
    async fn refuse(&self, request: &service::Request, fault: &Fault) -> Result<(), async_nats::PublishError> {
        let Some(reply) = request.message.reply.clone() else { return Ok(()) };
        let mut headers = HeaderMap::new();
        headers.insert(service::NATS_SERVICE_ERROR, fault.code);
        headers.insert(service::NATS_SERVICE_ERROR_CODE, fault.status().to_string());
        let body = json!({ "error": { "code": fault.code, "message": fault.message } });
        self.client.publish_with_headers(reply, headers, body.to_string().into()).await
    }

    async fn serve(&self, about: About, endpoint: Endpoint) {
        endpoint.for_each_concurrent(AT_ONCE, |request| self.answer(about, request)).await;
    }

    /// Answers until `stop`, or until the service's subscriptions end. Says in `readiness` from when on questions are answered.
    async fn serve_all(&self, readiness: &Readiness, stop: &CancellationToken) -> Result<(), async_nats::Error> {
        let builder =
            self.client.service_builder().description("what stands there now: orders and stock").queue_group(NAME);
        let service = builder.start(NAME, env!("CARGO_PKG_VERSION")).await?;
        let [order, stock] = &self.subjects;
        let order = service.endpoint_builder().name("order").add(order.clone()).await?;
        let stock = service.endpoint_builder().name("stock").add(stock.clone()).await?;
        // The broker takes what a connection says in order: once it answers this, it has heard of the subscriptions.
        let heard = async {
            self.client.request(self.probe.clone(), "".into()).await?;
            readiness.set(CONDITION, Condition::Ready);
            // From here on it is one of the others that ends this.
            std::future::pending::<Result<(), async_nats::RequestError>>().await
        };
        let ended = tokio::select! {
            _ = futures::future::join(self.serve(About::Order, order), self.serve(About::Stock, stock)) => Ok(()),
            not_heard = heard => not_heard.map_err(Into::into),
            () = stop.cancelled() => Ok(()),
        };
        service.stop().await.and(ended)
    }
}

#[derive(Debug, Clone, Copy)]
enum About {
    Order,
    Stock,
}

/// Answers until `stop`, and keeps `readiness` from saying that the program is ready while nobody is subscribed to the questions.
pub async fn run(query: Query, readiness: Readiness, stop: CancellationToken) {
    loop {
        let ended = query.serve_all(&readiness, &stop).await;
        if stop.is_cancelled() {
            break;
        }
        tracing::warn!(ended = ?ended.err(), "questions are not answered; the service is begun again");
        readiness.set(CONDITION, Condition::not("questions over NATS are not answered"));
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = stop.cancelled() => break,
        }
    }
    query.pool.close().await;
}

#[derive(Deserialize)]
struct OrderQuestion {
    channel: String,
    order_ref: String,
}

#[derive(Deserialize)]
struct StockQuestion {
    sku: String,
    warehouse: Option<String>,
}

fn read<Q: DeserializeOwned>(question: &[u8]) -> Result<Q, Fault> {
    if question.len() > LONGEST {
        return Err(Fault::new("too_large", format!("a question has at most {LONGEST} bytes")));
    }
    serde_json::from_slice(question).map_err(|error| {
        Fault::new(if error.is_data() { "invalid_field" } else { "malformed_json" }, error.to_string())
    })
}

fn invalid(field: &str, fault: &impl std::fmt::Display) -> Fault {
    Fault::new("invalid_field", format!("{field} {fault}"))
}

fn order_state(order: &OrderKey, row: &OrderPart, parts: &[OrderPart]) -> Value {
    let mut state = json!({
        "channel": order.channel.as_str(), "order_ref": order.order_ref.as_str(), "state": row.state,
        "payment": row.payment_mode, "lines": parts.iter().filter_map(line).collect::<Vec<_>>(),
        "created_at": WireTime(row.created_at),
    });
    if let Some(amount) = row.total_amount {
        state["total"] = json!({ "amount": amount, "currency": row.currency });
    }
    if let ("held", Some(end)) = (row.state.as_str(), row.expires_at) {
        state["expires_at"] = json!(WireTime(end));
    }
    if let ("rejected", Some(reason)) = (row.state.as_str(), &row.rejection) {
        state["reason"] = json!(reason);
    }
    state
}

/// A line or a slot as the events have it; none where the order has neither.
fn line(part: &OrderPart) -> Option<Value> {
    if let Some(sku) = &part.sku {
        return Some(json!({
            "sku": sku, "warehouse": part.warehouse, "qty": part.qty, "shipped_qty": part.shipped_qty,
            "returned_qty": part.returned_qty, "state": part.part_state,
        }));
    }
    let resource = part.resource.as_ref()?;
    let (from, to) = (part.begins.map(WireTime), part.ends.map(WireTime));
    Some(json!({ "resource": resource, "from": from, "to": to, "state": part.part_state }))
}

fn stock_row(row: &StockRow) -> Value {
    json!({
        "warehouse": row.warehouse, "version": row.version, "on_hand": row.on_hand, "reserved": row.reserved,
        "available": row.on_hand - row.reserved,
    })
}
