//! Faults: the program dies at its crash points, servers die under load, messages are poison. Afterwards every test asks the same three
//! questions: is everything settled, do the invariants hold, was every event answered exactly once.

mod clocks;
mod cluster;
mod copies;
mod crashes;
mod cut_answers;
mod deadlocks;
mod errors;
mod full_streams;
mod inventory;
mod kills;
mod locks;
mod lost_broker;
mod lost_streams;
mod paid_races;
mod parcels;
mod pauses;
mod poison;
mod postgres;
mod races;
mod redelivered;
mod sale;
mod signals;
mod unreadable;
