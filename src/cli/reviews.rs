//! `lastunit reviews list|show|resolve`.

use std::time::Duration;

use anyhow::anyhow;
use clap::Subcommand;
use nix::unistd::{Uid, User};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::dead_letters::say_who_tells;
use super::print::{self, List};
use super::{Exit, Stop, database};
use crate::config::Settings;
use crate::engine::{Engine, Resolution, Resolved, resolve};
use crate::messages::WireTime;
use crate::service;
use crate::store::Pool;
use crate::store::review_answers::{self, Answer, Kept, StoredReview};

/// How many rows are read in one go.
const PAGE: i64 = 1_000;
/// How long resolving waits for a database that went away, and for locks.
const GIVE_UP_AFTER: Duration = Duration::from_secs(9);
/// The longest note, and the longest name, in bytes.
const LONGEST: usize = 500;

/// What to do with what a person must look at.
#[derive(Debug, Subcommand)]
pub enum Reviews {
    /// List those that are open, oldest first.
    List {
        /// List resolved ones too.
        #[arg(long)]
        all: bool,
        /// Only those of this kind.
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Show one, with the message that is kept with it. Ends with 1 where there is none.
    Show {
        /// Its id.
        id: i64,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Resolve one. A message that is kept with it is decided again, and applied if there is room for it now; else the review stays open, and this ends with 1.
    Resolve {
        /// Its id.
        id: i64,
        /// What was found or done, for those who come after.
        #[arg(long, value_name = "TEXT", value_parser = words)]
        note: String,
        /// Who says so; the user of the system who runs this, where nobody is named.
        #[arg(long, value_name = "NAME", value_parser = words)]
        by: Option<String>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

fn words(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.len() > LONGEST || text.contains(char::is_control) {
        return Err(format!("must have 1 to {LONGEST} bytes and no control characters"));
    }
    Ok(text.to_owned())
}

pub async fn run(command: Reviews, settings: &Settings) -> Result<Exit, Stop> {
    let pool = database::open(&settings.database).await?;
    match command {
        Reviews::List { all, kind, json } => list(&pool, all, kind.as_deref(), json).await,
        Reviews::Show { id, json } => show(&pool, id, json).await,
        Reviews::Resolve { id, note, by, json } => {
            let by = by.map_or_else(user, Ok)?;
            answer(&pool, settings, &Answer { review: id, by: &by, note: &note }, json).await
        }
    }
}

/// The user of the system who runs this.
fn user() -> Result<String, Stop> {
    let uid = Uid::current();
    let user = User::from_uid(uid).map_err(|error| Stop::Failed(anyhow!(error).context("the user who runs this")))?;
    Ok(user.map_or_else(|| format!("uid {uid}"), |user| user.name))
}

async fn list(pool: &Pool, all: bool, kind: Option<&str>, json: bool) -> Result<Exit, Stop> {
    let mut connection = pool.acquire().await.map_err(|error| database::stop(error.into()))?;
    let mut out = List::begin(json);
    let mut after = 0;
    loop {
        let page = review_answers::list(&mut connection, all, kind, after, PAGE).await.map_err(database::stop)?;
        let Some(last) = page.last() else { break };
        after = last.id;
        for review in &page {
            out.add(&document(review), || line(review))?;
        }
    }
    out.end(Some("no review"))?;
    Ok(Exit::Fine)
}

async fn show(pool: &Pool, id: i64, json: bool) -> Result<Exit, Stop> {
    let mut connection = pool.acquire().await.map_err(|error| database::stop(error.into()))?;
    let Some(review) = review_answers::load(&mut connection, id).await.map_err(database::stop)? else {
        print::note(format!("there is no review {id}"));
        return Ok(Exit::Found);
    };
    let kept = review_answers::kept(&mut connection, id).await.map_err(database::stop)?;
    if json {
        let mut document = document(&review);
        document["kept"] = kept.as_ref().map_or(Value::Null, kept_document);
        print::document(&document)?;
    } else {
        print::text(text(&review, kept.as_ref()))?;
    }
    Ok(Exit::Fine)
}

fn document(review: &StoredReview) -> Value {
    json!({
        "id": review.id, "kind": review.kind, "subject": review.subject, "detail": review.detail,
        "opened_at": WireTime(review.opened_at), "resolved_at": review.resolved_at.map(WireTime),
        "resolved_by": review.resolved_by, "note": review.note,
    })
}

fn kept_document(kept: &Kept) -> Value {
    let message = &kept.message;
    json!({
        "subject": message.subject, "stream": message.stream, "sequence": message.sequence,
        "received_at": WireTime(message.received_at), "body": String::from_utf8_lossy(&message.body),
    })
}

fn line(review: &StoredReview) -> String {
    let StoredReview { id, kind, detail, .. } = review;
    format!("{id}  {}  {kind}: {detail}{}", WireTime(review.opened_at), end(review))
}

fn end(review: &StoredReview) -> String {
    let Some(at) = review.resolved_at else { return String::new() };
    let by = review.resolved_by.as_deref().unwrap_or("somebody");
    let note = review.note.as_deref().unwrap_or_default();
    format!(" (resolved {} by {by}: {note})", WireTime(at))
}

fn text(review: &StoredReview, kept: Option<&Kept>) -> String {
    let mut lines = vec![
        format!("id: {}", review.id),
        format!("kind: {}", review.kind),
        format!("about: {}", review.subject),
        format!("detail: {}", review.detail),
        format!("opened_at: {}", WireTime(review.opened_at)),
    ];
    if let Some(at) = review.resolved_at {
        lines.push(format!("resolved_at: {}", WireTime(at)));
        lines.push(format!("resolved_by: {}", review.resolved_by.as_deref().unwrap_or_default()));
        lines.push(format!("note: {}", review.note.as_deref().unwrap_or_default()));
    }
    if let Some(Kept { message, .. }) = kept {
        lines.push(format!("kept: {}, received {}", message.subject, WireTime(message.received_at)));
        lines.push("  Resolving applies it as it is, over whatever was moved since it was sent.".to_owned());
        lines.push(format!("  {}", String::from_utf8_lossy(&message.body)));
    }
    lines.join("\n")
}

async fn answer(pool: &Pool, settings: &Settings, answer: &Answer<'_>, json: bool) -> Result<Exit, Stop> {
    let engine = Engine::new(service::policy(settings), Vec::new(), service::signatures(settings)?);
    let stop = CancellationToken::new();
    let patience = tokio::spawn(give_up(stop.clone()));
    let became = resolve(&engine, pool, answer, &stop).await;
    patience.abort();
    let became = became.map_err(database::stop)?;
    let id = answer.review;
    // What was asked for is done, whether or not anybody reads on.
    let printed =
        if json { print::document(&outcome(id, &became)) } else { print::line(format!("{id}: {}", says(&became))) };
    if became == Resolved::Undecided {
        database::reach(&settings.database).await?;
    }
    say_who_tells(pool).await?;
    printed?;
    Ok(match became {
        Resolved::Marked | Resolved::Decided(Resolution::Applied | Resolution::ResolvedBefore) => Exit::Fine,
        _ => Exit::Found,
    })
}

async fn give_up(stop: CancellationToken) {
    tokio::time::sleep(GIVE_UP_AFTER).await;
    stop.cancel();
}

fn says(became: &Resolved) -> String {
    match became {
        Resolved::Marked => "resolved".to_owned(),
        Resolved::Decided(Resolution::Applied) => "applied and resolved".to_owned(),
        Resolved::Decided(Resolution::NoRoom(detail)) => {
            format!("there is no room for it yet, and it stays open: {detail}")
        }
        Resolved::Decided(Resolution::Refused(refusal)) => {
            format!("resolved; its message is a dead letter now: {}: {}", refusal.reason.word(), refusal.detail)
        }
        Resolved::Decided(Resolution::ResolvedBefore) => "resolved before".to_owned(),
        Resolved::NotFound => "not found".to_owned(),
        Resolved::Undecided => {
            "not resolved: somebody else has locked what it needs; it is as open as it was".to_owned()
        }
    }
}

fn outcome(id: i64, became: &Resolved) -> Value {
    let word = match became {
        Resolved::Marked => "resolved",
        Resolved::Decided(Resolution::Applied) => "applied",
        Resolved::Decided(Resolution::NoRoom(detail)) => {
            return json!({ "id": id, "outcome": "no_room", "detail": detail });
        }
        Resolved::Decided(Resolution::Refused(refusal)) => {
            return json!({
                "id": id, "outcome": "refused", "reason": refusal.reason.word(), "detail": refusal.detail,
            });
        }
        Resolved::Decided(Resolution::ResolvedBefore) => "resolved_before",
        Resolved::NotFound => "not_found",
        Resolved::Undecided => "undecided",
    };
    json!({ "id": id, "outcome": word })
}
