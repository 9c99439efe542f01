//! The Ozon seller API: one push names pairs of product and warehouse, and answers for each.

mod answers;
mod catalogue;
mod stocks;

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::header::HeaderValue;
use reqwest::{StatusCode, Url};
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::adapter::{AdapterError, absent_is_zero, base, below, secret_header, timeout};
use super::limits::{Gate, asked, used_up};
use super::marketplace::{
    Capabilities, Card, Credentials, ExternalWarehouse, Item, Marketplace, Outcome, ReadFault, Reads,
};
use super::outcomes::{all, merged, silent, written};
use super::transport::{Answer, Silence, Transport};
use crate::config::ChannelSettings;
use crate::domain::{Qty, Timestamp};
use answers::{Pair, Push};

const HOST: &str = "https://api-seller.ozon.ru";
/// The most pairs of one push.
const MAX_PAIRS: usize = 100;
/// It must be less than 1,000,000 (`STOCK_TOO_BIG`).
const MAX_QTY: Qty = 999_999;
/// The most items asked for at once: an answer lists each in all its warehouses, 1,000 rows a page.
const MAX_READ: usize = 500;
/// 80 pushes in any minute: 10 at once, and 70 a minute beside.
const PUSHES: (Duration, u32) = (Duration::from_nanos(60_000_000_000 / 70), 10);
/// 50 requests in any second over all methods of a `Client-Id`: 10 at once, and 40 a second beside.
const REQUESTS: (Duration, u32) = (Duration::from_millis(25), 10);
/// A method whose "circle is open" is closed for some minutes.
const CIRCLE_OPEN: Duration = Duration::from_mins(2);

/// How long after a push it is worth looking: it is not documented; a point can be told again after 30 s.
const FIRST_LOOK: Duration = Duration::from_secs(30);

/// A seller's account.
pub(super) struct Ozon {
    transport: Transport,
    base: Url,
    client_id: HeaderValue,
    api_key: HeaderValue,
    absent_is_zero: bool,
    /// Every request of the `Client-Id`.
    requests: Gate,
    /// Pushes.
    pushes: Gate,
    /// Readings of stock.
    stocks: Gate,
    /// All others: rare.
    others: Gate,
}

/// Shows no key.
impl std::fmt::Debug for Ozon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ozon").field("host", &self.base.host_str()).finish_non_exhaustive()
    }
}

impl Ozon {
    /// # Errors
    /// A setting is missing or unfit.
    pub(super) fn new(settings: &ChannelSettings) -> Result<Self, AdapterError> {
        let api_key = settings.api_key.as_ref().ok_or(AdapterError::Lacks("api_key_file"))?;
        let client_id = settings.client_id.as_deref().ok_or(AdapterError::Lacks("client_id"))?;
        let base = base(settings, HOST)?;
        let secrets: Vec<SecretString> = vec![api_key.clone()];
        Ok(Self {
            transport: Transport::new(&base, timeout(settings), secrets)?,
            base,
            client_id: secret_header("client_id", &client_id.into())?,
            api_key: secret_header("api_key_file", api_key)?,
            absent_is_zero: absent_is_zero(settings),
            requests: Gate::new(REQUESTS.0, REQUESTS.1),
            pushes: Gate::new(PUSHES.0, PUSHES.1),
            stocks: Gate::new(REQUESTS.0, REQUESTS.1),
            others: Gate::new(REQUESTS.0, REQUESTS.1),
        })
    }

    /// Asks, the rates of method and seller kept, and hears what the answer says of them.
    async fn ask(&self, method: &Gate, path: &str, body: &impl Serialize) -> Result<Answer, Silence> {
        method.pass().await;
        self.requests.pass().await;
        let (answer, _) = self.ask_now(method, path, body).await?;
        Ok(answer)
    }

