//! Asking again while a cluster elects.

use std::time::Duration;

use tokio::time::Instant;

/// How long a cluster may take to elect the leader of a stream or consumer.
const ELECTION: Duration = Duration::from_secs(5);
/// How long before it is asked again.
const AGAIN: Duration = Duration::from_millis(250);

/// Asks what changes nothing, and asks again for five seconds, but once at least, where there is no answer: a cluster has none for a stream or
/// consumer whose leader is being elected. The first question alone may take as long, waiting for one.
///
/// # Errors
/// What `ask` says last.
pub async fn outlast_election<T, E, F: Future<Output = Result<T, E>>>(
    is_no_answer: impl Fn(&E) -> bool,
    ask: impl Fn() -> F,
) -> Result<T, E> {
    let until = Instant::now() + ELECTION;
    let mut answer = ask().await;
    loop {
        match answer {
            Err(error) if is_no_answer(&error) => tokio::time::sleep(AGAIN).await,
            answered => return answered,
        }
        answer = ask().await;
        if Instant::now() >= until {
            return answer;
        }
    }
}
