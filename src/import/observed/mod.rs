//! What a marketplace's cabinet shows, out of a file that it gives: held against what it had been told at that moment. The way out when the
//! channel cannot be read by its interface.
//!
//! Nothing is healed by this. What differs without a reason is looked at next, and the look decides.

mod file;

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use sqlx::PgConnection;

pub use file::{Row, read};

use super::{BadRow, BadRows, Report, Rows};
use crate::domain::{Qty, Timestamp, Verdict};
use crate::store::StoreError;
use crate::store::observed::{self, PointThen, Seen};

/// How many rows are asked for or written at once.
const CHUNK: usize = 2_000;

/// Of which channel a file is, and of when.
#[derive(Debug, Clone, Copy)]
pub struct Asks<'a> {
    /// The channel.
    pub channel: &'a str,
    /// When the cabinet showed it.
    pub at: Timestamp,
    /// How long an accepted push may take to show.
    pub grace: Duration,
    /// Whether the channel can be read, so that what drifted can be looked at.
    pub reads: bool,
}

/// A row that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its line in the file.
    pub line: usize,
    /// What.
    pub sku: String,
    /// Where.
    pub warehouse: String,
    /// How many the channel showed.
    pub observed_qty: Qty,
    /// How many it had been told; none where nothing had been.
    pub told_qty: Option<Qty>,
    /// Of which version.
    pub told_version: Option<i64>,
    /// The newest version, as of now.
    pub newest_version: i64,
    /// Lagging or drift.
    pub verdict: Verdict,
}

/// A file, held against what had been told.
#[derive(Debug, Default)]
pub struct Compared {
    seen: Vec<Seen>,
    bad: Vec<BadRow>,
    /// What differs, in the order of the file.
    pub different: Vec<Difference>,
}

impl Compared {
    /// How many rows have that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.seen.iter().filter(|seen| seen.verdict == verdict.word()).count()
    }
}

/// Holds the rows against what had been told. An address that no point of the channel has is a bad row.
///
/// # Errors
/// The database's own.
pub async fn compare(connection: &mut PgConnection, rows: &Rows<Row>, asks: Asks<'_>) -> Result<Compared, StoreError> {
    let mut compared = Compared { bad: rows.bad.clone(), ..Compared::default() };
    for chunk in rows.good.chunks(CHUNK) {
        let addresses: Vec<_> = chunk.iter().map(|(_, row)| &row.address).collect();
        let points = observed::points(connection, asks.channel, &addresses, asks.at).await?;
        let points: HashMap<i64, PointThen> = points.into_iter().map(|point| (point.place, point)).collect();
        for (place, (line, row)) in (1..).zip(chunk) {
            match points.get(&place) {
                Some(point) => compared.add(*line, row.qty, point, asks),
                None => compared.refuse(*line, row, asks.channel),
            }
        }
    }
    Ok(compared)
}

impl Compared {
    fn add(&mut self, line: usize, observed_qty: Qty, point: &PointThen, asks: Asks<'_>) {
        let verdict = judge(observed_qty, point, asks.at, asks.grace);
        let PointThen { sku, warehouse, qty, version, newest_version, .. } = point.clone();
        if verdict != Verdict::InSync {
            let (sku, warehouse) = (sku.clone(), warehouse.clone());
            let difference = Difference {
                line,
                sku,
                warehouse,
                observed_qty,
                told_qty: qty,
                told_version: version,
                newest_version,
                verdict,
            };
            self.different.push(difference);
        }
        let verdict = verdict.word();
        self.seen.push(Seen { sku, warehouse, observed_qty, desired_qty: qty, compared_version: version, verdict });
    }

    fn refuse(&mut self, line: usize, row: &Row, channel: &str) {
        let address = &row.address;
        let reason = format!(
            "{channel} sells nothing as {:?} in {:?}, as far as is known here",
            address.external_id, address.external_warehouse_id
        );
        self.bad.push(BadRow { line, reason });
    }
}

/// What it means that the point showed so many at that instant.
fn judge(observed: Qty, point: &PointThen, at: Timestamp, grace: Duration) -> Verdict {
    let (Some(version), Some(qty), Some(began_at)) = (point.version, point.qty, point.began_at) else {
        return Verdict::Lagging;
    };
    if observed == qty {
        return Verdict::InSync;
    }
    let is_outdated = point.newest_version > version || point.told_at.is_some_and(|told_at| told_at > at);
    if is_outdated || began_at + grace > at { Verdict::Lagging } else { Verdict::Drift }
}

/// Keeps what was seen, and has what drifted looked at, if the channel can be read.
///
/// # Errors
/// The database's own.
pub async fn take(
    connection: &mut PgConnection,
    compared: &Compared,
    asks: Asks<'_>,
    bad_rows: BadRows,
) -> Result<Report, StoreError> {
    let mut report = Report { bad: compared.bad.clone(), ..Report::default() };
    if !report.allows(bad_rows) {
        return Ok(report);
    }
    let mut drifted: Vec<&Seen> =
        compared.seen.iter().filter(|seen| asks.reads && seen.verdict == Verdict::Drift.word()).collect();
    // In one order over all chunks: that in which points are locked.
    drifted.sort_by(|left, right| (&left.sku, &left.warehouse).cmp(&(&right.sku, &right.warehouse)));
    for chunk in drifted.chunks(CHUNK) {
        observed::look_many(connection, asks.channel, chunk).await?;
    }
    for chunk in compared.seen.chunks(CHUNK) {
        report.taken += observed::insert_many(connection, asks.channel, chunk, asks.at).await?;
    }
    report.unchanged = compared.seen.len() - report.taken;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const AT: Timestamp = datetime!(2027-01-01 12:00 UTC);
    const GRACE: Duration = Duration::from_mins(1);

    /// A point that was told 5 of version 7 ten minutes before.
    fn told() -> PointThen {
        let then = AT - Duration::from_mins(10);
        PointThen {
            place: 1,
            sku: "A".to_owned(),
            warehouse: "main".to_owned(),
            newest_version: 7,
            told_at: Some(then),
            version: Some(7),
            qty: Some(5),
            began_at: Some(then),
        }
    }

    #[test]
    fn what_was_told_is_in_sync_whatever_came_after() {
        assert_eq!(judge(5, &told(), AT, GRACE), Verdict::InSync);
        assert_eq!(judge(5, &PointThen { newest_version: 8, ..told() }, AT, GRACE), Verdict::InSync);
    }

    #[test]
    fn another_number_without_a_reason_is_drift() {
        assert_eq!(judge(4, &told(), AT, GRACE), Verdict::Drift);
        assert_eq!(judge(0, &told(), AT, GRACE), Verdict::Drift);
        let just_past = PointThen { began_at: Some(AT - GRACE), ..told() };
        assert_eq!(judge(4, &just_past, AT, GRACE), Verdict::Drift);
    }

    #[test]
    fn another_number_with_a_reason_is_lagging() {
        let seconds = Duration::from_secs;
        for reason in [
            PointThen { newest_version: 8, ..told() },
            // The same version, sent once more since then.
            PointThen { told_at: Some(AT + seconds(1)), ..told() },
            PointThen { began_at: Some(AT - seconds(59)), ..told() },
            PointThen { version: None, qty: None, began_at: None, told_at: None, ..told() },
        ] {
            assert_eq!(judge(4, &reason, AT, GRACE), Verdict::Lagging, "{reason:?}");
        }
    }
}
