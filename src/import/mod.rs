//! CSV files in: what another system knew before this one took over.
//!
//! A file is read whole and judged row by row ([`Rows`]); then one transaction judges it against the tables and takes it ([`Report`]): all of it
//! or, where bad rows may be skipped, the rest. One file a kind: what a row is, and what taking it means.

pub mod compare;
pub mod mappings;
pub mod observed;
mod report;
pub mod reservations;
pub mod resources;
mod rows;
pub mod stock;
mod transaction;
pub mod warehouses;

pub use report::{BadRow, BadRows, Report};
pub use rows::{FileFault, MAX_BYTES, Rows};
pub use transaction::in_transaction;
