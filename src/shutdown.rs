//! The end, asked for by a signal: the first one asks, the second one does not.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How long the work under way may take after the first signal. `run` is to be gone 10 s after it; the last second is for
/// closing connections.
pub const GRACE: Duration = Duration::from_secs(9);

/// Whether the end has been asked for. Clones share the answer.
#[derive(Debug, Clone)]
pub struct Shutdown {
    token: CancellationToken,
}

impl Shutdown {
    /// Listens to SIGTERM and SIGINT from now on. The first cancels [`token`](Self::token), a second leaves the process at
    /// once with exit code 1.
    ///
    /// # Errors
    /// The signals cannot be listened to.
    pub fn on_signals() -> io::Result<Self> {
        let mut signals = Signals::listen()?;
        let token = CancellationToken::new();
        let asked = token.clone();
        tokio::spawn(async move {
            let name = signals.next().await;
            tracing::info!("{name}: taking nothing new, finishing what there is");
            asked.cancel();
            let name = signals.next().await;
            eprintln!("lastunit: second signal, {name}: leaving at once, unfinished work is redelivered");
            std::process::exit(1);
        });
        Ok(Self { token })
    }

    /// Cancelled by the first signal, or by [`ask`](Self::ask).
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Asks for the end from within.
    pub fn ask(&self) {
        self.token.cancel();
    }

    /// Waits until the end has been asked for and [`GRACE`] has passed since.
    pub async fn deadline(&self) {
        self.token.cancelled().await;
        tokio::time::sleep(GRACE).await;
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_signal_asks_for_the_end() {
        let shutdown = Shutdown::on_signals().unwrap();
        assert!(!shutdown.token().is_cancelled());
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGTERM).unwrap();
        shutdown.token().cancelled().await;
    }
}
