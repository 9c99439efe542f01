//! Rates as the real ones keep them.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

const PUSHES: NonZeroU32 = NonZeroU32::MIN.saturating_add(79);
const BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(19);

/// One bucket a method group.
#[derive(Debug)]
pub(super) struct Rates {
    /// Ozon's pushes: 80 a minute.
    ozon: DefaultDirectRateLimiter,
    /// Wildberries' stocks: one each 200 ms, 20 at once.
    wildberries: DefaultDirectRateLimiter,
    /// What refusals have cost and the bucket has not paid yet.
    debt: Mutex<u32>,
}

impl Rates {
    pub(super) fn new() -> Self {
        let wildberries = Quota::with_period(Duration::from_millis(200)).unwrap_or(Quota::per_second(BURST));
        Self {
            ozon: RateLimiter::direct(Quota::per_minute(PUSHES)),
            wildberries: RateLimiter::direct(wildberries.allow_burst(BURST)),
            debt: Mutex::new(0),
        }
    }

    pub(super) fn ozon_passes(&self) -> bool {
        self.ozon.check().is_ok()
    }

    pub(super) fn wildberries_passes(&self) -> bool {
        let mut debt = self.debt.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(owed) = NonZeroU32::new(*debt) {
            let part = owed.min(BURST);
            match self.wildberries.check_n(part) {
                Ok(Ok(())) => *debt -= part.get(),
                _ => return false,
            }
        }
        self.wildberries.check().is_ok()
    }

    /// A refusal counts as ten calls: one is counted already.
    pub(super) fn wildberries_refused(&self) {
        *self.debt.lock().unwrap_or_else(PoisonError::into_inner) += 9;
    }
}
