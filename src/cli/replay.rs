//! `lastunit replay --since T`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::moment::{self, Moment};
use super::{Exit, Stop, database, print, streams};
use crate::config::Settings;
use crate::domain::Timestamp;
use crate::losses;
use crate::messages::WireTime;
use crate::relay::{self, Relay};
use crate::store::outbox::{self, Lane};
use crate::store::replays::{self, Progress};
use crate::store::{StoreError, doubts};
use crate::topology::Topology;

/// How often it is looked how far the relay is.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often that is said.
const SAY_EVERY: Duration = Duration::from_secs(2);
/// How long nothing may move.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// How long the relay of our own may take to end.
const END_WITHIN: Duration = Duration::from_secs(5);

/// What to tell again.
#[derive(Debug, Args)]
pub struct Replay {
    /// From this instant on: RFC 3339, or how long ago: 90s, 15m, 2h, 3d.
    #[arg(long, value_name = "T", value_parser = moment::parse)]
    since: Moment,
    /// Only in this stream.
    #[arg(long, value_enum, value_name = "STREAM")]
    stream: Option<Outbound>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// An outbound stream.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Outbound {
    #[value(name = "STOCK")]
    Stock,
    #[value(name = "RESERVATIONS")]
    Reservations,
    #[value(name = "DEAD")]
    Dead,
}

impl Replay {
    fn lanes(&self) -> Vec<Lane> {
        match self.stream {
            None => Lane::ALL.to_vec(),
            Some(Outbound::Stock) => vec![Lane::Stock],
            Some(Outbound::Reservations) => vec![Lane::Reservations],
            Some(Outbound::Dead) => vec![Lane::Dead],
        }
    }
}

/// What was asked for.
struct Asked {
    ids: Vec<i64>,
    lanes: Vec<Lane>,
    /// Whether more was asked for than there is, and every stock row is therefore retold.
    beyond: bool,
}

/// Ends with 1 where nothing was told since then.
pub async fn run(asks: Replay, settings: &Settings) -> Result<Exit, Stop> {
    let topology = Arc::new(Topology::load(settings.streams.dir.as_deref(), &settings.streams.prefix)?);
    let pool = database::open(&settings.database).await?;
    let jetstream = streams::reach(settings, &topology).await?;
    let mut connection = pool.acquire().await.map_err(|error| database::stop(error.into()))?;
    // What is gone is noted first, so that it is known what this makes good.
    losses::look(&mut connection, &topology, &jetstream).await?;
    let asked = ask(&mut connection, &asks).await.map_err(database::stop)?;

    let stop = CancellationToken::new();
    let relay = Relay {
        database: settings.database.clone(),
        client: jetstream.client(),
        topology: topology.clone(),
        outbox: Arc::new(Notify::new()),
    };
    // Where somebody runs, these wait for a turn that does not come, and the other's relay does it.
    let mut tellers = JoinSet::new();
    for lane in &asked.lanes {
        tellers.spawn(relay::run(relay.clone(), *lane, stop.clone(), oneshot::channel().0));
    }
    let told = watch(&mut connection, &asked).await;
    stop.cancel();
    let ended = async { while tellers.join_next().await.is_some() {} };
    drop(tokio::time::timeout(END_WITHIN, ended).await);
    report(&mut connection, &told?, &asked, asks.json).await
}

/// Stores the request, for whoever has the turns.
async fn ask(connection: &mut PgConnection, replay: &Replay) -> Result<Asked, StoreError> {
    let lanes = replay.lanes();
    let mut transaction = connection.begin().await?;
    let since = replay.since.instant(&mut transaction).await?;
    let oldest = outbox::oldest(&mut transaction).await?;
    let beyond = oldest.is_none_or(|oldest| since < oldest);
    if beyond {
        say_what_is_there(oldest);
    }
    // What was told before that cannot be told again: what is now is told instead.
    if beyond && lanes.contains(&Lane::Stock) {
        doubts::add_all(&mut transaction).await?;
    }
    let mut ids = Vec::with_capacity(lanes.len());
    for lane in &lanes {
        ids.push(replays::request(&mut transaction, *lane, since).await?);
    }
    transaction.commit().await?;
    Ok(Asked { ids, lanes, beyond })
}

fn say_what_is_there(oldest: Option<Timestamp>) {
    match oldest {
        Some(oldest) => {
            print::note(format!(
                "what was told is kept from {} on; every stock row is told as it is now",
                WireTime(oldest)
            ));
        }
        None => print::note("nothing of what was told is kept; every stock row is told as it is now"),
    }
}

/// Waits until all is acknowledged: what was asked for, and then what stood in the outbox when that was done.
async fn watch(connection: &mut PgConnection, asked: &Asked) -> Result<Vec<Progress>, Stop> {
    let mut moved = Instant::now();
    let mut said = Instant::now();
    let (mut before, mut last) = (None, None);
    loop {
        let progress = replays::progress(connection, &asked.ids).await.map_err(database::stop)?;
        let untold = untold(connection, &asked.lanes).await.map_err(database::stop)?;
        if progress.iter().all(|one| one.done) {
            let last = last.get_or_insert_with(|| untold.iter().map(|(_, last)| *last).collect::<Vec<_>>());
            // Ids of a lane only grow: what is told up to there is told.
            if untold
                .iter()
                .zip(last)
                .all(|((first, _), last)| last.is_none_or(|last| first.is_none_or(|first| first > last)))
            {
                return Ok(progress);
            }
        }
        if said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            say(&progress);
        }
        let now = Some((progress, untold));
        if now != before {
            (moved, before) = (Instant::now(), now);
        } else if moved.elapsed() > STALLED_AFTER {
            return Err(Stop::Failed(anyhow!(
                "nothing was acknowledged for {} s; what is left stays asked for, and `lastunit run` goes on with it",
                STALLED_AFTER.as_secs()
            )));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// For each lane the first and the last row that are not told.
async fn untold(connection: &mut PgConnection, lanes: &[Lane]) -> Result<Vec<(Option<i64>, Option<i64>)>, StoreError> {
    let mut untold = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let first = outbox::unsent(connection, *lane, 0, 1).await?.first().map(|row| row.id);
        untold.push((first, outbox::last_unsent(connection, *lane).await?));
    }
    Ok(untold)
}

fn say(progress: &[Progress]) {
    for Progress { stream, told_rows, told_to, last_id, done } in progress {
        let how_far = if *done { "done".to_owned() } else { format!("at {told_to} of {last_id}") };
        print::note(format!("{stream}: {told_rows} rows told again, {how_far}"));
    }
}

async fn report(connection: &mut PgConnection, told: &[Progress], asked: &Asked, json: bool) -> Result<Exit, Stop> {
    let rows: i64 = told.iter().map(|one| one.told_rows).sum();
    if json {
        let rows = told.iter().zip(&asked.ids);
        let rows: Vec<_> =
            rows.map(|(one, id)| json!({ "id": id, "stream": one.stream, "rows": one.told_rows })).collect();
        print::document(&rows)?;
    } else if rows == 0 {
        print::line("nothing was told since then")?;
    } else {
        for Progress { stream, told_rows, .. } in told {
            print::line(format!("{stream}: {told_rows} rows told again and acknowledged"))?;
        }
    }
    for loss in crate::store::broker::losses(connection).await.map_err(database::stop)? {
        print::note(format!("still so: {}: {}", loss.name, loss.detail));
    }
    Ok(if rows == 0 && !asked.beyond { Exit::Found } else { Exit::Fine })
}
