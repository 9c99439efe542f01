//! What an order could not have, and who had it.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::denied_slots::{self, RefusedSlot};
use super::story::{Event, Source, Story, clock};
use crate::domain::{Denial, DeniedRow, Rejection, Stock, StockKey, Timestamp};
use crate::messages::WireTime;
use crate::store::StoreError;
use crate::store::explain::{self, HolderFacts};

/// At most so many holders of one row are named.
const NAMED: i64 = 100;
/// At most so many in the text.
const TOLD: usize = 10;

/// Why an order was refused, as it stood then.
#[derive(Debug)]
pub struct Refused {
    /// The event that was.
    pub event_id: String,
    /// When.
    pub at: Timestamp,
    /// The word for why.
    pub reason: &'static str,
    /// The rows that could have served it.
    pub rows: Vec<RefusedRow>,
    /// The slots that were another's.
    pub slots: Vec<RefusedSlot>,
    /// For whoever asks: an answer to be sent on.
    pub says: String,
}

/// A row that could not serve a line.
#[derive(Debug)]
pub struct RefusedRow {
    /// Which.
    pub key: StockKey,
    /// How many units were asked for.
    pub requested: i64,
    /// Its figures at that moment.
    pub then: Stock,
    /// Its figures now; none where the row is gone.
    pub now: Option<Stock>,
    /// Who had units of it then: those who took theirs last come first, and of many only some are named.
    pub holders: Vec<Holder>,
    /// How many there were.
    pub holders_total: i64,
    /// How many units they had, by the journal.
    pub units_total: i64,
}

/// Somebody who had units then.
#[derive(Debug)]
pub struct Holder(HolderFacts);

impl Holder {
    /// When they had to give the units back, or did: none where they are theirs.
    pub fn until(&self) -> Option<Timestamp> {
        let Self(facts) = self;
        facts.ended_at.or_else(|| (facts.state_now == "held").then_some(facts.expires_at).flatten())
    }

    fn document(&self) -> Value {
        let Self(facts) = self;
        json!({
            "channel": facts.channel, "order_ref": facts.order_ref, "qty": facts.units, "state": facts.state_then,
            "since": WireTime(facts.since), "until": self.until().map(WireTime), "became": facts.ended_as, "reason": facts.ended_why,
            "state_now": facts.state_now,
        })
    }

    /// `at` is the instant of the refusal.
    fn says(&self, at: Timestamp) -> String {
        let Self(facts) = self;
        let whose = format!("{} by order {} of channel {}", facts.units, facts.order_ref, facts.channel);
        format!("{whose}, {}; {}", since(facts.since, at), self.fate())
    }

    /// What became of the units.
    fn fate(&self) -> String {
        let Self(facts) = self;
        match (facts.ended_as.as_deref(), facts.ended_at) {
            (Some("expired"), Some(at)) => format!("that hold ended unpaid at {}", clock(at)),
            (Some("shipped"), Some(at)) => format!("they left the shelf at {}", clock(at)),
            (Some("released"), Some(at)) => format!("they were given back at {}", clock(at)),
            (Some(_), Some(at)) => format!("some of them were given back or shipped at {}", clock(at)),
            _ => match (facts.state_now.as_str(), facts.expires_at) {
                ("held", Some(end)) => {
                    format!("that hold lasts until {}, unless it is paid, prolonged or cancelled before", clock(end))
                }
                _ => "they are sold".to_owned(),
            },
        }
    }
}

/// Since when somebody had what another was refused at `at`.
pub(super) fn since(since: Timestamp, at: Timestamp) -> String {
    if since == at {
        return "which was decided in the same instant and stood before it in the queue".to_owned();
    }
    format!("since {}", clock(since))
}

pub(super) async fn read(snapshot: &mut PgConnection, story: &mut Story) -> Result<(), StoreError> {
    let Some(denial) = story.denial.take() else { return Ok(()) };
    let was_rejected = story.first_decision().is_none_or(|first| first >= denial.at);
    story.events.push(event(&denial, was_rejected));
    let rows = rows(snapshot, &denial).await?;
    let slots = denied_slots::read(snapshot, &denial).await?;
    let mut says = format!(
        "Order {} of channel {} {} at {}: {}.",
        story.order.order_ref,
        story.order.channel,
        if was_rejected { "could not be held" } else { "could not have its goods again" },
        clock(denial.at),
        sentence(denial.reason)
    );
    for said in rows.iter().map(|row| row.says(denial.at)).chain(slots.iter().map(|slot| slot.says(denial.at))) {
        write!(says, "\n{said}").expect("a string takes all");
    }
    let event_id = denial.event_id.to_string();
    story.refused = Some(Refused { event_id, at: denial.at, reason: denial.reason.word(), rows, slots, says });
    Ok(())
}

