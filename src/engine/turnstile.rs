//! Batches side by side, and still in stream order.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

/// Lets one batch at a time take its locks, in the order in which they came.
///
/// A batch passes when it holds all its locks. The next then claims its orders while the one before writes, and waits only where both need the
/// same rows, where it finds everything that the one before did: two are under way, and the outcome is that of one after the other.
#[derive(Debug, Clone, Default)]
pub struct Turnstile(Arc<Mutex<()>>);

/// The right to take locks; given up when dropped.
#[derive(Debug)]
pub struct Pass {
    _guard: OwnedMutexGuard<()>,
}

impl Turnstile {
    /// Waits for those that came before.
    pub async fn enter(&self) -> Pass {
        Pass { _guard: self.0.clone().lock_owned().await }
    }
}
