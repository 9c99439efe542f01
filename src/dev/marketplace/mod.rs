//! Marketplaces that are not there: Ozon, Wildberries and a webhook's receiver on a loopback port, with state, keys, rates and faults.
//!
//! They answer as the real ones are documented to, or have been seen to. What is told is applied at once unless a [`Fault`] says otherwise.

mod fault;
mod key;
mod ozon;
mod page;
mod rates;
mod webhook;
mod wildberries;
mod wire;
mod world;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use fault::Fault;
pub use page::Picture;
pub use world::Address;

use crate::config::{ChannelKind, ChannelSettings};
use crate::domain::Qty;
use world::World;

/// How the simulator deviates from real time.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Least time between two changes of one pair on Ozon; 30 s on the real one.
    pub ozon_interval: Duration,
    /// Whether rates are kept as the real ones keep them: 80 pushes a minute on Ozon, 300 calls on Wildberries.
    pub has_rates: bool,
}

impl Default for Pace {
    /// That of the real ones.
    fn default() -> Self {
        Self { ozon_interval: Duration::from_secs(30), has_rates: true }
    }
}

/// All three on one port; gone when dropped.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    world: Arc<World>,
    _stop: DropGuard,
}

impl Simulator {
    /// Takes a free loopback port and answers there.
    ///
    /// # Errors
    /// There is none.
    pub async fn start(pace: Pace) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("the simulator of marketplaces")?;
        let address = listener.local_addr()?;
        let world = Arc::new(World::new(pace));
        let marketplaces = Router::new().merge(ozon::routes()).merge(wildberries::routes()).merge(webhook::routes());
        let router = marketplaces.merge(page::routes()).with_state(world.clone());
        let stop = CancellationToken::new();
        let served = stop.clone();
        tokio::spawn(async move {
            let serving = axum::serve(listener, router);
            // It ends with this value, at once: nobody waits for its answers then.
            served.run_until_cancelled_owned(async { serving.await }).await
        });
        Ok(Self { address, world, _stop: stop.drop_guard() })
    }

    /// `http://127.0.0.1:…`: the `base_url` of the marketplaces.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Settings with which a channel of that kind speaks to it.
    pub fn settings(&self, kind: ChannelKind) -> ChannelSettings {
        let mut settings = ChannelSettings::of(kind);
        settings.base_url = Some(self.url());
        match kind {
            ChannelKind::Ozon => {
                settings.client_id = Some(key::CLIENT_ID.to_owned());
                settings.api_key = Some(key::API_KEY.into());
            }
            ChannelKind::Wildberries => settings.token = Some(key::TOKEN.into()),
            ChannelKind::Webhook => {
                settings.base_url = Some(format!("{}/webhook", self.url()));
                settings.observe_url = Some(format!("{}/webhook/shown", self.url()));
                settings.secret = Some(key::SECRET.into());
            }
        }
        settings
    }

    /// A warehouse of the seller, in which every item of theirs may be shown.
    pub fn add_warehouse(&self, kind: ChannelKind, id: &str) {
        self.world.lock().add_warehouse(kind, id);
    }

    /// An item of the seller: Ozon's `offer_id`, Wildberries' chrtId. `code` is the seller's own name of it.
    pub fn add_item(&self, kind: ChannelKind, id: &str, code: &str) {
        self.world.lock().add_item(kind, id, code);
    }

    /// Whether it takes every item and warehouse that it is told of for the seller's; the seller's name of such an item is its own.
    pub fn know_all(&self, know: bool) {
        self.world.lock().knows_all = know;
    }

    /// All that is shown.
    pub fn picture(&self) -> Picture {
        self.world.lock().picture()
    }

    /// Shows all that.
    pub fn show(&self, picture: &Picture) {
        let mut world = self.world.lock();
        for (kind, warehouses) in picture {
            for (warehouse, items) in warehouses {
                for (item, qty) in items {
                    world.set(&Address::new(*kind, warehouse, item), *qty);
                }
            }
        }
    }

    /// What is shown there; none where nothing ever was told or set.
    pub fn shown(&self, address: &Address) -> Option<Qty> {
        self.world.lock().shown(address)
    }

    /// Everything that was ever applied there by a push, in that order.
    pub fn told(&self, address: &Address) -> Vec<Qty> {
        self.world.lock().told(address)
    }

    /// Somebody sets it by hand in the cabinet.
    pub fn set(&self, address: &Address, qty: Qty) {
        self.world.lock().set(address, qty);
    }

    /// Somebody buys there: as many as there are, at most `qty`. How many they got.
    pub fn sell(&self, address: &Address, qty: Qty) -> Qty {
        self.world.lock().sell(address, qty)
    }

    /// How many times a push came for an address while another of the same address was under way.
    pub fn overlaps(&self) -> usize {
        self.world.lock().overlaps
    }

    /// How many pushes came, whatever became of them.
    pub fn pushes(&self, kind: ChannelKind) -> usize {
        self.world.lock().pushes(kind)
    }

    /// The next push of that kind that no earlier fault takes meets with it. Called again, the one after it.
    pub fn arm(&self, kind: ChannelKind, fault: Fault) {
        self.world.lock().arm(kind, fault);
    }

    /// The next so many pushes that name the address meet with it.
    pub fn arm_item(&self, address: &Address, fault: Fault, times: usize) {
        self.world.lock().arm_item(address, fault, times);
    }

    /// The next reading of that kind meets with it: [`Fault::Status`], [`Fault::Throttled`], [`Fault::HalfBody`], [`Fault::Cut`],
    /// [`Fault::Drip`], [`Fault::Slow`].
    pub fn arm_read(&self, kind: ChannelKind, fault: Fault) {
        self.world.lock().arm_read(kind, fault);
    }

    /// Whether readings leave out what shows 0.
    pub fn hide_zeros(&self, hide: bool) {
        self.world.lock().hides_zeros = hide;
    }

    /// Takes back every fault that has not been met with.
    pub fn disarm(&self) {
        self.world.lock().disarm();
    }

    /// Whether there are faults that no push has met with.
    pub fn is_armed(&self) -> bool {
        self.world.lock().is_armed()
    }

    /// The `webhook-id` of every push to the receiver, in the order in which they came.
    pub fn webhook_ids(&self) -> Vec<String> {
        self.world.lock().webhook_ids.clone()
    }
}
