//! The marketplaces of the story: simulated ones, looked at from outside as people do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use reqwest::{Client, Url};
use serde::Deserialize;
use sqlx::{Connection as _, PgConnection};
use tokio::time::{Instant, sleep};

use super::super::Stop;
use super::stage::{GREEN, paint};
use crate::config::{ChannelKind, ChannelSettings, Settings};
use crate::dev::marketplace::Picture;
use crate::domain::{Channel, Qty};
use crate::explain::{self, ChannelFacts, PointStory, Why};
use crate::export::max_qty;
use crate::import::{BadRows, mappings, warehouses};
use crate::publish::install_cryptography;
use crate::store::channel_switch;
use crate::store::channels::ask_to_reconcile;
use crate::store::point_story::Point;

/// How long a marketplace may take to show what it should. Ozon takes a change of a point a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long one look at the page may take.
const ONE_LOOK: Duration = Duration::from_secs(5);
/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(100);
/// Where the grinder lies.
const WAREHOUSE: &str = "main";

/// A marketplace as the story knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stall {
    /// The channel `ozon`.
    Ozon,
    /// The channel `wildberries`.
    Wildberries,
}

/// Both marketplaces.
pub struct Fair {
    client: Client,
    channels: BTreeMap<String, ChannelSettings>,
}

/// The page of a simulator.
#[derive(Deserialize)]
struct Page {
    simulated: bool,
    shown: Picture,
}

impl Stall {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ozon, Self::Wildberries];

    fn name(self) -> &'static str {
        match self {
            Self::Ozon => "ozon",
            Self::Wildberries => "wildberries",
        }
    }

    fn kind(self) -> ChannelKind {
        match self {
            Self::Ozon => ChannelKind::Ozon,
            Self::Wildberries => ChannelKind::Wildberries,
        }
    }

    /// What it calls the warehouse.
    fn warehouse(self) -> &'static str {
        match self {
            Self::Ozon => "22142605386000",
            Self::Wildberries => "1234567",
        }
    }

    /// What it calls the grinder of that model, four digits.
    fn item(self, model: &str) -> String {
        match self {
            Self::Ozon => format!("grinder-{model}"),
            Self::Wildberries => format!("6000{model}"),
        }
    }
}

impl Fair {
    /// The marketplaces of the settings.
    ///
    /// # Errors
    /// Misuse: they are not there, or are real ones, which the story must not touch.
    pub fn of(settings: &Settings) -> Result<Self, Stop> {
        for stall in Stall::ALL {
            let there = settings.channels.get(stall.name()).filter(|channel| channel.kind == stall.kind());
            if there.is_none_or(|channel| channel.base_url.is_none()) {
                let name = stall.name();
                return Err(Stop::Misuse(anyhow!("the story wants the channel {name} as `lastunit dev` simulates it")));
            }
        }
        install_cryptography();
        let client =
            Client::builder().no_proxy().timeout(ONE_LOOK).build().map_err(|error| Stop::Failed(error.into()))?;
        Ok(Self { client, channels: settings.channels.clone() })
    }

    /// Says what both call the grinder and its warehouse, as `lastunit import` does.
    pub async fn map(&self, database: &mut PgConnection, sku: &str, model: &str) -> Result<()> {
        let mut places = warehouses::COLUMNS.join(",");
        let mut names = mappings::COLUMNS.join(",");
        for stall in Stall::ALL {
            let (channel, warehouse, item) = (stall.name(), stall.warehouse(), stall.item(model));
            write!(places, "\n{WAREHOUSE},{channel},{warehouse},,")?;
            write!(names, "\n{sku},{channel},{item}")?;
            say(stall, format_args!("calls it {item}, and the warehouse {warehouse}"));
        }
        // Before they are mapped: what is asked below must only ever be asked of simulated ones.
        for stall in Stall::ALL {
            self.look(stall).await?;
        }
        let mut transaction = database.begin().await?;
        let places = warehouses::take(&mut transaction, &warehouses::read(places.as_bytes())?, BadRows::Refuse).await?;
        ensure!(places.bad.is_empty(), "the map of warehouses was refused: {:?}", places.bad);
        let names = mappings::read(names.as_bytes(), &self.channels)?;
        let names = mappings::take(&mut transaction, &names, BadRows::Refuse).await?;
        ensure!(names.bad.is_empty(), "the map of items was refused: {:?}", names.bad);
        Ok(transaction.commit().await?)
    }

