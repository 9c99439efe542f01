//! `lastunit run`.

use super::{Exit, Stop};
use crate::config::Settings;
use crate::shutdown::Shutdown;
use crate::{service, telemetry};

pub async fn run(settings: Settings) -> Result<Exit, Stop> {
    telemetry::init(&settings.log)?;
    let metrics = telemetry::metrics()?;
    let shutdown = Shutdown::on_signals().map_err(|error| Stop::Failed(error.into()))?;
    service::run(settings, shutdown, metrics, |_| {}).await?;
    Ok(Exit::Fine)
}
