//! Faults: the program dies at its crash points, servers die under load, messages are poison. Afterwards every test asks the same three
//! questions: is everything settled, do the invariants hold, was every event answered exactly once.

mod copies;
mod crashes;
mod deadlocks;
mod errors;
mod inventory;
mod kills;
mod lost_broker;
mod lost_streams;
mod poison;
mod postgres;
mod races;
mod sale;
mod signals;
mod unreadable;
