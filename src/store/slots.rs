//! Slots: resources locked, periods looked up, taken and given back. Every function does nothing where there is nothing to do: a batch in which
//! no order has slots runs none of these statements.

use std::collections::{BTreeSet, HashMap, HashSet};

use sqlx::{AssertSqlSafe, PgConnection};

use super::orders::key;
use super::{Locking, StoreError, changed_all};
use crate::domain::{
    AskedSlot, EventId, LineId, NewSlot, OrderKey, ReservationState, Resource, SlotChange, SlotHold, SlotStep,
    SlotTable, Taken, Timestamp,
};

/// Locked resources, and the database's clock after the last lock.
#[derive(Debug)]
pub struct Locked {
    /// The instant that decides.
    pub now: Timestamp,
    /// Those of the wanted that exist and were not left out.
    pub resources: HashSet<Resource>,
}

/// Locks resources; none if there are none to lock.
pub async fn lock_many(
    connection: &mut PgConnection,
    wanted: &BTreeSet<Resource>,
    locking: Locking,
) -> Result<Option<Locked>, StoreError> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let statement = locking.apply(include_str!("slots_lock.sql"));
    let (now, resources): (Timestamp, Vec<String>) =
        sqlx::query_as(AssertSqlSafe(statement)).bind(names(wanted)).fetch_one(connection).await?;
    Ok(Some(Locked { now, resources: resources.iter().map(|resource| Resource::stored(resource)).collect() }))
}

/// Resources among the wanted that exist and are not among the locked: somebody else has them.
pub async fn missed(
    connection: &mut PgConnection,
    wanted: &BTreeSet<Resource>,
    locked: &Locked,
) -> Result<HashSet<Resource>, StoreError> {
    if wanted.is_empty() {
        return Ok(HashSet::new());
    }
    let existing: Vec<String> =
        sqlx::query_scalar(include_str!("slots_exist.sql")).bind(names(wanted)).fetch_all(connection).await?;
    let existing = existing.iter().map(|resource| Resource::stored(resource));
    Ok(existing.filter(|resource| !locked.resources.contains(resource)).collect())
}

fn names(resources: &BTreeSet<Resource>) -> Vec<&str> {
    resources.iter().map(Resource::as_str).collect()
}

