//! Who speaks and who listens: messages are published and shown, and so is everything that is told.

use std::fmt::Display;
use std::io::{IsTerminal, stdout};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use async_nats::{Client, Message, Subscriber, jetstream};
use futures::StreamExt;
use futures::stream::{SelectAll, select_all};
use serde_json::{Map, Value};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The stage of the story.
pub struct Stage {
    jetstream: jetstream::Context,
    events: SelectAll<Subscriber>,
    scenes: usize,
}

/// What must be told: on this subject, with these fields (of a dead letter: these headers).
pub struct Expected {
    subject: String,
    facts: Vec<(&'static str, Value)>,
}

/// What was told.
struct Told {
    subject: String,
    facts: Map<String, Value>,
}

impl Stage {
    /// Listens to everything that the program tells from now on.
    pub async fn open(client: Client) -> Result<Self> {
        let mut events = Vec::new();
        for family in ["stock.>", "reservation.>", "refund.>", "dead.>"] {
            events.push(client.subscribe(family).await?);
        }
        client.flush().await?;
        Ok(Self { jetstream: jetstream::new(client), events: select_all(events), scenes: 0 })
    }

    /// Says what happens next.
    pub fn scene(&mut self, line: &str) {
        self.scenes += 1;
        println!("\n{}", paint(BOLD, format!("{}. {line}", self.scenes)));
    }

    /// Publishes a message and waits until the broker has it.
    pub async fn say(&self, subject: &'static str, body: Value) -> Result<()> {
        println!("   {} {body}", paint(BLUE, format!("→ {subject:<31}")));
        let acknowledged = self.jetstream.publish(subject, body.to_string().into()).await?;
        acknowledged.await.with_context(|| format!("the broker did not take {subject}"))?;
        Ok(())
    }

    /// Shows what is told until all of this was.
    pub async fn hear<const N: usize>(&mut self, expected: [Expected; N]) -> Result<()> {
        let mut missing = Vec::from(expected);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !missing.is_empty() {
            let Ok(Some(message)) = tokio::time::timeout_at(deadline, self.events.next()).await else {
                let subjects: Vec<_> = missing.iter().map(Expected::to_string).collect();
                bail!("not told within {PATIENCE:?}: {}", subjects.join("; "));
            };
            let told = Told::read(&message);
            told.show();
            if let Some(place) = missing.iter().position(|expected| expected.is(&told)) {
                missing.swap_remove(place);
            }
        }
        Ok(())
    }
}

impl Expected {
    pub fn new<const N: usize>(subject: impl Into<String>, facts: [(&'static str, Value); N]) -> Self {
        Self { subject: subject.into(), facts: facts.into() }
    }

    fn is(&self, told: &Told) -> bool {
        self.subject == told.subject && self.facts.iter().all(|(name, value)| told.facts.get(*name) == Some(value))
    }
}

impl Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let facts: Vec<_> = self.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
        write!(f, "{} with {}", self.subject, facts.join(", "))
    }
}

impl Told {
    /// A dead letter's body is what somebody else wrote: what we say of it stands in its headers.
    fn read(message: &Message) -> Self {
        let subject = message.subject.to_string();
        let facts = if subject.starts_with("dead.") {
            let headers = message.headers.iter().flat_map(async_nats::HeaderMap::iter);
            headers.filter_map(|(name, values)| Some((name.to_string(), values.first()?.as_str().into()))).collect()
        } else {
            serde_json::from_slice(&message.payload).unwrap_or_default()
        };
        Self { subject, facts }
    }

    fn show(&self) {
        let (colour, words) = match self.subject.split('.').collect::<Vec<_>>()[..] {
            ["stock", ..] => (DIM, self.stock()),
            ["dead", ..] => (RED, format!("{}: {}", self.text("Lastunit-Reason"), self.text("Lastunit-Detail"))),
            ["refund", ..] => (YELLOW, format!("{}: {} goes back", self.order(), self.text("payment_id"))),
            ["reservation", "rejected", ..] => (YELLOW, self.order()),
            _ => (GREEN, self.order()),
        };
        let subject = self.subject.split('.').take(4).collect::<Vec<_>>().join(".");
        println!("   {} {words}", paint(colour, format!("← {subject:<31}")));
    }

    fn stock(&self) -> String {
        let number = |name: &str| self.facts.get(name).map(Value::to_string).unwrap_or_default();
        let (on_hand, reserved) = (number("on_hand"), number("reserved"));
        format!("{on_hand} on the shelf, {reserved} promised, {} to be sold", number("available"))
    }

    fn order(&self) -> String {
        let mut words = vec![format!("order {}", self.text("order_ref"))];
        words.extend(self.facts.get("reason").and_then(Value::as_str).map(str::to_owned));
        words.extend(self.text("expires_at").get(11..19).map(|time| format!("until {time}")));
        if self.facts.get("duplicate") == Some(&true.into()) {
            words.push("duplicate: true".to_owned());
        }
        words.join(", ")
    }

    fn text(&self, name: &str) -> &str {
        self.facts.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

pub const BOLD: &str = "1";
pub const DIM: &str = "2";
const RED: &str = "31";
pub const GREEN: &str = "32";
const YELLOW: &str = "33";
const BLUE: &str = "34";

/// In colour where somebody sees it.
pub fn paint(colour: &str, text: impl Display) -> String {
    if stdout().is_terminal() { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_string() }
}
