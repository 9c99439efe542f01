//! Reports that a shop decides by: read in one snapshot, changing nothing.
//!
//! - `holds`: how long buyers take to pay, against how long they are given.
//! - `stages`: where an order's time went.
//! - `safety`: what channels sold that was not there, or showed that they had not been told, and how many units to keep from them.

mod holds;
mod safety;
mod stages;

pub use holds::{Holds, Suggestion};
pub use safety::{Of, Safety};
pub use stages::{Stages, read as read_stages};
