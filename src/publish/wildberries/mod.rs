//! The Wildberries seller API: one push is of one warehouse, is taken whole or not at all, and says nothing where it is taken.

mod answers;
mod catalogue;
mod stocks;
mod token;

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, StatusCode, Url};
use secrecy::SecretString;
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
use answers::Row;

const MARKETPLACE_HOST: &str = "https://marketplace-api.wildberries.ru";
const CONTENT_HOST: &str = "https://content-api.wildberries.ru";
/// The most items of one push, and of one reading.
const MAX_ITEMS: usize = 1_000;
const MAX_QTY: Qty = 100_000;
/// 300 a minute, 200 ms between two, 20 at once; one of them may be held ready besides.
const STOCKS: (Duration, u32) = (Duration::from_millis(200), 19);
/// 100 a minute, 600 ms between two, 5 at once: the catalogue's.
const CONTENT: (Duration, u32) = (Duration::from_millis(600), 5);
/// A refusal (4XX) counts as 10 calls.
const REFUSAL_WEIGHT: u32 = 10;
/// What was taken shows within seconds.
const FIRST_LOOK: Duration = Duration::from_millis(1_500);

/// A seller's account.
pub(super) struct Wildberries {
    transport: Transport,
    marketplace: Url,
    content: Url,
    token: SecretString,
    authorization: HeaderValue,
    absent_is_zero: bool,
    /// PUT and POST of stocks.
    stocks: Gate,
    /// The list of warehouses.
    warehouses: Gate,
    /// The catalogue.
    cards: Gate,
}

/// Shows no token.
impl std::fmt::Debug for Wildberries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wildberries").field("host", &self.marketplace.host_str()).finish_non_exhaustive()
    }
}

impl Wildberries {
    /// # Errors
    /// A setting is missing or unfit.
    pub(super) fn new(settings: &ChannelSettings) -> Result<Self, AdapterError> {
        let token = settings.token.as_ref().ok_or(AdapterError::Lacks("token_file"))?;
        let marketplace = base(settings, MARKETPLACE_HOST)?;
        Ok(Self {
            transport: Transport::new(&marketplace, timeout(settings), vec![token.clone()])?,
            marketplace,
            content: base(settings, CONTENT_HOST)?,
            // The token as it is, without the word that usually stands before one.
            authorization: secret_header("token_file", token)?,
            token: token.clone(),
            absent_is_zero: absent_is_zero(settings),
            stocks: Gate::new(STOCKS.0, STOCKS.1),
            warehouses: Gate::new(STOCKS.0, STOCKS.1),
            cards: Gate::new(CONTENT.0, CONTENT.1),
        })
    }

    fn stocks_of(&self, method: Method, warehouse: u64) -> RequestBuilder {
        self.transport.client().request(method, below(&self.marketplace, &format!("/api/v3/stocks/{warehouse}")))
    }

    /// Asks, and hears what the answer says of the rate. With it, how long the method is to rest.
    async fn ask(&self, gate: &Gate, request: RequestBuilder) -> Result<(Answer, Duration), Silence> {
        let answer = self.transport.send(request.header(AUTHORIZATION, self.authorization.clone())).await?;
        if answer.status.is_client_error() {
            gate.penalize(REFUSAL_WEIGHT - 1);
        }
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            let pause = gate.throttled(asked(&answer.headers));
            return Ok((answer, pause));
        }
        gate.answered();
        let pause = used_up(&answer.headers).unwrap_or_default();
        gate.pause(pause);
        Ok((answer, pause))
    }

    /// Asks for what is read, the rate kept: any answer but 200 is a fault.
    async fn read<T: DeserializeOwned>(&self, gate: &Gate, request: RequestBuilder) -> Result<T, ReadFault> {
        gate.pass().await;
        let (answer, _) = self.ask(gate, request).await.map_err(|silence| ReadFault::Failed(silence.reason()))?;
        answers::read(&answer)
    }

    fn masked<T>(&self, read: Result<T, ReadFault>) -> Result<T, ReadFault> {
        read.map_err(|fault| self.transport.masked_fault(fault))
    }

    async fn push_many(&self, items: &[Item]) -> Vec<Outcome> {
        let warehouse = items.first().map_or("", |item| &item.external_warehouse_id);
        let (rows, refused) = written(items, |item| answers::row(item, warehouse));
        let answered = match answers::warehouse_id(warehouse) {
            _ if rows.is_empty() => Vec::new(),
            Ok(warehouse) => self.push_rows(warehouse, &rows).await,
            Err(reason) => all(rows.len(), &Outcome::Rejected(reason)),
        };
        self.transport.masked(merged(refused, answered))
    }

    async fn push_rows(&self, warehouse: u64, rows: &[Row]) -> Vec<Outcome> {
        // A push is over within a time that its lease is reckoned by.
        if tokio::time::timeout(self.transport.timeout(), self.stocks.pass()).await.is_err() {
            let after = self.stocks.paused_for().max(Duration::from_secs(1));
            return all(rows.len(), &Outcome::Again { after, reason: "not sent: the rate is used up".to_owned() });
        }
        let request = match answers::body(rows) {
            Ok(body) => self.stocks_of(Method::PUT, warehouse).header(CONTENT_TYPE, "application/json").body(body),
            Err(error) => return all(rows.len(), &Outcome::Rejected(format!("cannot be written: {error}"))),
        };
        match self.ask(&self.stocks, request).await {
            Ok((answer, pause)) => answers::outcomes(rows, &answer, pause),
            Err(silence) => all(rows.len(), &silent(silence)),
        }
    }
}

impl Marketplace for Wildberries {
    fn capabilities(&self) -> Capabilities {
        let reads = Reads { max_batch: MAX_ITEMS, absent_is_zero: self.absent_is_zero, first_look: FIRST_LOOK };
        Capabilities {
            max_batch: MAX_ITEMS,
            one_warehouse_a_call: true,
            max_qty: MAX_QTY,
            at_once: 4,
            reads: Some(reads),
        }
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        self.stocks.ready().boxed()
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

    fn credentials(&self, now: Timestamp) -> BoxFuture<'_, Result<Credentials, ReadFault>> {
        std::future::ready(Ok(token::judge(&self.token, now))).boxed()
    }
}
