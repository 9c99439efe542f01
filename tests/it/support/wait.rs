//! Waiting for conditions; never for time.

use std::time::Duration;

use lastunit::dev::Patience;

/// Waits until the condition holds, or fails the test with what was waited for.
///
/// ```ignore
/// wait_until("the order to be held", Duration::from_secs(10), async || held(&pool).await).await;
/// ```
#[track_caller]
pub fn wait_until<C>(what: &str, deadline: Duration, mut condition: C) -> impl Future<Output = ()> + use<'_, C>
where
    C: AsyncFnMut() -> bool,
{
    let caller = std::panic::Location::caller();
    async move {
        let patience = Patience::new(what, deadline);
        while !condition().await {
            if let Err(error) = patience.pause().await {
                panic!("{caller}: {error}");
            }
        }
    }
}
