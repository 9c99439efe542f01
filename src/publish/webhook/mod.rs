//! An address of one's own that is told by Standard Webhooks.

mod answers;
mod body;

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::header::CONTENT_TYPE;
use reqwest::{StatusCode, Url};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::Value;
use standardwebhooks::{HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook};

use super::adapter::{AdapterError, absent_is_zero, timeout, url};
use super::limits::{Gate, asked};
use super::marketplace::{
    Capabilities, Card, Credentials, ExternalWarehouse, Item, Marketplace, Outcome, ReadFault, Reads,
};
use super::outcomes::{all, silent};
use super::transport::{Answer, Transport};
use crate::config::ChannelSettings;
use crate::domain::{Qty, Timestamp};

/// The most items of one push: a body of some tens of KiB.
const MAX_ITEMS: usize = 100;
/// An answer lists a whole warehouse, whatever is asked for.
const MAX_READ: usize = 1_000;
/// Whatever a shelf may hold.
const MAX_QTY: Qty = 1_000_000_000;
/// Nothing is agreed: 20 a second, so that a receiver on a small machine lives.
const REQUESTS: (Duration, u32) = (Duration::from_millis(50), 20);
/// A receiver that took it has it.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// A receiver.
pub(super) struct Receiver {
    channel: String,
    transport: Transport,
    url: Url,
    webhook: Webhook,
    /// Where it is read, and by what: another host may stand on another side of the proxy.
    observed: Option<(Transport, Url)>,
    absent_is_zero: bool,
    requests: Gate,
}

/// Shows neither the secret nor a URL, which may hold one.
impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").field("channel", &self.channel).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Listed {
    items: Vec<Shown>,
}

#[derive(Deserialize)]
struct Shown {
    external_id: String,
    #[serde(default)]
    qty: Value,
}

impl Receiver {
    /// # Errors
    /// A setting is missing or unfit.
    pub(super) fn new(channel: &str, settings: &ChannelSettings) -> Result<Self, AdapterError> {
        let secret = settings.secret.as_ref().ok_or(AdapterError::Lacks("secret_file"))?;
        let base = url("base_url", settings.base_url.as_deref().ok_or(AdapterError::Lacks("base_url"))?)?;
        let webhook = Webhook::new(secret.expose_secret());
        let transport = |url: &Url| Transport::new(url, timeout(settings), vec![secret.clone()]);
        let observed = settings.observe_url.as_deref().map(|text| url("observe_url", text)).transpose()?;
        Ok(Self {
            channel: channel.to_owned(),
            transport: transport(&base)?,
            url: base,
            webhook: webhook.map_err(|_| AdapterError::Setting("secret_file", "holds no Standard Webhooks secret"))?,
            observed: observed.map(|url| transport(&url).map(|transport| (transport, url))).transpose()?,
            absent_is_zero: absent_is_zero(settings),
            requests: Gate::new(REQUESTS.0, REQUESTS.1),
        })
    }

    async fn push_many(&self, items: &[Item], now: Timestamp) -> Vec<Outcome> {
        // A push is over within a time that its lease is reckoned by.
        if tokio::time::timeout(self.transport.timeout(), self.requests.pass()).await.is_err() {
            let after = self.requests.paused_for().max(Duration::from_secs(1));
            return all(items.len(), &Outcome::Again { after, reason: "not sent: the rate is used up".to_owned() });
        }
        let outcomes = match self.signed(items, now) {
            Ok(request) => match self.transport.send(request).await {
                Ok(answer) => answers::outcomes(items, &answer, self.heed(&answer)),
                Err(silence) => all(items.len(), &silent(silence)),
            },
            Err(reason) => all(items.len(), &Outcome::Rejected(reason)),
        };
        self.transport.masked(outcomes)
    }

