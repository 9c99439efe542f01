//! Every turn there is, so that no `run` is at work meanwhile.

use sqlx::PgConnection;

use crate::config::Database;
use crate::store::pool;
use crate::store::turn::{self, TurnOf};

/// The turns of a working `run`: one copy or another holds each.
const TURNS: [TurnOf; 4] = [TurnOf::Inventory, TurnOf::RelayStock, TurnOf::RelayReservations, TurnOf::RelayDead];

/// All turns, held until this is dropped.
#[derive(Debug)]
pub struct Taken(PgConnection);

impl Taken {
    /// Takes them all. None where anybody has one: then a `run` is at work.
    ///
    /// # Errors
    /// The database's own.
    pub async fn take(database: &Database) -> Result<Option<Self>, sqlx::Error> {
        let mut session = pool::session(database).await?;
        for turn in TURNS {
            if !turn::take(&mut session, turn).await? {
                return Ok(None);
            }
        }
        Ok(Some(Self(session)))
    }

    /// On which the turns are held.
    pub fn session(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}
