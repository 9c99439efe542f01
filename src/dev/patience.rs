//! Waiting on a condition, for a bounded time.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Between two looks at what is waited for.
const INTERVAL: Duration = Duration::from_millis(5);

/// How long a condition may take to come true.
///
/// ```
/// # use lastunit::dev::Patience;
/// # use std::time::Duration;
/// # let mut looks = 0;
/// # let mut ready = || { looks += 1; looks > 2 };
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let patience = Patience::new("the door to open", Duration::from_secs(1));
/// while !ready() {
///     patience.pause().await?;
/// }
/// # anyhow::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Patience {
    what: String,
    limit: Duration,
    since: Instant,
}

impl Patience {
    /// Starts to wait for something.
    pub fn new(what: impl Into<String>, limit: Duration) -> Self {
        let (what, since) = (what.into(), Instant::now());
        Self { what, limit, since }
    }

    /// Waits a moment before the next look, or fails with what was waited for once the time is up.
    pub async fn pause(&self) -> Result<()> {
        self.check()?;
        tokio::time::sleep(INTERVAL).await;
        Ok(())
    }

    /// The same where nothing can be awaited, as in `Drop`.
    pub fn pause_blocking(&self) -> Result<()> {
        self.check()?;
        std::thread::sleep(INTERVAL);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.since.elapsed() >= self.limit {
            bail!("waited {:?} for {}", self.limit, self.what);
        }
        Ok(())
    }
}