    /// The request, its id the same for every attempt of the same batch.
    fn signed(&self, items: &[Item], now: Timestamp) -> Result<reqwest::RequestBuilder, String> {
        let body = body::write(&self.channel, items, now).map_err(|error| format!("cannot be written: {error}"))?;
        let (id, at) = (body::id(&self.channel, items), now.unix_timestamp());
        let signature = self.webhook.sign(&id, at, &body).map_err(|error| format!("cannot be signed: {error}"))?;
        let post = self.transport.client().post(self.url.clone()).header(CONTENT_TYPE, "application/json");
        let post = post.header(HEADER_WEBHOOK_ID, id).header(HEADER_WEBHOOK_TIMESTAMP, at);
        Ok(post.header(HEADER_WEBHOOK_SIGNATURE, signature).body(body))
    }

    /// Hears what the answer says of the rate: how long it is at least until the next push.
    fn heed(&self, answer: &Answer) -> Duration {
        if answers::is_throttled(answer.status) {
            self.requests.throttled(asked(&answer.headers))
        } else {
            self.requests.answered();
            Duration::ZERO
        }
    }

    async fn shown(&self, warehouse: &str, ids: &[String]) -> Result<Vec<Option<Qty>>, ReadFault> {
        let (transport, url) = self.observed.as_ref().ok_or(ReadFault::Unsupported)?;
        self.requests.pass().await;
        let mut url = url.clone();
        url.query_pairs_mut().append_pair("external_warehouse_id", warehouse);
        let sent = transport.send(transport.client().get(url)).await;
        let answer = sent.map_err(|silence| ReadFault::Failed(silence.reason()))?;
        match answer.status {
            StatusCode::OK => taken(&answer, ids),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::GONE => {
                Err(ReadFault::Halted(answer.describe()))
            }
            _ => Err(ReadFault::Failed(answer.describe())),
        }
    }
}

/// # Errors
/// A figure that is asked for is no number of units: nothing of such an answer is believed.
fn taken(answer: &Answer, ids: &[String]) -> Result<Vec<Option<Qty>>, ReadFault> {
    let listed: Listed = answer.json().map_err(ReadFault::Failed)?;
    let mut shown: HashMap<&str, Qty> = HashMap::new();
    for Shown { external_id, qty } in listed.items.iter().filter(|row| ids.contains(&row.external_id)) {
        let units = qty.as_i64().filter(|qty| *qty >= 0);
        let units = units.ok_or_else(|| {
            ReadFault::Failed(format!("{external_id:?} is listed with no number of units: qty {qty}"))
        })?;
        if shown.insert(external_id, units).is_some_and(|there| there != units) {
            return Err(ReadFault::Failed(format!("{external_id:?} is listed with two figures")));
        }
    }
    Ok(ids.iter().map(|id| shown.get(id.as_str()).copied()).collect())
}

impl Marketplace for Receiver {
    fn capabilities(&self) -> Capabilities {
        let reads = Reads { max_batch: MAX_READ, absent_is_zero: self.absent_is_zero, first_look: FIRST_LOOK };
        let reads = self.observed.is_some().then_some(reads);
        Capabilities { max_batch: MAX_ITEMS, one_warehouse_a_call: false, max_qty: MAX_QTY, at_once: 2, reads }
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        self.requests.ready().boxed()
    }

    fn push<'a>(&'a self, items: &'a [Item], now: Timestamp) -> BoxFuture<'a, Vec<Outcome>> {
        self.push_many(items, now).boxed()
    }

    fn observe<'a>(
        &'a self,
        external_warehouse_id: &'a str,
        external_ids: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Qty>>, ReadFault>> {
        let read = self.shown(external_warehouse_id, external_ids);
        read.map(|read| read.map_err(|fault| self.transport.masked_fault(fault))).boxed()
    }

    fn cards(&self) -> BoxFuture<'_, Result<Vec<Card>, ReadFault>> {
        std::future::ready(Err(ReadFault::Unsupported)).boxed()
    }

    fn warehouses(&self) -> BoxFuture<'_, Result<Vec<ExternalWarehouse>, ReadFault>> {
        std::future::ready(Err(ReadFault::Unsupported)).boxed()
    }

    fn credentials(&self, _now: Timestamp) -> BoxFuture<'_, Result<Credentials, ReadFault>> {
        std::future::ready(Err(ReadFault::Unsupported)).boxed()
    }
}
