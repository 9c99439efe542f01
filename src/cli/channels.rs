//! Channels, as commands name them.

use anyhow::anyhow;

use super::Stop;
use crate::config::{ChannelSettings, Settings};

/// The settings of a channel that is told stock.
///
/// # Errors
/// Misuse: the settings have no such channel.
pub(super) fn named<'a>(settings: &'a Settings, channel: &str) -> Result<&'a ChannelSettings, Stop> {
    settings.channels.get(channel).ok_or_else(|| {
        let known: Vec<_> = settings.channels.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Stop::Misuse(anyhow!("no channel {channel:?} in the settings, which have {known}"))
    })
}
