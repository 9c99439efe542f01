//! A point: what a channel should show, what it was told, what it shows, and in one sentence why these differ.

#[cfg(test)]
mod tests;
mod why;

use std::fmt::Write as _;

use serde_json::{Value, json};
use sqlx::PgConnection;

pub use why::{ChannelFacts, Why};

use crate::domain::Timestamp;
use crate::messages::WireTime;
use crate::store::point_story::{self, AttemptFacts, ObservationFacts, Point, PointFacts, PushFacts};
use crate::store::{StoreError, audit};

/// How many attempts and observations are named.
const ATTEMPTS: i64 = 20;
const OBSERVATIONS: i64 = 10;

/// What is known of a point.
#[derive(Debug)]
pub struct PointStory {
    name: String,
    channel: Option<ChannelFacts>,
    facts: PointFacts,
    attempts: Vec<AttemptFacts>,
    observations: Vec<ObservationFacts>,
    pushes: Vec<PushFacts>,
    why: Why,
}

/// Tells what is known of a point. `channel` is what the settings say of its channel, if they have it.
///
/// # Errors
/// The database's own.
pub async fn point(
    connection: &mut PgConnection,
    point: Point<'_>,
    channel: Option<ChannelFacts>,
) -> Result<PointStory, StoreError> {
    let mut snapshot = audit::begin(connection).await?;
    let facts = point_story::facts(&mut snapshot, point).await?;
    let attempts = point_story::attempts(&mut snapshot, point, ATTEMPTS).await?;
    let observations = point_story::observations(&mut snapshot, point, OBSERVATIONS).await?;
    let pushes = point_story::pushes(&mut snapshot, point).await?;
    snapshot.rollback().await?;
    let why = why::why(&facts, channel, &attempts, &pushes);
    let name = format!("{} in {} on {}", point.sku, point.warehouse, point.channel);
    Ok(PointStory { name, channel, facts, attempts, observations, pushes, why })
}

impl PointStory {
    /// Whether anything is known of it.
    pub fn is_known(&self) -> bool {
        let facts = &self.facts;
        facts.on_hand.is_some() || facts.mapped_id.is_some() || facts.newest_version.is_some()
    }

    /// Why it shows what it shows.
    pub fn why(&self) -> &Why {
        &self.why
    }

    /// What it shows, as far as is known.
    pub fn shown(&self) -> Option<i64> {
        why::shown(&self.facts)
    }

    fn desired(&self) -> Option<i64> {
        let channel = self.channel?;
        why::desired(&self.facts, channel).map(|desired| desired.min(channel.max_qty))
    }

    /// As one JSON document. Lists are newest first.
    pub fn document(&self) -> Value {
        let facts = &self.facts;
        let at = |at: Option<Timestamp>| at.map(WireTime);
        json!({
            "why": self.why.word(), "sentence": self.why.to_string(),
            "stock": facts.stock_version.map(|version| json!({
                "on_hand": facts.on_hand, "reserved": facts.reserved, "version": version,
            })),
            "map": {
                "external_id": facts.mapped_id, "external_warehouse_id": facts.mapped_warehouse_id,
                "safety_stock": facts.safety_stock.or(self.channel.map(|channel| channel.safety_stock)),
            },
            "desired_qty": self.desired(),
            "queued": facts.newest_version.map(|version| json!({ "version": version, "qty": facts.desired_qty })),
            "told": facts.told_version.map(|version| json!({
                "version": version, "qty": facts.told_qty, "at": at(facts.told_at), "external_id": facts.told_external_id,
                "external_warehouse_id": facts.told_external_warehouse_id,
            })),
            "confirmed": facts.confirmed_version.map(|version| json!({
                "version": version, "qty": facts.confirmed_qty, "at": at(facts.confirmed_at),
            })),
            "shown_qty": why::shown(facts), "exposed_units": facts.exposed_units,
            "due_at": at(facts.due_at), "look_at": at(facts.look_at), "low_since": at(facts.low_since),
            "parked": facts.parked, "review_id": facts.review_id, "paused_at": at(facts.paused_at),
            "halted_until": at(facts.halted_until), "halted_reason": facts.halted_reason,
            "observations": self.observations.iter().map(observation).collect::<Vec<_>>(),
            "attempts": self.attempts.iter().map(attempt).collect::<Vec<_>>(),
            "queue": self.pushes.iter().map(push).collect::<Vec<_>>(),
        })
    }

