//! `lastunit recover`.

use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;

use super::moment::{self, Moment};
use super::{Exit, Stop, audit, database, print};
use crate::config::Settings;
use crate::recover::{self, Report, Request, Taken};
use crate::topology::Topology;

/// Put right what can be when the database went back in time, and say what cannot.
#[derive(Debug, Args)]
pub struct Recover {
    /// Deliver again everything received since then (RFC 3339, or how long ago: 90s, 15m, 2h, 3d); else since an hour before the newest thing
    /// that the database knows.
    #[arg(long, value_name = "T", value_parser = moment::parse)]
    since: Option<Moment>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: Recover, settings: &Settings) -> Result<Exit, Stop> {
    let topology = Arc::new(Topology::load(settings.streams.dir.as_deref(), &settings.streams.prefix)?);
    drop(database::open(&settings.database).await?);
    let broker = audit::reach(settings, topology).await.map_err(|why| Stop::Unreachable(anyhow!(why)))?;
    let taken = Taken::take(&settings.database).await.map_err(anyhow::Error::from)?;
    let mut taken = taken.ok_or_else(|| {
        Stop::Failed(anyhow!(
            "a `run` is at work on this database: end every copy, and let none start before this has ended"
        ))
    })?;
    let since = match command.since {
        Some(moment) => Some(moment.instant(taken.session()).await.map_err(database::stop)?),
        None => None,
    };
    let request = Request { since, dry_run: command.dry_run };
    let report = recover::recover(&mut taken, &broker, request).await?;
    if command.json {
        print::document(&report)?;
    } else {
        lines(&report).iter().try_for_each(print::line)?;
    }
    Ok(Exit::Fine)
}

/// The report for a person: what was done, then what cannot be known.
fn lines(report: &Report) -> Vec<String> {
    let Report { rows, answers, since, .. } = report;
    let mut lines = Vec::new();
    if report.dry_run {
        lines.push("nothing is done; this is what would be:".to_owned());
    }
    if let Some(until) = &report.base_knows_until {
        lines.push(format!("the database knows until {until}"));
    }
    for consumer in &report.consumers {
        let recover::Rewound { stream, consumer, delivered_again, .. } = consumer;
        lines.push(format!("{stream}/{consumer}: rewound to {since}, {delivered_again} messages are delivered again"));
    }
    lines.push(format!(
        "{} rows of stock: their versions are above what was told, and they are told again",
        rows.raised
    ));
    if rows.laid_aside > 0 {
        lines.push(format!("{} tellings of older figures laid aside", rows.laid_aside));
    }
    lines.push("what cannot be known:".to_owned());
    for consumer in &report.consumers {
        if let Some(before) = &consumer.gone_before {
            let stream = &consumer.stream;
            lines.push(format!("- what {stream} received between {since} and {before}: it holds that no more"));
        }
    }
    if rows.unknown > 0 {
        lines.push(format!(
            "- what lay in {} rows of stock that were told of and are not in the database: made again with nothing in them, until what \
             filled them is delivered again",
            rows.unknown
        ));
        lines.extend(rows.unknown_named.iter().map(|row| format!("    {} in {}", row.sku, row.warehouse)));
    }
    if !rows.latest_is_current {
        lines.push("- whether more was told than STOCK_LATEST shows: it lags behind STOCK".to_owned());
    }
    lines.push(format!(
        "- whether the {} answers told since then still hold: {} are about orders that the database has not got; they are decided anew, in \
         another sequence perhaps, and may come out otherwise",
        answers.told, answers.unknown
    ));
    lines.extend(answers.unknown_named.iter().map(|order| format!("    {} {}", order.channel, order.order_ref)));
    lines
}
