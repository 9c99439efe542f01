//! What operators see of a running copy: whether it is ready, what it counts.

pub mod health;
pub mod http;
pub mod metrics;

pub use health::{Condition, Readiness};
