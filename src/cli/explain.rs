//! `lastunit explain`.

use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use sqlx::PgConnection;

use super::moment::{self, Moment};
use super::{Exit, Stop, audit, database, print};
use crate::config::Settings;
use crate::domain::{Channel, OrderKey, OrderRef, Sku, StockKey, Warehouse};
use crate::explain::{self, ChannelFacts, Why};
use crate::export::max_qty;
use crate::store::point_story::Point;
use crate::store::{clock, pool};
use crate::topology::Topology;

/// Say why: the whole story of an order, the figures of a shelf at a moment, or what a channel shows at a point. Ends with 1 where nothing is known of it,
/// and where a point shows another number than it should.
#[derive(Debug, Args)]
pub struct Explain {
    /// The order's channel.
    #[arg(required_unless_present_any = ["stock", "point"], requires = "order_ref", value_parser = channel)]
    channel: Option<Channel>,
    /// Its reference there.
    #[arg(value_parser = order_ref)]
    order_ref: Option<OrderRef>,
    /// Explain the figures of this SKU instead.
    #[arg(long, value_name = "SKU", value_parser = sku, requires = "warehouse", conflicts_with = "channel")]
    stock: Option<Sku>,
    /// In this warehouse.
    #[arg(long, value_parser = warehouse, requires = "stock")]
    warehouse: Option<Warehouse>,
    /// As they were at this instant (RFC 3339, or how long ago: 90s, 15m, 2h, 3d); now, where none is given.
    #[arg(long, value_name = "T", value_parser = moment::parse, requires = "stock")]
    at: Option<Moment>,
    /// How many movements and steps are shown one by one; those before are summed.
    #[arg(long, value_name = "ROWS", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..), requires = "stock")]
    last: u16,
    /// Explain what a channel shows instead: what it should, what it was told, and why these differ.
    #[arg(long, num_args = 3, value_names = ["SKU", "CHANNEL", "WAREHOUSE"], conflicts_with_all = ["channel", "stock", "warehouse"])]
    point: Option<Vec<String>>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

fn channel(text: &str) -> Result<Channel, String> {
    Channel::new(text).map_err(|fault| fault.to_string())
}

fn order_ref(text: &str) -> Result<OrderRef, String> {
    OrderRef::new(text).map_err(|fault| fault.to_string())
}

fn sku(text: &str) -> Result<Sku, String> {
    Sku::new(text).map_err(|fault| fault.to_string())
}

fn warehouse(text: &str) -> Result<Warehouse, String> {
    Warehouse::new(text).map_err(|fault| fault.to_string())
}

pub async fn run(command: Explain, settings: &Settings) -> Result<Exit, Stop> {
    if let Some(names) = &command.point {
        return point(names, settings, command.json).await;
    }
    drop(database::open(&settings.database).await?);
    let mut session = pool::session(&settings.database).await.map_err(|error| database::stop(error.into()))?;
    match (command.channel, command.order_ref, command.stock, command.warehouse) {
        (Some(channel), Some(order_ref), None, None) => {
            order(&mut session, settings, &OrderKey { channel, order_ref }, command.json).await
        }
        (None, None, Some(sku), Some(warehouse)) => {
            let key = StockKey { sku, warehouse };
            stock(&mut session, &key, command.at, i64::from(command.last), command.json).await
        }
        _ => Err(Stop::Misuse(anyhow!(
            "either CHANNEL ORDER_REF, or --stock SKU --warehouse W, or --point SKU CHANNEL WAREHOUSE"
        ))),
    }
}

async fn order(session: &mut PgConnection, settings: &Settings, order: &OrderKey, json: bool) -> Result<Exit, Stop> {
    let topology = Arc::new(Topology::load(settings.streams.dir.as_deref(), &settings.streams.prefix)?);
    let broker = audit::reach(settings, topology).await;
    let asked = broker.as_ref().map_err(String::clone);
    let story = explain::explain(session, asked, order).await.map_err(database::stop)?;
    if !story.is_known() {
        print::note(format!("nothing is known of order {} of channel {}", order.order_ref, order.channel));
        for unchecked in &story.unchecked {
            print::note(format!("not looked at: {unchecked}"));
        }
        return Ok(Exit::Found);
    }
    if json {
        print::document(&story.document())?;
    } else {
        print::text(story.text())?;
    }
    Ok(Exit::Fine)
}

async fn point(names: &[String], settings: &Settings, json: bool) -> Result<Exit, Stop> {
    let [sku, channel, warehouse] = names else { return Err(Stop::Misuse(anyhow!("--point SKU CHANNEL WAREHOUSE"))) };
    drop(database::open(&settings.database).await?);
    let mut session = pool::session(&settings.database).await.map_err(|error| database::stop(error.into()))?;
    let facts = settings
        .channels
        .get(channel)
        .map(|channel| ChannelFacts { safety_stock: channel.safety_stock.into(), max_qty: max_qty(channel.kind) });
    let story = explain::point(&mut session, Point { sku, channel, warehouse }, facts).await.map_err(database::stop)?;
    if !story.is_known() {
        print::note(format!("nothing is known of {sku} in {warehouse} on {channel}"));
        return Ok(Exit::Found);
    }
    if json {
        print::document(&story.document())?;
    } else {
        print::text(story.text())?;
    }
    Ok(if *story.why() == Why::NothingDiffers { Exit::Fine } else { Exit::Found })
}

async fn stock(
    session: &mut PgConnection,
    key: &StockKey,
    at: Option<Moment>,
    last: i64,
    json: bool,
) -> Result<Exit, Stop> {
    let at = match at {
        Some(moment) => moment.instant(session).await,
        None => clock::now(session).await,
    };
    let shelf = explain::shelf(session, key, at.map_err(database::stop)?, last).await.map_err(database::stop)?;
    if !shelf.is_known() {
        print::note(format!("nothing is known of {} in {}", key.sku, key.warehouse));
        return Ok(Exit::Found);
    }
    if json {
        print::document(&shelf.document())?;
    } else {
        print::text(shelf.text())?;
    }
    Ok(Exit::Fine)
}
