//! The audit's statements: everything of one snapshot, streamed, and nothing locked.

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use sqlx::{Connection, PgConnection, Postgres, Transaction};

use super::StoreError;
use super::stock::key;
use crate::domain::{
    EventKey, Figure, Finding, Order, OrderKey, Place, ReservationState, STEPS, Stock, StockKey, Timestamp, slot_steps,
};

/// Begins the snapshot that everything is asked of. It takes no lock that anybody waits for; as long as it stands, the server keeps what was
/// changed since. A statement whose asker is gone ends within seconds.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// What whole tables are read with: joins by hash and by merge, and no more of the machine than one process.
const FREE: &str = "
    SET LOCAL plan_cache_mode = auto; SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on;
    SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on; SET LOCAL max_parallel_workers_per_gather = 0;
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
    SET LOCAL client_connection_check_interval = '2s'";

/// Back to plans that find rows by their keys, as everybody else's.
const BOUND: &str = "
    SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";

/// What a sweep looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// Invariant 1.
    Stock,
    /// Invariant 2.
    Reserved,
    /// Invariant 2: what lines have shipped and had back.
    Carried,
    /// Invariant 3.
    OnHand,
    /// Invariant 3: what left shelves for orders and came back.
    Parcels,
    /// Invariant 4: the journal's steps.
    Steps,
    /// Invariant 4: lines are where their journal left them.
    States,
    /// Invariant 4: orders are what their lines make them.
    Orders,
    /// Invariant 5.
    Once,
    /// Invariant 4: the slots' steps.
    SlotSteps,
    /// Invariant 4: slots are where their journal left them.
    SlotStates,
    /// Invariant 5: no two live slots of a resource overlap.
    SlotsApart,
    /// Invariant 6: what waits.
    Waiting,
    /// Invariant 7: versions.
    Versions,
    /// Invariant 8: what is known to be shown was told.
    Confirmed,
    /// Invariant 8: what points were told, in order and one at a time.
    Sent,
    /// Invariant 8: what is queued is what should be shown.
    Queued,
    /// Invariant 9.
    Money,
}

impl Sweep {
    /// All of invariants 1 to 5.
    pub const OF_STOCK_AND_ORDERS: [Self; 12] = [
        Self::Stock,
        Self::Reserved,
        Self::Carried,
        Self::OnHand,
        Self::Parcels,
        Self::Steps,
        Self::States,
        Self::SlotSteps,
        Self::SlotStates,
        Self::Orders,
        Self::Once,
        Self::SlotsApart,
    ];

    /// All of invariant 8.
    pub const OF_CHANNELS: [Self; 3] = [Self::Confirmed, Self::Sent, Self::Queued];

    fn invariant(self) -> u8 {
        match self {
            Self::Stock => 1,
            Self::Reserved | Self::Carried => 2,
            Self::OnHand | Self::Parcels => 3,
            Self::Steps | Self::States | Self::SlotSteps | Self::SlotStates | Self::Orders => 4,
            Self::Once | Self::SlotsApart => 5,
            Self::Waiting => 6,
            Self::Versions => 7,
            Self::Confirmed | Self::Sent | Self::Queued => 8,
            Self::Money => 9,
        }
    }

    /// The figure of a stock row that its findings are about, where other rows may tell it.
    fn figure(self) -> Option<Figure> {
        match self {
            Self::Stock | Self::Reserved => Some(Figure::Reserved),
            Self::Versions => Some(Figure::Told { seen: None, told: None }),
            Self::OnHand => Some(Figure::OnHand),
            _ => None,
        }
    }

    fn statement(self) -> &'static str {
        match self {
            Self::Stock => include_str!("audit_1_stock.sql"),
            Self::Reserved => include_str!("audit_2_reserved.sql"),
            Self::Carried => include_str!("audit_2_parcels.sql"),
            Self::OnHand => include_str!("audit_3_on_hand.sql"),
            Self::Parcels => include_str!("audit_3_parcels.sql"),
            Self::Steps => include_str!("audit_4_steps.sql"),
            Self::States => include_str!("audit_4_states.sql"),
            Self::Orders => include_str!("audit_4_orders.sql"),
            Self::Once => include_str!("audit_5_once.sql"),
            Self::SlotSteps => include_str!("audit_4_slot_steps.sql"),
            Self::SlotStates => include_str!("audit_4_slot_states.sql"),
            Self::SlotsApart => include_str!("audit_5_slots_apart.sql"),
            Self::Waiting => include_str!("audit_6_waiting.sql"),
            Self::Versions => include_str!("audit_7_versions.sql"),
            Self::Confirmed => include_str!("audit_8_confirmed.sql"),
            Self::Sent => include_str!("audit_8_order.sql"),
            Self::Queued => include_str!("audit_8_told.sql"),
            Self::Money => include_str!("audit_9_money.sql"),
        }
    }
}

/// Begins the snapshot. It is taken by the first statement after this.
pub async fn begin(connection: &mut PgConnection) -> Result<Transaction<'_, Postgres>, StoreError> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    sqlx::raw_sql(FREE).execute(&mut *transaction).await?;
    Ok(transaction)
}

/// Lets the statements after this look rows up by their keys.
pub async fn look_up(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::raw_sql(BOUND).execute(connection).await?;
    Ok(())
}

/// Lets the statements after this read whole tables again.
pub async fn sweep_again(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::raw_sql(FREE).execute(connection).await?;
    Ok(())
}

