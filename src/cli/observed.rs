//! `lastunit import observed FILE.csv|FILE.xlsx --channel C [--at T]`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use serde_json::json;

use super::moment::{self, Moment};
use super::{Exit, Stop, channels, database, import, print};
use crate::config::{ChannelKind, ChannelSettings, Settings};
use crate::domain::{Timestamp, Verdict};
use crate::import::observed::{self, Asks, Compared, Difference};
use crate::import::{BadRows, Report, in_transaction};
use crate::messages::WireTime;
use crate::store::{Pool, StoreError, clock};

/// What the cabinet shows, and when it did.
#[derive(Debug, Args)]
pub struct Observed {
    /// `external_id,external_warehouse_id,qty`: a CSV file in UTF-8, or the first sheet of an Excel workbook, where other columns may stand too.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The channel, which must stand in the settings.
    #[arg(long, value_name = "CHANNEL")]
    channel: String,
    /// When the cabinet showed it: RFC 3339, or how long ago: 90s, 15m, 2h, 3d. Now, where none is given.
    #[arg(long, value_name = "T", value_parser = moment::parse)]
    at: Option<Moment>,
    /// Take the good rows of a file that has bad ones.
    #[arg(long)]
    skip_bad: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// Ends with 1 where something drifted or a row is bad.
pub async fn run(command: &Observed, settings: &Settings) -> Result<Exit, Stop> {
    let channel = channels::named(settings, &command.channel)?;
    let file = import::read(&command.file).map_err(Stop::Misuse)?;
    let rows = observed::read(&file)
        .map_err(|fault| Stop::Misuse(anyhow!(fault).context(command.file.display().to_string())))?;
    let pool = database::open(&settings.database).await?;
    let taken = async {
        let asks = Asks {
            channel: &command.channel,
            at: command.instant(&pool).await?,
            grace: Duration::from_secs(channel.grace_s),
            reads: can_be_read(channel),
        };
        let compared = observed::compare(&mut *pool.acquire().await?, &rows, asks).await?;
        let bad_rows = if command.skip_bad { BadRows::Skip } else { BadRows::Refuse };
        let take = async |connection: &mut _| observed::take(connection, &compared, asks, bad_rows).await;
        let report = in_transaction(&pool, bad_rows, take).await?;
        Ok((asks.at, compared, report))
    };
    let (at, compared, report) = taken.await.map_err(database::stop)?;
    command.print(at, &compared, &report)?;
    let is_fine = report.bad.is_empty() && compared.count(Verdict::Drift) == 0;
    Ok(if is_fine { Exit::Fine } else { Exit::Found })
}

/// Whether a look at a point can be had.
fn can_be_read(channel: &ChannelSettings) -> bool {
    channel.kind != ChannelKind::Webhook || channel.observe_url.is_some()
}

impl Observed {
    async fn instant(&self, pool: &Pool) -> Result<Timestamp, StoreError> {
        let mut connection = pool.acquire().await?;
        match self.at {
            Some(moment) => moment.instant(&mut connection).await,
            None => clock::now(&mut connection).await,
        }
    }

    fn print(&self, at: Timestamp, compared: &Compared, report: &Report) -> anyhow::Result<()> {
        let [in_sync, lagging, drift] =
            [Verdict::InSync, Verdict::Lagging, Verdict::Drift].map(|verdict| compared.count(verdict));
        if self.json {
            return print::document(&json!({
                "channel": self.channel, "at": WireTime(at), "in_sync": in_sync, "lagging": lagging, "drift": drift,
                "different": compared.different, "taken": report.taken, "unchanged": report.unchanged, "bad": report.bad,
            }));
        }
        for bad in &report.bad {
            print::line(format!("line {}: {}", bad.line, bad.reason))?;
        }
        for different in &compared.different {
            print::line(sentence(different))?;
        }
        let counts = format!("{in_sync} in sync, {lagging} lagging, {drift} drifted, {} bad", report.bad.len());
        if report.bad.is_empty() || self.skip_bad {
            print::line(counts)
        } else {
            print::line(format!("{counts}: nothing taken (--skip-bad takes the others)"))
        }
    }
}

fn sentence(different: &Difference) -> String {
    let Difference { line, sku, warehouse, observed_qty, newest_version, .. } = different;
    let told = match (different.told_qty, different.told_version) {
        (Some(qty), Some(version)) => format!("told {qty} (version {version})"),
        _ => "told nothing by then".to_owned(),
    };
    let verdict = match different.verdict {
        Verdict::Lagging => format!("lagging, version {newest_version} is the newest"),
        other => other.word().to_owned(),
    };
    format!("line {line}: {sku} in {warehouse} shows {observed_qty}, {told}: {verdict}")
}
