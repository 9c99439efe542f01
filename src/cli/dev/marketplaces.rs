//! Ozon and Wildberries as `dev` has them: simulated, and kept from one run to the next like all of its data.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use secrecy::{ExposeSecret as _, SecretString};

use crate::config::{ChannelKind, ChannelSettings, Settings};
use crate::dev::marketplace::{Pace, Picture, Simulator};
use crate::export::Whole;

/// The channels that `dev` adds, each named by the word of its kind.
const CHANNELS: [(&str, ChannelKind); 2] = [("ozon", ChannelKind::Ozon), ("wildberries", ChannelKind::Wildberries)];
/// Below what the channel keeps between two pushes of a point, so that none of them comes too early.
const OZON_INTERVAL: Duration = Duration::from_millis(500);
/// How long what is shown by hand may stand before somebody who tries it sees it found.
const RECONCILE_EVERY_S: u64 = 30;

/// The simulator and the channels that speak to it.
pub(super) struct Marketplaces {
    simulator: Simulator,
    channels: Vec<(&'static str, ChannelSettings)>,
    kept: PathBuf,
}

impl Marketplaces {
    /// Starts them, with what they showed when they ended in that directory, and adds to the settings the channels that are not there. None where
    /// all are: what somebody has set is meant.
    pub(super) async fn start(settings: &mut Settings, dir: &Path) -> Result<Option<Self>> {
        let absent: Vec<_> = CHANNELS.into_iter().filter(|(name, _)| !settings.channels.contains_key(*name)).collect();
        if absent.is_empty() {
            return Ok(None);
        }
        let simulator = Simulator::start(Pace { ozon_interval: OZON_INTERVAL, ..Pace::default() }).await?;
        simulator.know_all(true);
        let kept = dir.join("marketplaces.json");
        if let Some(picture) = read(&kept).with_context(|| kept.display().to_string())? {
            simulator.show(&picture);
        }
        let channels: Vec<_> = absent.into_iter().map(|(name, kind)| (name, brisk(simulator.settings(kind)))).collect();
        settings.channels.extend(channels.iter().map(|(name, channel)| ((*name).to_owned(), channel.clone())));
        Ok(Some(Self { simulator, channels, kept }))
    }

    /// Where people look at what they show.
    pub(super) fn page(&self) -> String {
        format!("{}/", self.simulator.url())
    }

    /// The channels that speak to them.
    pub(super) fn names(&self) -> String {
        self.channels.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" and ")
    }

    /// With what other commands speak to them too. The keys open nothing else.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        self.channels.iter().flat_map(|(name, channel)| variables(name, channel)).collect()
    }

    /// Keeps what they show.
    pub(super) fn keep(&self) -> Result<()> {
        let kept = || self.kept.display().to_string();
        let mut whole = Whole::begin(&self.kept).with_context(kept)?;
        serde_json::to_writer(whole.writer(), &self.simulator.picture()).with_context(kept)?;
        whole.finish().with_context(kept)
    }
}

/// None where there is nothing yet.
fn read(path: &Path) -> Result<Option<Picture>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// So that somebody who tries it sees things move.
fn brisk(channel: ChannelSettings) -> ChannelSettings {
    let channel = ChannelSettings { reconcile_every_s: RECONCILE_EVERY_S, ..channel };
    match channel.kind {
        ChannelKind::Ozon => ChannelSettings { min_interval_s: 1, grace_s: 2, ..channel },
        ChannelKind::Wildberries | ChannelKind::Webhook => channel,
    }
}

fn variables(name: &str, channel: &ChannelSettings) -> Vec<(String, String)> {
    let secret = |secret: &Option<SecretString>| secret.as_ref().map(|secret| secret.expose_secret().to_owned());
    let values = [
        ("KIND", Some(name.to_owned())),
        ("BASE_URL", channel.base_url.clone()),
        ("CLIENT_ID", channel.client_id.clone()),
        ("API_KEY", secret(&channel.api_key)),
        ("TOKEN", secret(&channel.token)),
    ];
    let prefix = format!("LASTUNIT_CHANNELS__{}", name.to_uppercase());
    values.into_iter().filter_map(|(key, value)| Some((format!("{prefix}__{key}"), value?))).collect()
}
