//! The names of all metrics. A name that is once released stays.

use ::metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

use crate::domain::Reason;

/// Messages a batch took. Histogram; label `stream`.
pub const BATCH_MESSAGES: &str = "lastunit_batch_messages";
/// Seconds from a batch's BEGIN to its COMMIT, retries included. Histogram.
pub const BATCH_SECONDS: &str = "lastunit_batch_seconds";
/// Commands decided. Counter; label `outcome`.
pub const DECIDED: &str = "lastunit_decided_total";
/// Messages refused into `DEAD`. Counter; label `reason`, a word of the contract. `internal` should page somebody.
pub const DEAD_LETTERS: &str = "lastunit_dead_letters_total";
/// Messages the broker delivered again. Counter.
pub const REDELIVERED: &str = "lastunit_redelivered_total";
/// Transactions started over. Counter; label `cause`.
pub const RETRIES: &str = "lastunit_retries_total";
/// Outbox rows the broker has not acknowledged. Gauge.
pub const OUTBOX_UNSENT_ROWS: &str = "lastunit_outbox_unsent_rows";
/// Age of the oldest of them in seconds, 0 without any. Gauge: what nobody was told for so long.
pub const OUTBOX_OLDEST_SECONDS: &str = "lastunit_outbox_oldest_seconds";
/// Events published and acknowledged. Counter; label `stream`.
pub const RELAY_PUBLISHED: &str = "lastunit_relay_published_total";
/// Publications that failed and are tried again. Counter; label `stream`.
pub const RELAY_FAILURES: &str = "lastunit_relay_failures_total";
/// Orders whose hold ended unpaid. Counter.
pub const EXPIRED_ORDERS: &str = "lastunit_expired_orders_total";
/// `Lastunit-Reply-To` headers that name no permitted subject. Counter.
pub const REPLIES_IGNORED: &str = "lastunit_replies_ignored_total";
/// Consumers made again because they had vanished or stalled. Counter.
pub const CONSUMER_REBUILT: &str = "lastunit_consumer_rebuilt_total";

/// Streams and durable consumers that have lost what was in them, not made good yet. Gauge: the warnings of `/readyz` name them.
pub const BROKER_LOSSES: &str = "lastunit_broker_losses";

/// Tells the recorder what the names mean. Counters begin at 0, so that their first increment shows as one.
pub fn describe() {
    for name in [REDELIVERED, EXPIRED_ORDERS, REPLIES_IGNORED, CONSUMER_REBUILT] {
        counter!(name).absolute(0);
    }
    counter!(DEAD_LETTERS, "reason" => Reason::Internal.word()).absolute(0);
    describe_histogram!(BATCH_MESSAGES, Unit::Count, "Messages a batch took.");
    describe_histogram!(BATCH_SECONDS, Unit::Seconds, "From BEGIN to COMMIT.");
    describe_counter!(DECIDED, "Commands decided.");
    describe_counter!(DEAD_LETTERS, "Messages refused into DEAD.");
    describe_counter!(REDELIVERED, "Messages the broker delivered again.");
    describe_counter!(RETRIES, "Transactions started over.");
    describe_gauge!(OUTBOX_UNSENT_ROWS, "Outbox rows not acknowledged.");
    describe_gauge!(OUTBOX_OLDEST_SECONDS, "Age of the oldest unsent row.");
    describe_counter!(RELAY_PUBLISHED, "Events published and acknowledged.");
    describe_counter!(RELAY_FAILURES, "Publications that failed.");
    describe_counter!(EXPIRED_ORDERS, "Orders whose hold ended unpaid.");
    describe_counter!(REPLIES_IGNORED, "Reply headers that were ignored.");
    describe_gauge!(BROKER_LOSSES, "Streams and consumers that lost what was in them.");
    describe_counter!(CONSUMER_REBUILT, "Consumers made again.");
}
