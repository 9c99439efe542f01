//! The slots an order could not have, and who had them or a part of them.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sqlx::PgConnection;

use super::denial::since;
use super::story::clock;
use crate::domain::{AskedSlot, Denial, DeniedSlot, OrderKey, Timestamp};
use crate::messages::WireTime;
use crate::store::StoreError;
use crate::store::explain::{self, SlotHolderFacts};

/// A slot that was another's, or a part of it.
#[derive(Debug)]
pub struct RefusedSlot {
    /// What was asked for.
    pub asked: AskedSlot,
    /// Who had it then, or a part of it, in the order of time: at least one.
    pub holders: Vec<SlotHolder>,
}

/// Somebody who had a part of a slot then.
#[derive(Debug)]
pub struct SlotHolder {
    /// What they had.
    pub taken: AskedSlot,
    /// Whose it was.
    pub order: OrderKey,
    facts: SlotHolderFacts,
}

pub(super) async fn read(snapshot: &mut PgConnection, denial: &Denial) -> Result<Vec<RefusedSlot>, StoreError> {
    let denied = &denial.by.slots;
    let mut slots: Vec<RefusedSlot> = Vec::new();
    if denied.is_empty() {
        return Ok(slots);
    }
    for facts in explain::slot_holders(snapshot, denial).await? {
        let Some(denied) = usize::try_from(facts.place).ok().and_then(|place| denied.get(place)) else { continue };
        let DeniedSlot { asked, taken, order, .. } = denied.clone();
        if slots.last().is_none_or(|slot| slot.asked != asked) {
            slots.push(RefusedSlot { asked, holders: Vec::new() });
        }
        if let Some(slot) = slots.last_mut() {
            slot.holders.push(SlotHolder { taken, order, facts });
        }
    }
    Ok(slots)
}

impl RefusedSlot {
    pub(super) fn says(&self, at: Timestamp) -> String {
        let mut says = format!("It asked for {}, which was taken:", period(&self.asked));
        for holder in &self.holders {
            write!(says, "\n  - {}", holder.says(at)).expect("a string takes all");
        }
        says
    }

    pub(super) fn document(&self) -> Value {
        let AskedSlot { resource, from, to } = &self.asked;
        json!({
            "resource": resource.as_str(), "from": WireTime(*from), "to": WireTime(*to),
            "holders": self.holders.iter().map(SlotHolder::document).collect::<Vec<_>>(),
        })
    }
}

impl SlotHolder {
    /// When they had to give it back, or did: none where it is theirs.
    pub fn until(&self) -> Option<Timestamp> {
        let facts = &self.facts;
        facts.ended_at.or_else(|| (facts.state_now == "held").then_some(facts.expires_at).flatten())
    }

    fn document(&self) -> Value {
        let Self { taken, order, facts } = self;
        json!({
            "channel": order.channel.as_str(), "order_ref": order.order_ref.as_str(),
            "from": WireTime(taken.from), "to": WireTime(taken.to), "state": facts.state_then,
            "since": WireTime(facts.since), "until": self.until().map(WireTime), "became": facts.ended_as,
            "reason": facts.ended_why, "state_now": facts.state_now,
        })
    }

    /// `at` is the instant of the refusal.
    fn says(&self, at: Timestamp) -> String {
        let Self { taken, order, facts } = self;
        let OrderKey { channel, order_ref } = order;
        let whose = format!("{} by order {order_ref} of channel {channel}", period(taken));
        format!("{whose}, {}; {}", since(facts.since, at), self.fate())
    }

    /// What became of the slot.
    fn fate(&self) -> String {
        let facts = &self.facts;
        match (facts.ended_as.as_deref(), facts.ended_at) {
            (Some("expired"), Some(at)) => format!("that hold ended unpaid at {}", clock(at)),
            (_, Some(at)) => format!("it was given back at {}", clock(at)),
            _ => match (facts.state_now.as_str(), facts.expires_at) {
                ("held", Some(end)) => {
                    format!("that hold lasts until {}, unless it is paid, prolonged or cancelled before", clock(end))
                }
                _ => "it is booked".to_owned(),
            },
        }
    }
}

fn period(AskedSlot { resource, from, to }: &AskedSlot) -> String {
    format!("{resource} from {} to {}", clock(*from), clock(*to))
}
