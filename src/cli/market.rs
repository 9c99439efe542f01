//! `lastunit publisher check CHANNEL`, `lastunit publisher pull-map CHANNEL`: what is asked of the marketplace itself.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::json;

use super::export::unwritten;
use super::publisher::Named;
use super::{Exit, Stop, channels, database, print};
use crate::config::Settings;
use crate::domain::Sku;
use crate::export::Whole;
use crate::import::mappings;
use crate::publish::{self, Maps, Marketplace, Proposal, candidates, propose};
use crate::store::{Pool, StoreError, channel_maps, clock, known};

/// Of which channel, and where to.
#[derive(Debug, Args)]
pub struct PullMap {
    /// The channel, which must stand in the settings.
    #[arg(value_name = "CHANNEL")]
    channel: String,
    /// The file, written whole or not at all; without it, standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What the channel is spoken to through.
///
/// # Errors
/// Misuse: the settings have no such channel, or lack something.
fn adapter(name: &str, settings: &Settings) -> Result<Box<dyn Marketplace>, Stop> {
    let channel = channels::named(settings, name)?;
    publish::adapter(name, channel).map_err(|error| Stop::Misuse(anyhow!("channels.{name}: {error}")))
}

/// Ends with 1 where something does not fit.
pub async fn check(asks: &Named, settings: &Settings) -> Result<Exit, Stop> {
    let market = adapter(&asks.channel, settings)?;
    let pool = database::open(&settings.database).await?;
    let asked = async {
        let mut connection = pool.acquire().await?;
        let items = channel_maps::items(&mut connection, &asks.channel).await?;
        let warehouses = channel_maps::warehouses(&mut connection, &asks.channel).await?;
        Ok((Maps { items, warehouses }, clock::now(&mut connection).await?))
    };
    let (maps, now) = asked.await.map_err(database::stop)?;
    let findings = crate::publish::check(market.as_ref(), &maps, now).await;
    if asks.json {
        print::document(&json!({
            "channel": asks.channel, "items": maps.items.len(), "warehouses": maps.warehouses.len(), "findings": findings,
        }))?;
    } else {
        for finding in &findings {
            print::line(finding)?;
        }
        let (items, warehouses) = (maps.items.len(), maps.warehouses.len());
        print::line(format!("{items} items, {warehouses} warehouses, {} findings", findings.len()))?;
    }
    Ok(if findings.is_empty() { Exit::Fine } else { Exit::Found })
}

/// Ends with 1 where nothing can be proposed.
pub async fn pull_map(asks: &PullMap, settings: &Settings) -> Result<Exit, Stop> {
    let market = adapter(&asks.channel, settings)?;
    let pool = database::open(&settings.database).await?;
    let cards = market.cards().await.map_err(|fault| Stop::Failed(anyhow!(fault).context(asks.channel.clone())))?;
    let proposal = propose(&cards, &known(&pool, &candidates(&cards)).await.map_err(database::stop)?);
    asks.write(&proposal)?;
    note(&proposal);
    Ok(if proposal.rows.is_empty() { Exit::Found } else { Exit::Fine })
}

async fn known(pool: &Pool, candidates: &BTreeSet<Sku>) -> Result<BTreeSet<Sku>, StoreError> {
    let mut connection = pool.acquire().await?;
    Ok(known::skus(&mut connection, candidates).await?.into_iter().collect())
}

/// What the proposal leaves out is said beside it, so that the file can be handed on as it is.
fn note(proposal: &Proposal) {
    if proposal.unknown > 0 {
        print::note(format!("{} cards whose seller's code is no SKU known here", proposal.unknown));
    }
    for sku in &proposal.ambiguous {
        print::note(format!("{sku} stands on several cards: which one is meant?"));
    }
}

impl PullMap {
    fn write(&self, proposal: &Proposal) -> Result<(), Stop> {
        let Some(path) = &self.out else {
            let mut bytes = Vec::new();
            self.rows(proposal, &mut bytes).map_err(|error| Stop::Failed(error.into()))?;
            return Ok(print::bytes(&bytes)?);
        };
        let mut whole = Whole::begin(path).with_context(|| path.display().to_string()).map_err(Stop::Misuse)?;
        self.rows(proposal, whole.writer()).map_err(|error| unwritten(error, path))?;
        whole.finish().map_err(|error| unwritten(error, path))?;
        Ok(print::line(format!("{}: {} rows", path.display(), proposal.rows.len()))?)
    }

    /// As `import mappings` takes them.
    fn rows(&self, proposal: &Proposal, out: impl io::Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(mappings::COLUMNS)?;
        for (sku, external_id) in &proposal.rows {
            writer.write_record([sku.as_str(), &self.channel, external_id])?;
        }
        writer.flush()
    }
}
