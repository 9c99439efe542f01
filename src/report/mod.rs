//! Reports that a shop decides by: read in one snapshot, changing nothing.
//!
//! - `holds`: how long buyers take to pay, against how long they are given.
//! - `stages`: where an order's time went.

mod holds;
mod stages;

pub use holds::{Holds, Suggestion};
pub use stages::{Stages, read as read_stages};