/// All held and confirmed periods that overlap one of these. Their resources are locked.
pub async fn taken(connection: &mut PgConnection, wanted: &BTreeSet<AskedSlot>) -> Result<SlotTable, StoreError> {
    let mut table = SlotTable::default();
    if wanted.is_empty() {
        return Ok(table);
    }
    let rows: Vec<TakenRow> = sqlx::query_as(include_str!("slots_taken.sql"))
        .bind(wanted.iter().map(|slot| slot.resource.as_str()).collect::<Vec<_>>())
        .bind(wanted.iter().map(|slot| slot.from).collect::<Vec<_>>())
        .bind(wanted.iter().map(|slot| slot.to).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    for row in rows {
        let slot = AskedSlot { resource: Resource::stored(&row.resource), from: row.begins, to: row.ends };
        let order = key(&row.channel, &row.order_ref);
        table.insert(Taken { slot, order, expires_at: row.expires_at, steps: 0 });
    }
    Ok(table)
}

/// The slots of orders, in order of their rows.
pub async fn load_many(
    connection: &mut PgConnection,
    orders: &[OrderKey],
) -> Result<HashMap<OrderKey, Vec<SlotHold>>, StoreError> {
    let mut slots: HashMap<OrderKey, Vec<SlotHold>> = HashMap::new();
    if orders.is_empty() {
        return Ok(slots);
    }
    let rows: Vec<StoredSlot> = sqlx::query_as(include_str!("slots_load.sql"))
        .bind(orders.iter().map(|key| key.channel.as_str()).collect::<Vec<_>>())
        .bind(orders.iter().map(|key| key.order_ref.as_str()).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    for row in rows {
        slots.entry(key(&row.channel, &row.order_ref)).or_default().push(row.read()?);
    }
    Ok(slots)
}

/// Takes as many new ids, in order.
pub async fn new_ids(connection: &mut PgConnection, count: usize) -> Result<Vec<i64>, StoreError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    Ok(sqlx::query_scalar(include_str!("slots_ids.sql")).bind(count).fetch_one(connection).await?)
}

/// Adds slots under the given ids. What is given up in the same transaction must have been written before.
pub async fn insert_many(
    connection: &mut PgConnection,
    slots: &[NewSlot],
    ids: &[i64],
    at: Timestamp,
) -> Result<(), StoreError> {
    if slots.is_empty() {
        return Ok(());
    }
    let inserted = sqlx::query(include_str!("slots_insert.sql"))
        .bind(ids)
        .bind(slots.iter().map(|new| new.order.channel.as_str()).collect::<Vec<_>>())
        .bind(slots.iter().map(|new| new.order.order_ref.as_str()).collect::<Vec<_>>())
        .bind(slots.iter().map(|new| new.hold.slot.resource.as_str()).collect::<Vec<_>>())
        .bind(slots.iter().map(|new| new.hold.slot.from).collect::<Vec<_>>())
        .bind(slots.iter().map(|new| new.hold.slot.to).collect::<Vec<_>>())
        .bind(slots.iter().map(|new| new.hold.state.word()).collect::<Vec<_>>())
        .bind(slots.iter().map(|new| new.hold.cancelled).collect::<Vec<_>>())
        .bind(slots.iter().map(|new| new.expires_at).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("new slots", &inserted, slots.len())
}

/// Writes the changed columns of slots: first those that are given up, then those that others may have given up. The constraint judges each row
/// as it is written.
pub async fn update_many(connection: &mut PgConnection, changes: &[SlotChange]) -> Result<(), StoreError> {
    let (live, given_up): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.after.state.is_live());
    update(connection, &given_up).await?;
    update(connection, &live).await
}

async fn update(connection: &mut PgConnection, changes: &[&SlotChange]) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let updated = sqlx::query(include_str!("slots_update.sql"))
        .bind(changes.iter().map(|change| change.id).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.before.word()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.state.word()).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.after.cancelled).collect::<Vec<_>>())
        .bind(changes.iter().map(|change| change.expires_at).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    changed_all("slots", &updated, changes.len())
}

/// Writes steps. `new_ids` are the ids of the slots that the same decision adds.
pub async fn insert_steps(
    connection: &mut PgConnection,
    steps: &[SlotStep],
    new_ids: &[i64],
    at: Timestamp,
) -> Result<(), StoreError> {
    if steps.is_empty() {
        return Ok(());
    }
    let id = |hold| match hold {
        LineId::Stored(id) => id,
        LineId::New(place) => new_ids[place],
    };
    let inserted = sqlx::query(include_str!("slots_steps.sql"))
        .bind(steps.iter().map(|step| id(step.hold)).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.slot.resource.as_str()).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.slot.from).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.slot.to).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.from.map(ReservationState::word)).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.to.word()).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.reason.as_deref()).collect::<Vec<_>>())
        .bind(steps.iter().map(|step| step.event_id.as_ref().map(EventId::as_str)).collect::<Vec<_>>())
        .bind(at)
        .execute(connection)
        .await?;
    changed_all("the slots' journal", &inserted, steps.len())
}

#[derive(sqlx::FromRow)]
struct TakenRow {
    resource: String,
    begins: Timestamp,
    ends: Timestamp,
    channel: String,
    order_ref: String,
    expires_at: Option<Timestamp>,
}

#[derive(sqlx::FromRow)]
struct StoredSlot {
    channel: String,
    order_ref: String,
    id: i64,
    resource: String,
    begins: Timestamp,
    ends: Timestamp,
    state: String,
    cancelled: bool,
}

impl StoredSlot {
    fn read(self) -> Result<SlotHold, StoreError> {
        let state = ReservationState::from_word(&self.state).ok_or_else(|| StoreError::Unreadable {
            what: "slot",
            detail: format!("state {} of {}", self.state, self.id),
        })?;
        Ok(SlotHold {
            id: LineId::Stored(self.id),
            slot: AskedSlot { resource: Resource::stored(&self.resource), from: self.begins, to: self.ends },
            state,
            cancelled: self.cancelled,
        })
    }
}
