//! What must be told: one row per transaction and stream, kept until the broker has acknowledged it and for some time after.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use super::StoreError;
use super::broker::Mark;
use crate::domain::Timestamp;

/// The outbound streams; each is told in its own lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Figures of stock rows.
    Stock,
    /// What became of orders, and questions for a person.
    Reservations,
    /// What could not be processed.
    Dead,
}

impl Lane {
    /// All lanes.
    pub const ALL: [Self; 3] = [Self::Stock, Self::Reservations, Self::Dead];

    /// The stream's name, without prefix.
    pub fn stream(self) -> &'static str {
        match self {
            Self::Stock => "STOCK",
            Self::Reservations => "RESERVATIONS",
            Self::Dead => "DEAD",
        }
    }
}

/// One message to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry<'a> {
    /// An event, whole.
    Event {
        /// Its id, the same each time it is told.
        event_id: Uuid,
        /// Its subject, without prefix.
        subject: &'a str,
        /// Its body.
        #[serde(with = "serde_bytes")]
        body: &'a [u8],
        /// The trace it carries on.
        traceparent: Option<&'a str>,
    },
    /// A dead letter, by its row; its body stays there.
    DeadLetter(i64),
}

impl Entry<'_> {
    /// About how many bytes it takes, packed.
    fn size(&self) -> usize {
        match self {
            Self::Event { subject, body, traceparent, .. } => {
                subject.len() + body.len() + traceparent.map_or(0, str::len) + 32
            }
            Self::DeadLetter(_) => 16,
        }
    }
}

/// All that one transaction tells in one lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel<'a> {
    /// The batch's instant, in microseconds since 1970.
    pub at_us: i64,
    /// In order.
    #[serde(borrow)]
    pub entries: Vec<Entry<'a>>,
}

/// The first byte of a packed parcel.
const FORMAT: u8 = 1;

impl Parcel<'_> {
    fn pack(&self) -> Result<Vec<u8>, StoreError> {
        let mut packed = Vec::with_capacity(self.entries.iter().map(Entry::size).sum::<usize>() + 64);
        packed.push(FORMAT);
        postcard::to_extend(self, packed).map_err(|error| unreadable(&error.to_string()))
    }
}

/// A stored row.
#[derive(Debug)]
pub struct Row {
    /// Its id: the order of telling.
    pub id: i64,
    packed: Bytes,
}

impl Row {
    /// A row as it was read.
    pub(super) fn stored(id: i64, packed: Vec<u8>) -> Self {
        Self { id, packed: packed.into() }
    }

    /// A body of this row's parcel, shared and not copied.
    pub fn share(&self, body: &[u8]) -> Bytes {
        self.packed.slice_ref(body)
    }

    /// What it tells.
    pub fn parcel(&self) -> Result<Parcel<'_>, StoreError> {
        match self.packed.split_first() {
            Some((&FORMAT, packed)) => postcard::from_bytes(packed).map_err(|error| unreadable(&error.to_string())),
            _ => Err(unreadable("unknown format")),
        }
    }
}

fn unreadable(detail: &str) -> StoreError {
    StoreError::Unreadable { what: "outbox row", detail: detail.into() }
}

/// Stores what a transaction tells: one row for each lane that has anything to tell.
pub async fn insert_many(
    connection: &mut PgConnection,
    parcels: &[(Lane, Parcel<'_>)],
    at: Timestamp,
) -> Result<(), StoreError> {
    let told: Vec<&(Lane, Parcel<'_>)> = parcels.iter().filter(|(_, parcel)| !parcel.entries.is_empty()).collect();
    if told.is_empty() {
        return Ok(());
    }
    let packed = told.iter().map(|(_, parcel)| parcel.pack()).collect::<Result<Vec<_>, _>>()?;
    sqlx::query(include_str!("outbox_insert.sql"))
        .bind(told.iter().map(|(lane, _)| lane.stream()).collect::<Vec<_>>())
        .bind(packed)
        .bind(at)
        .execute(connection)
        .await?;
    Ok(())
}

/// The oldest rows of a lane that have not been told.
pub async fn unsent(connection: &mut PgConnection, lane: Lane, limit: i64) -> Result<Vec<Row>, StoreError> {
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as(include_str!("outbox_unsent.sql")).bind(lane.stream()).bind(limit).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(id, packed)| Row::stored(id, packed)).collect())
}

/// The newest row of a lane that has not been told.
pub async fn last_unsent(connection: &mut PgConnection, lane: Lane) -> Result<Option<i64>, StoreError> {
    Ok(sqlx::query_scalar(include_str!("outbox_last_unsent.sql")).bind(lane.stream()).fetch_one(connection).await?)
}

/// When the oldest row was written; none where there is no row.
pub async fn oldest(connection: &mut PgConnection) -> Result<Option<Timestamp>, StoreError> {
    Ok(sqlx::query_scalar(include_str!("outbox_oldest.sql")).fetch_optional(connection).await?)
}

/// Marks rows as told, and remembers what the broker acknowledged last in the stream that is called so there.
pub async fn mark_sent(
    connection: &mut PgConnection,
    ids: &[i64],
    (stream, mark): (&str, Mark),
) -> Result<(), StoreError> {
    sqlx::query(include_str!("outbox_sent.sql"))
        .bind(ids)
        .bind(stream)
        .bind(mark.last_seq)
        .bind(mark.epoch)
        .execute(connection)
        .await?;
    Ok(())
}

/// How many rows of a lane are untold, and the age of the oldest in seconds.
pub async fn backlog(connection: &mut PgConnection, lane: Lane) -> Result<(i64, f64), StoreError> {
    Ok(sqlx::query_as(include_str!("outbox_backlog.sql")).bind(lane.stream()).fetch_one(connection).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_is_read_back_as_it_was_packed() {
        let parcel = Parcel {
            at_us: 1_700_000_000_000_001,
            entries: vec![
                Entry::Event {
                    event_id: Uuid::from_u128(7),
                    subject: "stock.changed.main.A",
                    body: b"{\"qty\":1}",
                    traceparent: Some("00-aa"),
                },
                Entry::DeadLetter(42),
            ],
        };
        let row = Row { id: 1, packed: parcel.pack().expect("packs").into() };
        assert_eq!(row.parcel().expect("reads"), parcel);
        assert!(Row { id: 1, packed: Bytes::from_static(&[9]) }.parcel().is_err());
        assert!(Row { id: 1, packed: Bytes::new() }.parcel().is_err());
    }
}
