//! A durable consumer that begins at another place: no server lets that be changed, so it is deleted and made again.

use async_nats::jetstream::{Context, ErrorCode};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::wire::{Wanted, ask};
use super::{ConsumerFile, Topology, TopologyError};

impl Topology {
    /// Makes a durable consumer deliver again everything that its stream received since then. What it had out is forgotten.
    ///
    /// # Errors
    ///
    /// [`TopologyError::Refused`], [`TopologyError::Unreachable`], [`TopologyError::Ignored`].
    pub async fn rewind(
        &self,
        js: &Context,
        consumer: &ConsumerFile,
        since: OffsetDateTime,
    ) -> Result<(), TopologyError> {
        let wanted = Wanted::Consumer(consumer);
        let delete = format!("CONSUMER.DELETE.{}.{}", consumer.stream, consumer.durable);
        match ask(js, &wanted.id(), delete, &json!({})).await {
            Err(TopologyError::Refused { error, .. }) if error.error_code() == ErrorCode::CONSUMER_NOT_FOUND => {}
            other => drop(other?),
        }
        let mut config = wanted.config().clone();
        let since = since.format(&Rfc3339).expect("an instant of this era is formatted");
        config.insert("deliver_policy".to_owned(), Value::from("by_start_time"));
        config.insert("opt_start_time".to_owned(), Value::from(since));
        wanted.write(js, "CREATE", &config).await
    }
}