    /// Asks for what is read: any answer but 200 is a fault.
    async fn read<T: DeserializeOwned>(
        &self,
        method: &Gate,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ReadFault> {
        let answer = self.ask(method, path, body).await.map_err(|silence| ReadFault::Failed(silence.reason()))?;
        answers::read(&answer)
    }

    fn masked<T>(&self, read: Result<T, ReadFault>) -> Result<T, ReadFault> {
        read.map_err(|fault| self.transport.masked_fault(fault))
    }

    /// Asks without waiting. With the answer, how long the method is to rest after it.
    async fn ask_now(&self, method: &Gate, path: &str, body: &impl Serialize) -> Result<(Answer, Duration), Silence> {
        let request = self.transport.client().post(below(&self.base, path));
        let keys = request.header("Client-Id", self.client_id.clone()).header("Api-Key", self.api_key.clone());
        let answer = self.transport.send(keys.json(body)).await?;
        let pause = self.heed(method, &answer);
        Ok((answer, pause))
    }

    /// The rate is the seller's, whoever asks in their name: a refusal for it stops every method. How long this one is to rest.
    fn heed(&self, method: &Gate, answer: &Answer) -> Duration {
        let rest = if answer.status == StatusCode::TOO_MANY_REQUESTS {
            self.requests.throttled(asked(&answer.headers))
        } else {
            self.requests.answered();
            let pause = used_up(&answer.headers).unwrap_or_default();
            self.requests.pause(pause);
            pause
        };
        if answers::is_circle_open(&answer.body) {
            method.pause(CIRCLE_OPEN);
            return rest.max(CIRCLE_OPEN);
        }
        rest
    }

    /// How long it is at least until a push may be made.
    fn push_paused_for(&self) -> Duration {
        self.requests.paused_for().max(self.pushes.paused_for())
    }

    async fn push_many(&self, items: &[Item]) -> Vec<Outcome> {
        let (pairs, refused) = written(items, answers::pair);
        let answered = if pairs.is_empty() { Vec::new() } else { self.push_pairs(&pairs).await };
        self.transport.masked(merged(refused, answered))
    }

    async fn push_pairs(&self, pairs: &[Pair]) -> Vec<Outcome> {
        let rates = async {
            self.pushes.pass().await;
            self.requests.pass().await;
        };
        // A push is over within a time that its lease is reckoned by.
        if tokio::time::timeout(self.transport.timeout(), rates).await.is_err() {
            let after = self.push_paused_for().max(Duration::from_secs(1));
            return all(pairs.len(), &Outcome::Again { after, reason: "not sent: the rate is used up".to_owned() });
        }
        match self.ask_now(&self.pushes, "/v2/products/stocks", &Push { stocks: pairs }).await {
            Ok((answer, pause)) => answers::outcomes(pairs, &answer, pause),
            Err(silence) => all(pairs.len(), &silent(silence)),
        }
    }
}

impl Marketplace for Ozon {
    fn capabilities(&self) -> Capabilities {
        let reads = Reads { max_batch: MAX_READ, absent_is_zero: self.absent_is_zero, first_look: FIRST_LOOK };
        Capabilities {
            max_batch: MAX_PAIRS,
            one_warehouse_a_call: false,
            max_qty: MAX_QTY,
            at_once: 4,
            reads: Some(reads),
        }
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        async {
            self.pushes.ready().await;
            self.requests.ready().await;
        }
        .boxed()
    }

    fn push<'a>(&'a self, items: &'a [Item], _: Timestamp) -> BoxFuture<'a, Vec<Outcome>> {
        self.push_many(items).boxed()
    }

    fn observe<'a>(
        &'a self,
        external_warehouse_id: &'a str,
        external_ids: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Qty>>, ReadFault>> {
        self.shown(external_warehouse_id, external_ids).map(|read| self.masked(read)).boxed()
    }

    fn cards(&self) -> BoxFuture<'_, Result<Vec<Card>, ReadFault>> {
        self.all_cards().map(|read| self.masked(read)).boxed()
    }

    fn warehouses(&self) -> BoxFuture<'_, Result<Vec<ExternalWarehouse>, ReadFault>> {
        self.all_warehouses().map(|read| self.masked(read)).boxed()
    }

    fn credentials(&self, _now: Timestamp) -> BoxFuture<'_, Result<Credentials, ReadFault>> {
        self.roles().map(|read| self.masked(read)).boxed()
    }
}
