//! What was told is told again, where a person asked for it: the broker has lost it.
//!
//! Rows go out in order of id and with the ids they had, a few between any two rounds of what is new. A stock row is doubted before anything old
//! is told of it, and retold when all is: so the last word about it is what it is. All of that stands in tables, and the lane of whatever
//! process takes its turn next goes on with it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sqlx::Connection;

use super::{PAUSE, ROWS, Round, Teller, report_failure, retell, stock_keys};
use crate::crash_point;
use crate::domain::StockKey;
use crate::store::outbox::{Lane, Row};
use crate::store::replays::{self, Replay};
use crate::store::{StoreError, doubts};

/// How often a lane looks whether anybody wants anything told again.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How many stock rows are retold in one transaction.
const RETOLD_AT_ONCE: i64 = 500;

/// What a lane knows of replays.
#[derive(Debug, Default)]
pub(super) struct Again {
    replay: Option<Replay>,
    looked: Option<Instant>,
}

impl Teller<'_> {
    /// Tells the next rows of the oldest replay; retells what is in doubt when there are no more.
    pub(super) async fn tell_again(&mut self) -> anyhow::Result<Round> {
        let Some(replay) = self.replay().await? else { return Ok(Round::Idle) };
        let rows = replays::next(&mut self.session, self.lane, &replay, ROWS).await?;
        if rows.is_empty() {
            self.end(&replay).await?;
            return Ok(Round::Told);
        }
        let parcels = rows.iter().map(Row::parcel).collect::<Result<Vec<_>, _>>()?;
        let doubted: BTreeSet<StockKey> = parcels.iter().flat_map(stock_keys).collect();
        doubts::add_many(&mut self.session, &doubted.into_iter().collect::<Vec<_>>()).await?;
        let (told, failure) = self.send(&rows, &parcels).await?;
        crash_point("relay::told_again");
        self.note_loss().await?;
        if let Some(last) = told.checked_sub(1).map(|place| rows[place].id) {
            let known = self.known();
            replays::told(&mut self.session, &replay, last, told.try_into()?, (&self.stream, known)).await?;
            self.again.replay = Some(Replay { told_to: last, ..replay });
        }
        if let Some(failure) = failure {
            report_failure(self.lane, &failure);
            tokio::time::sleep(PAUSE).await;
            return Ok(Round::Failed);
        }
        Ok(Round::Told)
    }

    async fn replay(&mut self) -> Result<Option<Replay>, StoreError> {
        let looked = |at: Instant| at.elapsed() < LOOK_EVERY;
        if self.again.replay.is_none() && !self.again.looked.is_some_and(looked) {
            self.again.looked = Some(Instant::now());
            self.again.replay = replays::open(&mut self.session, self.lane).await?;
            if let Some(replay) = &self.again.replay {
                let (stream, since) = (self.lane.stream(), replay.since);
                tracing::info!(stream, %since, "what was told since then is told again");
            }
        }
        Ok(self.again.replay.clone())
    }

    /// Retells what is in doubt, a part of it at a time; when nothing is, the replay is done.
    async fn end(&mut self, replay: &Replay) -> anyhow::Result<()> {
        let doubted = match self.lane {
            Lane::Stock => doubts::some(&mut self.session, RETOLD_AT_ONCE).await?,
            Lane::Reservations | Lane::Dead => Vec::new(),
        };
        if doubted.is_empty() {
            let refilled = self.refilled();
            replays::done(&mut self.session, replay, &refilled).await?;
            self.again = Again::default();
            return Ok(());
        }
        let mut transaction = self.session.begin().await?;
        retell(&mut transaction, &doubted.iter().cloned().collect()).await?;
        doubts::remove_many(&mut transaction, &doubted).await?;
        Ok(transaction.commit().await?)
    }

    /// The streams that a replay of this lane refills, as they are called at the broker.
    fn refilled(&self) -> Vec<String> {
        let sourced = (self.lane == Lane::Stock).then(|| self.relay.topology.stream_name("STOCK_LATEST"));
        sourced.into_iter().chain([self.stream.clone()]).collect()
    }
}
