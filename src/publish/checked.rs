//! A desk holds maps and key against what its channel knows, and asks a person about what does not fit. Whatever it finds, the channel goes on.

use sqlx::Connection as _;

use super::check::{CheckFinding, Maps, check, questions};
use super::desk::Desk;
use crate::engine::tell_reviews;
use crate::store::{StoreError, channel_maps, channels, clock, reviews};

impl Desk {
    pub(super) async fn check(&self) {
        match self.ask_and_note().await {
            Ok(findings) => {
                for finding in findings {
                    tracing::warn!(channel = %self.channel, "{finding}");
                }
            }
            Err(error) => tracing::warn!(channel = %self.channel, error = %error, "maps and key were not checked"),
        }
    }

    async fn ask_and_note(&self) -> Result<Vec<CheckFinding>, StoreError> {
        let mut connection = self.ground.pool.acquire().await?;
        let items = channel_maps::items(&mut connection, self.channel.as_str()).await?;
        let warehouses = channel_maps::warehouses(&mut connection, self.channel.as_str()).await?;
        let now = clock::now(&mut connection).await?;
        drop(connection);
        let findings = check(&*self.market, &Maps { items, warehouses }, now).await;
        let questions = questions(&self.channel, &findings);
        let mut connection = self.ground.pool.acquire().await?;
        let mut transaction = connection.begin().await?;
        let opened = reviews::open_many(&mut transaction, &questions, now).await?;
        tell_reviews(&mut transaction, &questions, &reviews::new_ids(&opened), now).await?;
        channels::checked(&mut transaction, &self.channel).await?;
        transaction.commit().await?;
        self.ground.outbox.notify_waiters();
        Ok(findings)
    }
}
