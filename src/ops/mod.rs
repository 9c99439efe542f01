//! What operators see of a running copy: whether it is ready, what it counts, and what it answers.

pub mod health;
pub mod http;
pub mod metrics;
pub mod query;

pub use health::{Condition, Readiness};