/// What a sweep finds, in the order of its keys, as it is found.
pub fn sweep(connection: &mut PgConnection, sweep: Sweep) -> BoxStream<'_, Result<Finding, StoreError>> {
    let asked = sqlx::query_as::<_, SweptRow>(sweep.statement());
    let asked = match sweep {
        Sweep::Steps => asked
            .bind(STEPS.map(|step| step.from.map(ReservationState::word)).to_vec())
            .bind(STEPS.map(|step| step.to.word()).to_vec())
            .bind(STEPS.map(|step| step.reserved.sign()).to_vec()),
        Sweep::SlotSteps => asked
            .bind(slot_steps().map(|step| step.from.map(ReservationState::word)).collect::<Vec<_>>())
            .bind(slot_steps().map(|step| step.to.word()).collect::<Vec<_>>()),
        Sweep::Orders => asked.bind(Order::PRECEDENCE.map(|(line, _)| line.word()).to_vec()),
        _ => asked,
    };
    asked.fetch(connection).map_ok(move |row| row.read(sweep)).err_into().boxed()
}

/// A row of any sweep: each names what it has.
#[derive(Default, sqlx::FromRow)]
#[sqlx(default)]
struct SweptRow {
    sku: Option<String>,
    warehouse: Option<String>,
    channel: Option<String>,
    order_ref: Option<String>,
    provider: Option<String>,
    payment_id: Option<String>,
    reservation_id: Option<i64>,
    step_id: Option<i64>,
    slot_hold_id: Option<i64>,
    resource: Option<String>,
    stream: Option<String>,
    sequence: Option<i64>,
    subject: Option<String>,
    event_id: Option<String>,
    expected: String,
    found: String,
}

impl SweptRow {
    fn read(self, sweep: Sweep) -> Finding {
        let place = Place {
            sku: self.sku,
            warehouse: self.warehouse,
            channel: self.channel,
            order_ref: self.order_ref,
            provider: self.provider,
            payment_id: self.payment_id,
            reservation_id: self.reservation_id,
            step_id: self.step_id,
            slot_hold_id: self.slot_hold_id,
            resource: self.resource,
            stream: self.stream,
            sequence: self.sequence,
            subject: self.subject,
            event_id: self.event_id,
        };
        let (invariant, figure) = (sweep.invariant(), sweep.figure());
        Finding { invariant, place, expected: self.expected, found: self.found, figure }
    }
}

/// A message whose fate is asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its full subject, without prefix.
    pub subject: String,
    /// Its place in the stream.
    pub sequence: i64,
    /// When the stream received it, to the microsecond.
    pub received_at: Timestamp,
    /// Its event; none where it cannot be understood.
    pub event: Option<EventKey>,
    /// The order that it would create.
    pub creates: Option<OrderKey>,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Fate {
    /// When its event was taken, if it was; for an event that created an order, when that was claimed.
    pub taken_at: Option<Timestamp>,
    /// Whether it waits.
    pub waits: bool,
    /// Whether its dead letter is still open; none where it has none.
    pub dead_and_open: Option<bool>,
    /// When its dead letter was opened, if it has one.
    pub died_at: Option<Timestamp>,
}

/// What became of these messages of a stream, one each, in their order.
pub async fn fates(connection: &mut PgConnection, stream: &str, asked: &[Asked]) -> Result<Vec<Fate>, StoreError> {
    let event_id = |asked: &Asked| asked.event.as_ref().map(|event| event.id.to_string());
    let order = |asked: &Asked| asked.creates.as_ref().map(|order| order.order_ref.to_string());
    let channel = |asked: &Asked| asked.creates.as_ref().map(|order| order.channel.to_string());
    Ok(sqlx::query_as(include_str!("audit_fates.sql"))
        .bind(stream)
        .bind(asked.iter().map(|asked| asked.subject.replace('\0', "\u{fffd}")).collect::<Vec<_>>())
        .bind(asked.iter().map(event_id).collect::<Vec<_>>())
        .bind(asked.iter().map(channel).collect::<Vec<_>>())
        .bind(asked.iter().map(order).collect::<Vec<_>>())
        .bind(asked.iter().map(|asked| asked.sequence).collect::<Vec<_>>())
        .bind(asked.iter().map(|asked| asked.received_at).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?)
}

/// Every stock row, in the order of their keys.
pub fn stock(connection: &mut PgConnection) -> BoxStream<'_, Result<(StockKey, Stock), StoreError>> {
    let read = |(sku, warehouse, on_hand, reserved, version): (String, String, _, _, _)| {
        (key(&sku, &warehouse), Stock { on_hand, reserved, version })
    };
    sqlx::query_as(include_str!("audit_stock.sql")).fetch(connection).map_ok(read).err_into().boxed()
}

/// An audit on schedule, as it was recorded.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Recorded {
    /// How many seconds ago it began.
    pub began_s_ago: f64,
    /// How many it took.
    pub took_s: f64,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How much was found, by invariant: the first is that of invariant 1.
    pub findings: Vec<i64>,
}

/// The last audit on schedule, if there was one.
pub async fn last(connection: &mut PgConnection) -> Result<Option<Recorded>, StoreError> {
    Ok(sqlx::query_as(include_str!("audit_last.sql")).fetch_optional(connection).await?)
}

/// Records an audit that took so long and has just ended, and returns when that was.
pub async fn record(
    connection: &mut PgConnection,
    took: Duration,
    findings: &[u64],
    unchecked: Option<&str>,
) -> Result<Timestamp, StoreError> {
    let findings: Vec<i64> = findings.iter().map(|count| i64::try_from(*count).unwrap_or(i64::MAX)).collect();
    Ok(sqlx::query_scalar(include_str!("audit_record.sql"))
        .bind(took.as_secs_f64())
        .bind(findings)
        .bind(unchecked)
        .fetch_one(connection)
        .await?)
}