fn event(denial: &Denial, was_rejected: bool) -> Event {
    let what = if was_rejected { "rejected" } else { "not had again" };
    let says = format!("{what}: {} (event {})", denial.reason.word(), denial.event_id);
    let fields = json!({ "outcome": "refused", "reason": denial.reason.word(), "event_id": denial.event_id.as_str() });
    Event::new(denial.at, Source::Decision, says, fields)
}

/// The rows of a denial, with those who had units of them.
async fn rows(snapshot: &mut PgConnection, denial: &Denial) -> Result<Vec<RefusedRow>, StoreError> {
    let denied = &denial.by.rows;
    if denied.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<&StockKey> = denied.iter().map(|row| &row.key).collect();
    let now = explain::figures(snapshot, &keys).await?;
    let mut rows: Vec<RefusedRow> = denied.iter().map(|row| RefusedRow::of(row, &now)).collect();
    for holder in explain::holders(snapshot, denial, NAMED).await? {
        if let Some(row) = usize::try_from(holder.place).ok().and_then(|place| rows.get_mut(place)) {
            (row.holders_total, row.units_total) = (holder.holders, holder.units_of_all);
            row.holders.push(Holder(holder));
        }
    }
    Ok(rows)
}

fn sentence(reason: Rejection) -> &'static str {
    match reason {
        Rejection::UnknownSku => "it names goods that no warehouse has ever had",
        Rejection::UnknownWarehouse => "it names a warehouse that is not known",
        Rejection::UnknownResource => "it names a resource that is not known",
        Rejection::NotAccepting => "no new orders were taken at that time",
        Rejection::InsufficientStock => "there were not enough units left",
        Rejection::SlotTaken => "a time it asked for was another's, or a part of it",
    }
}

impl RefusedRow {
    fn of(row: &DeniedRow, now: &[(StockKey, Stock)]) -> Self {
        let now = now.iter().find(|(key, _)| *key == row.key).map(|(_, stock)| *stock);
        Self {
            key: row.key.clone(),
            requested: row.requested,
            then: row.stock,
            now,
            holders: Vec::new(),
            holders_total: 0,
            units_total: 0,
        }
    }

    fn says(&self, at: Timestamp) -> String {
        let (StockKey { sku, warehouse }, Stock { on_hand, reserved, .. }) = (&self.key, self.then);
        let asked = format!("It asked for {} of {sku}.", self.requested);
        let mut says = match (on_hand, reserved) {
            (0, _) => format!("{asked} Warehouse {warehouse} had none."),
            (_, 0) => format!("{asked} Warehouse {warehouse} had {on_hand}, none of them promised to anybody."),
            _ => format!("{asked} Warehouse {warehouse} had {on_hand}, of which {reserved} were promised:"),
        };
        for holder in self.holders.iter().take(TOLD) {
            write!(says, "\n  - {}", holder.says(at)).expect("a string takes all");
        }
        let told = self.holders.len().min(TOLD);
        let others = self.holders_total - i64::try_from(told).unwrap_or(0);
        if others > 0 {
            let units: i64 = self.holders.iter().take(TOLD).map(|holder| holder.0.units).sum();
            write!(says, "\n  - {} more by {others} other orders", self.units_total - units)
                .expect("a string takes all");
        }
        if self.units_total != reserved {
            write!(
                says,
                "\n  (The journal accounts for {} of {reserved}: `lastunit audit` says where it does not fit.)",
                self.units_total
            )
            .expect("a string takes all");
        }
        if let Some(now) = self.now {
            write!(says, "\nNow {} of {sku} can be had in warehouse {warehouse}.", now.available())
                .expect("a string takes all");
        }
        says
    }

    fn document(&self) -> Value {
        let figures = |stock: Stock| json!({ "on_hand": stock.on_hand, "reserved": stock.reserved, "available": stock.available() });
        json!({
            "sku": self.key.sku.as_str(), "warehouse": self.key.warehouse.as_str(), "requested": self.requested,
            "then": figures(self.then), "now": self.now.map(figures),
            "holders": self.holders.iter().map(Holder::document).collect::<Vec<_>>(),
            "holders_total": self.holders_total, "units_total": self.units_total,
        })
    }
}

impl Refused {
    pub(super) fn document(&self) -> Value {
        json!({
            "event_id": self.event_id, "at": WireTime(self.at), "reason": self.reason, "says": self.says,
            "rows": self.rows.iter().map(RefusedRow::document).collect::<Vec<_>>(),
            "slots": self.slots.iter().map(RefusedSlot::document).collect::<Vec<_>>(),
        })
    }
}