    /// For a person.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n\n", self.name, self.why);
        self.write_figures(&mut text);
        let PointStory { pushes, observations, attempts, .. } = self;
        write_list(&mut text, "queue, newest first", pushes.iter().map(push_line));
        write_list(&mut text, "looked at, newest first", observations.iter().map(observation_line));
        write_list(&mut text, "told, newest first", attempts.iter().map(attempt_line));
        text
    }

    fn write_figures(&self, text: &mut String) {
        let facts = &self.facts;
        let number = |number: Option<i64>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "–".to_owned());
        let at = |at: Option<Timestamp>| at.map_or_else(|| "–".to_owned(), |at| WireTime(at).to_string());
        let safety = facts.safety_stock.or(self.channel.map(|channel| channel.safety_stock));
        let lines = [
            (
                "on the shelf",
                format!(
                    "{}, {} promised, version {}",
                    number(facts.on_hand),
                    number(facts.reserved),
                    number(facts.stock_version)
                ),
            ),
            ("called there", format!("{} in {}", name(&facts.mapped_id), name(&facts.mapped_warehouse_id))),
            ("kept from the channel", number(safety)),
            ("should show", number(self.desired())),
            ("queued", format!("{}, version {}", number(facts.desired_qty), number(facts.newest_version))),
            (
                "told last",
                format!(
                    "{}, version {}, at {}, to {} in {}",
                    number(facts.told_qty),
                    number(facts.told_version),
                    at(facts.told_at),
                    name(&facts.told_external_id),
                    name(&facts.told_external_warehouse_id)
                ),
            ),
            (
                "seen to show",
                format!(
                    "{}, version {}, at {}",
                    number(facts.confirmed_qty),
                    number(facts.confirmed_version),
                    at(facts.confirmed_at)
                ),
            ),
            ("shows, as far as is known", number(why::shown(facts))),
        ];
        for (what, is) in lines {
            writeln!(text, "  {what:<26} {is}").expect("a string takes all");
        }
    }
}

fn write_list(text: &mut String, title: &str, lines: impl ExactSizeIterator<Item = String>) {
    if lines.len() > 0 {
        writeln!(text, "\n{title}:").expect("a string takes all");
    }
    for line in lines {
        writeln!(text, "  {line}").expect("a string takes all");
    }
}

fn push(push: &PushFacts) -> Value {
    json!({
        "id": push.id, "version": push.version, "desired_qty": push.desired_qty, "state": push.state,
        "attempts": push.attempts, "last_error": push.last_error, "created_at": WireTime(push.created_at),
    })
}

fn push_line(push: &PushFacts) -> String {
    let error = push.last_error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    let PushFacts { version, desired_qty, state, attempts, .. } = push;
    format!(
        "{}  version {version}, {desired_qty} to show, {state}, sent {attempts} times{error}",
        WireTime(push.created_at)
    )
}

fn observation(seen: &ObservationFacts) -> Value {
    json!({
        "id": seen.id, "at": WireTime(seen.at), "observed_qty": seen.observed_qty, "desired_qty": seen.desired_qty,
        "compared_version": seen.compared_version, "verdict": seen.verdict,
    })
}

fn observation_line(seen: &ObservationFacts) -> String {
    let shows = seen.observed_qty.map_or_else(|| "not listed".to_owned(), |qty| format!("shows {qty}"));
    let told = match (seen.desired_qty, seen.compared_version) {
        (Some(qty), Some(version)) => format!("told {qty} of version {version}"),
        _ => "told nothing by then".to_owned(),
    };
    format!("{}  {shows}, {told}: {}", WireTime(seen.at), seen.verdict)
}

fn attempt(sent: &AttemptFacts) -> Value {
    json!({
        "id": sent.id, "version": sent.version, "external_id": sent.external_id,
        "external_warehouse_id": sent.external_warehouse_id, "qty": sent.qty, "withdrawal": sent.withdrawal,
        "began_at": WireTime(sent.began_at), "ended_at": sent.ended_at.map(WireTime), "outcome": sent.outcome,
        "detail": sent.detail,
    })
}

fn attempt_line(sent: &AttemptFacts) -> String {
    let AttemptFacts { version, external_id, external_warehouse_id, qty, .. } = sent;
    let withdrawn = if sent.withdrawal { ", withdrawn from there" } else { "" };
    let outcome = sent.outcome.as_deref().unwrap_or("no answer yet");
    let detail = sent.detail.as_ref().map_or_else(String::new, |detail| format!(", {detail}"));
    let began = WireTime(sent.began_at);
    format!(
        "{began}  {qty} of version {version} to {external_id} in {external_warehouse_id}{withdrawn}: {outcome}{detail}"
    )
}
