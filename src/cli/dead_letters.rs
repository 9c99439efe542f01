//! `lastunit dead-letters list|show|replay`.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sqlx::PgConnection;
use tokio_util::sync::CancellationToken;

use super::moment::{self, Moment};
use super::print::{self, List};
use super::{Exit, Stop, database};
use crate::config::Settings;
use crate::domain::{Reason, Timestamp};
use crate::engine::{Engine, Fate, Replayed, TOGETHER, replay};
use crate::messages::WireTime;
use crate::service;
use crate::store::dead_letters::{self, DeadLetter, Filter, Listed};
use crate::store::turn::{self, TurnOf};
use crate::store::{Pool, StoreError, outbox};

/// How many rows are read in one go.
const PAGE: i64 = 1_000;
/// How long a replay waits for a database that went away, and for locks.
const GIVE_UP_AFTER: Duration = Duration::from_secs(9);

/// What to do with messages that could not be processed.
#[derive(Debug, Subcommand)]
pub enum DeadLetters {
    /// List those that are open, oldest first.
    List {
        /// List resolved ones too.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        which: Which,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Show one: reason, detail, headers, then the body as it is. Ends with 1 where there is none.
    Show {
        /// Its id.
        id: i64,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Decide open ones afresh, and say what became of each. Ends with 1 where one was refused again, or none was found.
    Replay {
        /// Their ids.
        #[arg(value_name = "ID", required_unless_present_any = ["reason", "since", "until"], conflicts_with_all = ["reason", "since", "until"])]
        ids: Vec<i64>,
        #[command(flatten)]
        which: Which,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

/// Which ones.
#[derive(Debug, Args)]
pub struct Which {
    /// Only those refused for this word.
    #[arg(long, value_name = "WORD", value_parser = reason)]
    reason: Option<Reason>,
    /// Only those refused at this instant (RFC 3339, or how long ago: 90s, 15m, 2h, 3d) or later.
    #[arg(long, value_name = "T", value_parser = moment::parse)]
    since: Option<Moment>,
    /// Only those refused before this instant.
    #[arg(long, value_name = "T", value_parser = moment::parse)]
    until: Option<Moment>,
}

fn reason(word: &str) -> Result<Reason, String> {
    Reason::from_word(word).ok_or_else(|| "no reason of a dead letter".to_owned())
}

pub async fn run(command: DeadLetters, settings: &Settings) -> Result<Exit, Stop> {
    let pool = database::open(&settings.database).await?;
    match command {
        DeadLetters::List { all, which, json } => list(&pool, all, &which, json).await,
        DeadLetters::Show { id, json } => show(&pool, id, json).await,
        DeadLetters::Replay { ids, which, json } => {
            let rows = if ids.is_empty() { open_rows(&pool, &which).await? } else { sorted(ids) };
            replay_all(&pool, settings, &rows, json).await
        }
    }
}

impl Which {
    async fn filter(&self, connection: &mut PgConnection, all: bool) -> Result<Filter, StoreError> {
        let since = match self.since {
            Some(moment) => Some(moment.instant(connection).await?),
            None => None,
        };
        let until = match self.until {
            Some(moment) => Some(moment.instant(connection).await?),
            None => None,
        };
        Ok(Filter { all, reason: self.reason, since, until })
    }
}

async fn list(pool: &Pool, all: bool, which: &Which, json: bool) -> Result<Exit, Stop> {
    let mut out = List::begin(json);
    each(pool, all, which, |letter| out.add(&listed(letter), || line(letter))).await?;
    out.end(Some("no dead letter"))?;
    Ok(Exit::Fine)
}

/// Calls `take` with every one that is meant, page by page.
async fn each(
    pool: &Pool,
    all: bool,
    which: &Which,
    mut take: impl FnMut(&Listed) -> anyhow::Result<()>,
) -> Result<(), Stop> {
    let mut connection = pool.acquire().await.map_err(|error| database::stop(error.into()))?;
    let filter = which.filter(&mut connection, all).await.map_err(database::stop)?;
    let mut after = 0;
    loop {
        let page = dead_letters::list(&mut connection, &filter, after, PAGE).await.map_err(database::stop)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.id;
        page.iter().try_for_each(&mut take)?;
    }
}

async fn open_rows(pool: &Pool, which: &Which) -> Result<Vec<i64>, Stop> {
    let mut rows = Vec::new();
    each(pool, false, which, |letter| {
        rows.push(letter.id);
        Ok(())
    })
    .await?;
    Ok(rows)
}

fn sorted(mut ids: Vec<i64>) -> Vec<i64> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

async fn show(pool: &Pool, id: i64, json: bool) -> Result<Exit, Stop> {
    let mut connection = pool.acquire().await.map_err(|error| database::stop(error.into()))?;
    let found = dead_letters::load_many(&mut connection, &[id]).await.map_err(database::stop)?;
    let Some(letter) = found.first() else {
        print::note(format!("there is no dead letter {id}"));
        return Ok(Exit::Found);
    };
    if json {
        print::document(&whole(letter))?;
    } else {
        head(letter).iter().try_for_each(print::line)?;
        print::sent(&letter.message.body)?;
    }
    Ok(Exit::Fine)
}

/// Everything but the body, and the empty line before it.
fn head(letter: &DeadLetter) -> Vec<String> {
    let message = &letter.message;
    let mut lines = vec![
        format!("id: {}", letter.id),
        format!("subject: {}", message.subject),
        format!("reason: {}", letter.reason),
        format!("detail: {}", letter.detail),
        format!("stream: {}", message.stream),
        format!("sequence: {}", message.sequence),
        format!("received_at: {}", WireTime(message.received_at)),
        format!("consumer: {}", message.consumer),
        format!("opened_at: {}", WireTime(letter.opened_at)),
    ];
    lines.extend(letter.resolved_at.map(|at| format!("resolved_at: {}", WireTime(at))));
    lines.push("headers:".to_owned());
    for (name, values) in message.headers.as_object().into_iter().flatten() {
        let values = values.as_array().into_iter().flatten().filter_map(Value::as_str);
        lines.extend(values.map(|value| format!("  {name}: {value}")));
    }
    lines.push(String::new());
    lines
}

fn whole(letter: &DeadLetter) -> Value {
    let message = &letter.message;
    let mut document = json!({
        "id": letter.id, "event_id": letter.event_id, "subject": message.subject, "reason": letter.reason,
        "detail": letter.detail, "stream": message.stream, "sequence": message.sequence,
        "received_at": WireTime(message.received_at), "consumer": message.consumer,
        "opened_at": WireTime(letter.opened_at), "resolved_at": letter.resolved_at.map(WireTime), "headers": message.headers,
    });
    // As CloudEvents has it: what is no text stands in base64 under another name.
    match std::str::from_utf8(&message.body) {
        Ok(text) => document["body"] = json!(text),
        Err(_) => document["body_base64"] = json!(BASE64_STANDARD.encode(&message.body)),
    }
    document
}

fn listed(letter: &Listed) -> Value {
    json!({
        "id": letter.id, "subject": letter.subject, "reason": letter.reason, "detail": letter.detail,
        "stream": letter.stream, "sequence": letter.sequence, "received_at": WireTime(letter.received_at),
        "opened_at": WireTime(letter.opened_at), "resolved_at": letter.resolved_at.map(WireTime),
    })
}

fn line(letter: &Listed) -> String {
    let Listed { id, subject, reason, detail, opened_at, resolved_at, .. } = letter;
    let resolved = |at: &Timestamp| format!(" (resolved {})", WireTime(*at));
    let resolved = resolved_at.as_ref().map(resolved).unwrap_or_default();
    format!("{id}  {}  {subject}  {reason}: {detail}{resolved}", WireTime(*opened_at))
}

async fn replay_all(pool: &Pool, settings: &Settings, rows: &[i64], json: bool) -> Result<Exit, Stop> {
    let engine = Engine::new(service::policy(settings), Vec::new(), service::signatures(settings)?);
    let mut out = List::begin(json);
    let mut failed = rows.is_empty();
    let mut ended = Ok(());
    // What was asked for is done, whether or not anybody reads on.
    let mut printed = Ok(());
    for together in rows.chunks(TOGETHER) {
        let fates = match in_time(&engine, pool, together).await {
            Ok(fates) => fates,
            Err(error) => {
                ended = Err(database::stop(error));
                break;
            }
        };
        for (row, fate) in &fates {
            if printed.is_ok() {
                printed = out.add(&became(*row, fate), || format!("{row}: {}", words(fate)));
            }
            failed |= matches!(fate, Fate::Replayed(Replayed::Refused(_)) | Fate::NotFound | Fate::Undecided);
        }
        if fates.iter().any(|(_, fate)| *fate == Fate::Undecided) {
            ended = database::reach(&settings.database).await.map(drop);
            if ended.is_err() {
                break;
            }
        }
    }
    let printed = printed.and_then(|()| out.end(Some("no open dead letter was found")));
    ended?;
    say_who_tells(pool).await?;
    printed?;
    Ok(if failed { Exit::Found } else { Exit::Fine })
}

/// Replays, and does not wait for a database that is away, or for what somebody has locked, longer than a command may.
async fn in_time(engine: &Engine, pool: &Pool, rows: &[i64]) -> Result<Vec<(i64, Fate)>, StoreError> {
    let stop = CancellationToken::new();
    let patience = tokio::spawn(give_up(stop.clone()));
    let fates = replay(engine, pool, rows, &stop).await;
    patience.abort();
    fates
}

async fn give_up(stop: CancellationToken) {
    tokio::time::sleep(GIVE_UP_AFTER).await;
    stop.cancel();
}

fn words(fate: &Fate) -> String {
    match fate {
        Fate::Replayed(Replayed::Processed) => "processed".to_owned(),
        Fate::Replayed(Replayed::Waiting) => "waiting".to_owned(),
        Fate::Replayed(Replayed::Refused(refusal)) => format!("refused: {}: {}", refusal.reason.word(), refusal.detail),
        Fate::Replayed(Replayed::ResolvedBefore) => "resolved before".to_owned(),
        Fate::NotFound => "not found".to_owned(),
        Fate::Undecided => "not decided: somebody else has locked what it needs; it is as open as it was".to_owned(),
    }
}

fn became(row: i64, fate: &Fate) -> Value {
    let outcome = match fate {
        Fate::Replayed(Replayed::Processed) => "processed",
        Fate::Replayed(Replayed::Waiting) => "waiting",
        Fate::Replayed(Replayed::Refused(refusal)) => {
            return json!({
                "id": row, "outcome": "refused", "reason": refusal.reason.word(), "detail": refusal.detail,
            });
        }
        Fate::Replayed(Replayed::ResolvedBefore) => "resolved_before",
        Fate::NotFound => "not_found",
        Fate::Undecided => "undecided",
    };
    json!({ "id": row, "outcome": outcome })
}

/// Such a command only needs the database: what it has to tell is told by the relay of whoever runs.
pub(super) async fn say_who_tells(pool: &Pool) -> Result<(), Stop> {
    let mut connection = pool.acquire().await.map_err(|error| database::stop(error.into()))?;
    for lane in outbox::Lane::ALL {
        let held = turn::is_held(&mut connection, TurnOf::relay(lane)).await;
        let untold = outbox::last_unsent(&mut connection, lane).await.map_err(database::stop)?.is_some();
        if untold && !held.map_err(|error| database::stop(error.into()))? {
            print::note(format!(
                "nobody runs: what there is to tell in {} stays in the outbox until `lastunit run`",
                lane.stream()
            ));
        }
    }
    Ok(())
}
