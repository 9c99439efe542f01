//! What may go wrong, once, when it is asked for.

use std::time::Duration;

/// What becomes of one call instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is applied at once, and answered only so much later.
    Slow(Duration),
    /// It is applied only so much later, whether or not anybody still waits, and answered then.
    Late(Duration),
    /// It is accepted at once, and applied so much later.
    AcceptedLate(Duration),
    /// It is accepted, and never applied.
    Lie,
    /// The rate is said to be exceeded, the pause in seconds named by the channel's header.
    Throttled(Option<u64>),
    /// That status, and nothing is applied.
    Status(u16),
    /// It is applied, and answered with that status.
    AppliedThenStatus(u16),
    /// It is applied, and its answer breaks off in the middle.
    HalfBody,
    /// It is applied, and its answer comes byte by byte, for longer than anybody waits.
    Drip,
    /// It is applied, and the connection ends without an answer.
    Cut,
    /// The answer lacks the item (Ozon, webhook); elsewhere none is listed anyway.
    MissingRow,
    /// The item is refused with that code; it is the armed address, or the first of the call.
    Refused(&'static str),
    /// Stocks are closed for maintenance.
    Maintenance,
    /// The seller is banned, or their key is.
    Banned,
    /// The call is refused for one item that is not named.
    Unnamed,
    /// The warehouse is being changed.
    Processing,
}