    /// Waits until it shows so many of the grinder, and says so.
    pub async fn shows(&self, stall: Stall, model: &str, expected: Qty) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let shown = self.look(stall).await?;
            let here = shown.get(&stall.kind()).and_then(|of_it| of_it.get(stall.warehouse()));
            let qty = here.and_then(|here| here.get(&stall.item(model))).copied();
            if qty == Some(expected) {
                say(stall, format_args!("shows {expected}"));
                return Ok(());
            }
            if Instant::now() >= until {
                bail!("{} shows {qty:?} instead of {expected} after {PATIENCE:?}", stall.name());
            }
            sleep(EVERY).await;
        }
    }

    /// Somebody sets by hand what it shows.
    pub async fn set(&self, stall: Stall, model: &str, qty: Qty) -> Result<()> {
        let (kind, warehouse, item) = (stall.name(), stall.warehouse(), stall.item(model));
        let mut url = self.url(stall, "hand")?;
        url.query_pairs_mut().extend_pairs([("kind", kind), ("warehouse", warehouse), ("item", &item)]);
        url.query_pairs_mut().append_pair("qty", &qty.to_string());
        let answer = self.client.post(url).send().await.context("a hand in the cabinet")?;
        ensure!(answer.status().is_success(), "the cabinet answered {}", answer.status());
        say(stall, format_args!("shows {qty}, set by hand"));
        Ok(())
    }

    /// Sends it nothing more, as `lastunit publisher pause` does.
    pub async fn pause(&self, database: &mut PgConnection, stall: Stall) -> Result<()> {
        channel_switch::pause(database, stall.name(), self.facts(stall)?.safety_stock).await?;
        say(stall, "is told nothing more: lastunit publisher pause");
        Ok(())
    }

    /// Goes on, as `lastunit publisher resume` does.
    pub async fn resume(&self, database: &mut PgConnection, stall: Stall) -> Result<()> {
        channel_switch::resume(database, stall.name(), self.facts(stall)?.safety_stock).await?;
        say(stall, "is told what changes again: lastunit publisher resume");
        Ok(())
    }

    /// Asks for all that it shows to be compared now, and not when the schedule has it.
    pub async fn compare(&self, database: &mut PgConnection, stall: Stall) -> Result<()> {
        let asked = ask_to_reconcile(database, &Channel::new(stall.name())?).await?;
        asked.map(drop).with_context(|| format!("nobody publishes to {}", stall.name()))
    }

    /// Waits until what is known of the grinder there is as `is` has it, and returns that.
    pub async fn known(
        &self,
        database: &mut PgConnection,
        stall: Stall,
        sku: &str,
        is: impl Fn(&PointStory) -> bool,
    ) -> Result<PointStory> {
        let point = Point { sku, channel: stall.name(), warehouse: WAREHOUSE };
        let until = Instant::now() + PATIENCE;
        loop {
            let story = explain::point(database, point, Some(self.facts(stall)?)).await?;
            if is(&story) {
                return Ok(story);
            }
            if Instant::now() >= until {
                bail!("not as it should be after {PATIENCE:?}: {}", story.text());
            }
            sleep(EVERY).await;
        }
    }

    /// What the settings say of it.
    fn facts(&self, stall: Stall) -> Result<ChannelFacts> {
        let channel = self.channels.get(stall.name()).context("the channel is gone")?;
        Ok(ChannelFacts { safety_stock: channel.safety_stock.into(), max_qty: max_qty(channel.kind) })
    }

    async fn look(&self, stall: Stall) -> Result<Picture> {
        let looked = self.client.get(self.url(stall, "")?).send().await?.error_for_status()?;
        let page: Page =
            looked.json().await.with_context(|| format!("{} is no simulated marketplace", stall.name()))?;
        ensure!(page.simulated, "{} is no simulated marketplace", stall.name());
        Ok(page.shown)
    }

    fn url(&self, stall: Stall, path: &str) -> Result<Url> {
        let base = self.channels.get(stall.name()).and_then(|channel| channel.base_url.as_deref());
        let base: Url = base.context("the channel is gone")?.parse()?;
        Ok(base.join(path)?)
    }
}

/// Whether it shows what it should.
pub fn is_right(story: &PointStory) -> bool {
    *story.why() == Why::NothingDiffers
}

fn say(stall: Stall, what: impl std::fmt::Display) {
    println!("   {} {what}", paint(GREEN, format!("◆ {:<31}", stall.name())));
}
