//! The names of all metrics. A name that is once released stays.

use ::metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

use crate::domain::Reason;

/// Messages a batch took. Histogram; label `stream`.
pub const BATCH_MESSAGES: &str = "lastunit_batch_messages";
/// Seconds from a batch's BEGIN to its COMMIT, retries included. Histogram.
pub const BATCH_SECONDS: &str = "lastunit_batch_seconds";
/// What became of orders. Counter; label `outcome`, the word of the answer.
pub const DECIDED: &str = "lastunit_decided_total";
/// Messages refused into `DEAD`. Counter; label `reason`, a word of the contract. `internal` should page somebody.
pub const DEAD_LETTERS: &str = "lastunit_dead_letters_total";
/// Events that had been decided before, delivered again. Counter.
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
/// Messages that a stream has not got of the one it sources. Gauge; label `stream`.
pub const SOURCING_BEHIND: &str = "lastunit_sourcing_behind_messages";
/// Times that a stream's sourcing stood still and was begun anew. Counter.
pub const SOURCING_RESTARTED: &str = "lastunit_sourcing_restarted_total";
/// What no kept row is older than, in seconds. Gauge; label `kept`: `inbox`, `outbox`, `dead_letters` (since it was resolved).
pub const KEPT_OLDEST_SECONDS: &str = "lastunit_kept_oldest_seconds";
/// Generations emptied and begun anew. Counter; label `kept`.
pub const ROTATIONS: &str = "lastunit_rotations_total";
/// For how many seconds a generation should have been emptied and could not be. Gauge; label `kept`. Above some minutes somebody should look:
/// something is not told, or a session holds a table open.
pub const ROTATION_OVERDUE_SECONDS: &str = "lastunit_rotation_overdue_seconds";
/// Resolved dead letters let go of. Counter.
pub const DEAD_LETTERS_PRUNED: &str = "lastunit_dead_letters_pruned_total";
/// Age of the oldest transaction in the database that keeps dead rows from being removed, 0 without any. Gauge.
pub const OLDEST_SNAPSHOT_SECONDS: &str = "lastunit_oldest_snapshot_seconds";

/// What the last audit of this copy found. Gauge; label `invariant`, 1 to 9. Anything above 0 should page somebody.
pub const AUDIT_FINDINGS: &str = "lastunit_audit_findings";
/// When the last audit of this copy ended, in seconds since 1970. Gauge.
pub const AUDIT_LAST_TIME: &str = "lastunit_audit_last_timestamp_seconds";
/// How long it took. Gauge.
pub const AUDIT_SECONDS: &str = "lastunit_audit_duration_seconds";

/// Streams and durable consumers that have lost what was in them, not made good yet. Gauge: the warnings of `/readyz` name them.
pub const BROKER_LOSSES: &str = "lastunit_broker_losses";

/// Points that a channel was told, by what became of it. Counter; labels `channel`, `outcome`.
pub const PUSHES: &str = "lastunit_pushes_total";
/// Versions that channels were told, let go of. Counter.
pub const PUSHES_PRUNED: &str = "lastunit_pushes_pruned_total";
/// Points that were looked at. Counter; labels `channel`, `verdict`: `in_sync`, `lagging`, `drift`, `absent`.
pub const OBSERVED: &str = "lastunit_observed_total";
/// Points that should be told now. Gauge; label `channel`, as of all that follow; 0 in copies that do not have the channel's turn.
pub const PUSH_DUE: &str = "lastunit_push_due_points";
/// For how many seconds the oldest of them. Gauge.
pub const PUSH_DUE_SECONDS: &str = "lastunit_push_due_seconds";
/// Points that are being told. Gauge.
pub const PUSH_FLYING: &str = "lastunit_push_flying_points";
/// 1 while the channel takes nothing whatever it is told: a key that is not taken, a ban. Gauge; should page somebody.
pub const PUSH_HALTED: &str = "lastunit_push_halted";
/// Points that wait for a person. Gauge.
pub const PUSH_PARKED: &str = "lastunit_push_parked_points";
/// Units that a channel shows and that are not free: what may be oversold there. Gauge.
pub const OVERSELL_EXPOSURE_UNITS: &str = "lastunit_oversell_exposure_units";
/// For how many seconds the oldest of them. Gauge.
pub const OVERSELL_EXPOSURE_SECONDS: &str = "lastunit_oversell_exposure_seconds";

