//! Event ids, then orders: claimed by inserting, and only what was taken before is locked and read.

use std::collections::{BTreeSet, HashMap, HashSet};

use sqlx::PgConnection;

use crate::domain::{
    Command, CreateOrder, EventId, EventKey, HoldBounds, Kind, Order, OrderKey, OrderState, Timestamp,
};
use crate::store::orders::OrderClaim;
use crate::store::{Locking, StoreError, inbox, orders, reservations, slots};

/// Orders and events of a batch, as they stand under the locks.
#[derive(Debug)]
pub(super) struct Claims {
    /// Every order that a command names.
    pub orders: HashMap<OrderKey, Order>,
    /// Events that were decided or kept before.
    pub seen: HashSet<EventKey>,
    /// When new orders were claimed; none if there were none to claim.
    pub claimed_at: Option<Timestamp>,
    /// Orders that somebody else has locked; empty unless what is locked is skipped.
    pub missed: HashSet<OrderKey>,
}

/// Claims and locks what the commands name.
pub(super) async fn claim(
    connection: &mut PgConnection,
    commands: &[Command],
    hold: HoldBounds,
    locking: Locking,
) -> Result<Claims, StoreError> {
    let mut seen = inbox::claim_many(connection, &events_to_claim(commands)).await?;

    let creators = first_creators(commands);
    let claims = order_claims(commands, &creators);
    let claimed = if claims.is_empty() { None } else { Some(orders::claim_many(connection, &claims, hold).await?) };

    let to_lock = orders_to_lock(commands, claimed.as_ref().map(|claimed| &claimed.taken));
    let locked = orders::lock_many(connection, &to_lock, locking).await?;
    let mut lines = reservations::load_many(connection, &to_lock).await?;
    let mut slots = slots::load_many(connection, &to_lock).await?;

    let mut standing: HashMap<OrderKey, Order> = HashMap::with_capacity(claims.len() + locked.len());
    if let Some(claimed) = &claimed {
        for claim in claims.iter().filter(|claim| !claimed.taken.contains(&claim.key)) {
            let order =
                Order { stored: claim.row(hold, claimed.at), born: false, lines: Vec::new(), slots: Vec::new() };
            standing.insert(claim.key.clone(), order);
        }
    }
    for (key, stored) in locked {
        let born = stored.state != OrderState::Awaited;
        let lines = lines.remove(&key).unwrap_or_default();
        let slots = slots.remove(&key).unwrap_or_default();
        standing.insert(key, Order { stored, born, lines, slots });
    }

    let creations = commands.iter().filter(|command| matches!(command.kind, Kind::Create(_))).count();
    if creations > creators.len() || !to_lock.is_empty() {
        let repeats = repeats_to_claim(commands, &creators, &standing);
        seen.extend(inbox::claim_many(connection, &repeats).await?);
    }
    let missed = to_lock.into_iter().filter(|key| !standing.contains_key(key)).collect();
    Ok(Claims { orders: standing, seen, claimed_at: claimed.map(|claimed| claimed.at), missed })
}

/// Every event but those that create orders: there the order is the claim.
fn events_to_claim(commands: &[Command]) -> Vec<EventKey> {
    let claimed_here = commands.iter().filter(|command| !matches!(command.kind, Kind::Create(_)));
    let events: BTreeSet<&EventKey> = claimed_here.filter_map(|command| command.event.as_ref()).collect();
    events.into_iter().cloned().collect()
}

/// For each order that a command creates, the first that does.
fn first_creators(commands: &[Command]) -> HashMap<&OrderKey, (&CreateOrder, &EventId)> {
    let mut creators = HashMap::new();
    for command in commands {
        if let (Kind::Create(create), Some(event)) = (&command.kind, &command.event) {
            creators.entry(&create.order).or_insert((create, &event.id));
        }
    }
    creators
}

/// Every order that a message names, sorted: to be created, or to be awaited. Timers only name orders that exist.
fn order_claims<'a>(
    commands: &'a [Command],
    creators: &HashMap<&OrderKey, (&'a CreateOrder, &EventId)>,
) -> Vec<OrderClaim<'a>> {
    let named = commands.iter().filter(|command| command.event.is_some()).filter_map(|command| command.kind.order());
    let keys: BTreeSet<&OrderKey> = named.collect();
    keys.into_iter()
        .map(|key| OrderClaim {
            key: key.clone(),
            creation: creators.get(key).map(|(create, event_id)| (*create, (*event_id).clone())),
        })
        .collect()
}

fn orders_to_lock(commands: &[Command], taken: Option<&HashSet<OrderKey>>) -> Vec<OrderKey> {
    let by_timers =
        commands.iter().filter(|command| command.event.is_none()).filter_map(|command| command.kind.order());
    let keys: BTreeSet<&OrderKey> = by_timers.chain(taken.into_iter().flatten()).collect();
    keys.into_iter().cloned().collect()
}

/// Events that would create an order which another event has created: they are answered once, and so they are claimed.
fn repeats_to_claim(
    commands: &[Command],
    creators: &HashMap<&OrderKey, (&CreateOrder, &EventId)>,
    standing: &HashMap<OrderKey, Order>,
) -> Vec<EventKey> {
    let mut repeats: BTreeSet<&EventKey> = BTreeSet::new();
    for command in commands {
        let (Kind::Create(create), Some(event)) = (&command.kind, &command.event) else { continue };
        let Some(order) = standing.get(&create.order) else { continue };
        let creator = if order.born {
            order.stored.event_id.as_ref()
        } else {
            creators.get(&create.order).map(|(_, event_id)| *event_id)
        };
        if creator != Some(&event.id) {
            repeats.insert(event);
        }
    }
    repeats.into_iter().cloned().collect()
}