/// Tells the recorder what the names mean. Counters begin at 0, so that their first increment shows as one.
pub fn describe() {
    for name in
        [REDELIVERED, EXPIRED_ORDERS, REPLIES_IGNORED, CONSUMER_REBUILT, DEAD_LETTERS_PRUNED, SOURCING_RESTARTED]
    {
        counter!(name).absolute(0);
    }
    counter!(DEAD_LETTERS, "reason" => Reason::Internal.word()).absolute(0);
    describe_histogram!(BATCH_MESSAGES, Unit::Count, "Messages a batch took.");
    describe_histogram!(BATCH_SECONDS, Unit::Seconds, "From BEGIN to COMMIT.");
    describe_counter!(DECIDED, "What became of orders, by outcome.");
    describe_counter!(DEAD_LETTERS, "Messages refused into DEAD.");
    describe_counter!(REDELIVERED, "Events delivered that had been decided before.");
    describe_counter!(RETRIES, "Transactions started over.");
    describe_gauge!(OUTBOX_UNSENT_ROWS, "Outbox rows not acknowledged.");
    describe_gauge!(OUTBOX_OLDEST_SECONDS, "Age of the oldest unsent row.");
    describe_counter!(RELAY_PUBLISHED, "Events published and acknowledged.");
    describe_counter!(RELAY_FAILURES, "Publications that failed.");
    describe_counter!(EXPIRED_ORDERS, "Orders whose hold ended unpaid.");
    describe_counter!(REPLIES_IGNORED, "Reply headers that were ignored.");
    describe_counter!(PUSHES, "Points told, by outcome.");
    describe_counter!(OBSERVED, "Points looked at, by verdict.");
    describe_gauge!(PUSH_DUE, "Points that should be told now.");
    describe_gauge!(PUSH_DUE_SECONDS, Unit::Seconds, "For how long the oldest of them.");
    describe_gauge!(PUSH_FLYING, "Points that are being told.");
    describe_gauge!(PUSH_HALTED, "Whether the channel takes nothing.");
    describe_gauge!(PUSH_PARKED, "Points that wait for a person.");
    describe_gauge!(OVERSELL_EXPOSURE_UNITS, "Units shown and not free.");
    describe_gauge!(OVERSELL_EXPOSURE_SECONDS, Unit::Seconds, "For how long the oldest of them.");
    describe_gauge!(AUDIT_FINDINGS, Unit::Count, "What the last audit found, by invariant.");
    describe_gauge!(AUDIT_LAST_TIME, Unit::Seconds, "When the last audit ended.");
    describe_gauge!(AUDIT_SECONDS, Unit::Seconds, "How long the last audit took.");
    describe_gauge!(BROKER_LOSSES, "Streams and consumers that lost what was in them.");
    describe_counter!(CONSUMER_REBUILT, "Consumers made again.");
    describe_gauge!(KEPT_OLDEST_SECONDS, Unit::Seconds, "What no kept row is older than.");
    describe_counter!(ROTATIONS, "Generations emptied and begun anew.");
    describe_gauge!(ROTATION_OVERDUE_SECONDS, Unit::Seconds, "For how long a generation could not be emptied.");
    describe_counter!(DEAD_LETTERS_PRUNED, "Resolved dead letters let go of.");
    describe_gauge!(OLDEST_SNAPSHOT_SECONDS, Unit::Seconds, "Age of the oldest transaction that keeps dead rows.");
    describe_gauge!(SOURCING_BEHIND, Unit::Count, "Messages not yet sourced.");
    describe_counter!(SOURCING_RESTARTED, "Times that sourcing was begun anew.");
}
