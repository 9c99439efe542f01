//! How often a channel may be asked: what is known of its rates, and what it says of them itself.

use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use reqwest::header::HeaderMap;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// The longest pause that a channel is believed to ask for. Values near a day have been seen, and moments where a duration was meant.
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// The first pause after a refusal for the rate that names none; it doubles with each that follows.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// The longest of those.
const LONGEST_BACKOFF: Duration = Duration::from_mins(4);

type Bucket<C> = RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// A group of methods that share one rate.
pub(super) struct Gate<C: Clock = DefaultClock> {
    clock: C,
    bucket: Bucket<C>,
    burst: NonZeroU32,
    state: Mutex<State<C::Instant>>,
}

struct State<I> {
    /// A call that may be made already: taken from the bucket by [`Gate::ready`].
    has_ticket: bool,
    /// Calls to take from the bucket before the next, for refusals that count more than once.
    debt: u32,
    paused_until: Option<I>,
    /// Refusals for the rate in a row.
    throttled: u32,
}

impl Gate {
    /// One call each `period`, and `burst` at once after a rest. A burst of 0 is one of 1.
    pub(super) fn new(period: Duration, burst: u32) -> Self {
        Self::with_clock(period, burst, DefaultClock::default())
    }
}

impl<C: Clock + Clone> Gate<C> {
    fn with_clock(period: Duration, burst: u32, clock: C) -> Self {
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        // None is of a period of no length only: as good as no limit.
        let quota = Quota::with_period(period).unwrap_or(Quota::per_second(NonZeroU32::MAX)).allow_burst(burst);
        let state = State { has_ticket: false, debt: 0, paused_until: None, throttled: 0 };
        let bucket = Bucket::new(quota, InMemoryState::default(), clock.clone());
        Self { clock, bucket, burst, state: Mutex::new(state) }
    }

    /// Waits until a call may be made, and counts it.
    pub(super) async fn pass(&self) {
        while let Err(wait) = self.try_pass() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Waits until the next [`Gate::pass`] need not wait. Asked for again, it holds already.
    pub(super) async fn ready(&self) {
        while let Err(wait) = self.try_ready() {
            tokio::time::sleep(wait).await;
        }
    }

    /// # Errors
    /// How long it is at least until a call may be made.
    fn try_pass(&self) -> Result<(), Duration> {
        let mut state = self.state();
        self.try_ticket(&mut state)?;
        state.has_ticket = false;
        Ok(())
    }

    fn try_ready(&self) -> Result<(), Duration> {
        self.try_ticket(&mut self.state())
    }

    fn try_ticket(&self, state: &mut State<C::Instant>) -> Result<(), Duration> {
        match self.pause_left(state) {
            Duration::ZERO => {}
            left => return Err(left),
        }
        while state.debt > 0 {
            let part = self.burst.min(NonZeroU32::new(state.debt).unwrap_or(NonZeroU32::MIN));
            self.take(part)?;
            state.debt -= part.get();
        }
        if !state.has_ticket {
            self.take(NonZeroU32::MIN)?;
            state.has_ticket = true;
        }
        Ok(())
    }

    /// Takes so many calls, at most a burst, from the bucket.
    fn take(&self, calls: NonZeroU32) -> Result<(), Duration> {
        match self.bucket.check_n(calls) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(not_until)) => Err(not_until.wait_time_from(self.clock.now()).max(Duration::from_millis(1))),
            // More than a burst is never asked for; were it, a pause is right.
            Err(_) => Err(FIRST_BACKOFF),
        }
    }

    /// Counts so many calls more than were made.
    pub(super) fn penalize(&self, calls: u32) {
        let mut state = self.state();
        state.debt = state.debt.saturating_add(calls);
    }

    /// Lets nothing pass for so long, at least.
    pub(super) fn pause(&self, for_so_long: Duration) {
        let until = self.clock.now() + for_so_long.min(LONGEST_PAUSE).into();
        let mut state = self.state();
        state.paused_until = Some(state.paused_until.map_or(until, |there| there.max(until)));
    }

    /// The channel refused a call for its rate, and asked for that pause, or for none: then each refusal in a row doubles it.
    /// How long it is until a call may be made.
    pub(super) fn throttled(&self, asked: Option<Duration>) -> Duration {
        let strikes = {
            let mut state = self.state();
            state.throttled = state.throttled.saturating_add(1);
            state.throttled
        };
        let doubled = FIRST_BACKOFF.saturating_mul(1 << (strikes - 1).min(16)).min(LONGEST_BACKOFF);
        let pause = asked.unwrap_or(doubled).min(LONGEST_PAUSE);
        self.pause(pause);
        pause
    }

    /// The channel answered: refusals for the rate are counted anew.
    pub(super) fn answered(&self) {
        self.state().throttled = 0;
    }

    /// How long nothing passes for the sake of a pause.
    pub(super) fn paused_for(&self) -> Duration {
        self.pause_left(&self.state())
    }

    fn pause_left(&self, state: &State<C::Instant>) -> Duration {
        state.paused_until.map_or(Duration::ZERO, |until| until.duration_since(self.clock.now()).into())
    }

    /// Nothing panics while it is held; were it so, what it holds would be whole all the same.
    fn state(&self) -> MutexGuard<'_, State<C::Instant>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pause that an answer asks for, at most an hour: the first that can be understood of the headers that marketplaces and the standard know.
pub(super) fn asked(headers: &HeaderMap) -> Option<Duration> {
    ["retry-after", "x-ratelimit-retry", "ratelimit-retry", "x-ratelimit-reset", "ratelimit-reset"]
        .into_iter()
        .find_map(|name| pause_of(headers, name))
}

/// The pause that an answer asks for without refusing: nothing is left of the rate until it is reset.
pub(super) fn used_up(headers: &HeaderMap) -> Option<Duration> {
    let left = ["ratelimit-remaining", "x-ratelimit-remaining"].into_iter().find_map(|name| text_of(headers, name));
    if left.map(str::trim) == Some("0") { asked(headers) } else { None }
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn pause_of(headers: &HeaderMap, name: &str) -> Option<Duration> {
    let text = text_of(headers, name)?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        // `min` would take a bound in the place of what is no number.
        if seconds.is_nan() {
            return None;
        }
        let bounded = seconds.min(LONGEST_PAUSE.as_secs_f64());
        return Duration::try_from_secs_f64(bounded).ok();
    }
    // HTTP allows a moment. It is held against the answer's own, so that no clock of ours matters.
    let moment = |text: &str| OffsetDateTime::parse(&text.replace("GMT", "+0000"), &Rfc2822).ok();
    let pause = moment(text)? - moment(text_of(headers, "date")?)?;
    Duration::try_from(pause).ok().map(|pause| pause.min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    const PERIOD: Duration = Duration::from_millis(200);

    fn gate() -> (Gate<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (Gate::with_clock(PERIOD, 20, clock.clone()), clock)
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |&(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().expect("a name"), value.parse::<HeaderValue>().expect("a value"))
        };
        pairs.iter().map(pair).collect()
    }

    fn passes(gate: &Gate<FakeRelativeClock>) -> usize {
        std::iter::from_fn(|| gate.try_pass().ok()).count()
    }

    #[test]
    fn a_burst_passes_and_then_one_a_period() {
        let (gate, clock) = gate();
        assert_eq!(passes(&gate), 20);
        assert_eq!(gate.try_pass(), Err(PERIOD));
        clock.advance(PERIOD * 3);
        assert_eq!(passes(&gate), 3);
    }

    #[test]
    fn a_penalty_is_paid_before_the_next_call_even_where_it_exceeds_a_burst() {
        let (gate, clock) = gate();
        assert_eq!(gate.try_pass(), Ok(()));
        gate.penalize(9);
        assert_eq!(passes(&gate), 10, "one call and nine for its refusal of a burst of 20");
        gate.penalize(50);
        let mut waited = Duration::ZERO;
        while gate.try_pass().is_err() {
            clock.advance(PERIOD);
            waited += PERIOD;
        }
        assert_eq!(waited, PERIOD * 51);
    }

    #[test]
    fn being_ready_counts_a_call_once_however_often_it_is_asked_for() {
        let (gate, _) = gate();
        for _ in 0..50 {
            assert_eq!(gate.try_ready(), Ok(()));
        }
        assert_eq!(passes(&gate), 20);
        assert_eq!(gate.try_ready(), Err(PERIOD));
    }

    #[test]
    fn a_pause_holds_until_it_is_over_and_is_never_shortened() {
        let (gate, clock) = gate();
        gate.pause(Duration::from_secs(30));
        gate.pause(Duration::from_secs(5));
        assert_eq!(gate.try_ready(), Err(Duration::from_secs(30)));
        clock.advance(Duration::from_secs(29));
        assert_eq!((gate.try_pass(), gate.paused_for()), (Err(Duration::from_secs(1)), Duration::from_secs(1)));
        clock.advance(Duration::from_secs(1));
        assert_eq!(gate.try_pass(), Ok(()));
        gate.pause(Duration::from_hours(25));
        assert_eq!(gate.paused_for(), LONGEST_PAUSE);
    }

    #[test]
    fn refusals_without_a_wish_double_the_pause_until_an_answer() {
        let (gate, _) = gate();
        let pauses: Vec<_> = (0..10).map(|_| gate.throttled(None).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 240, 240]);
        gate.answered();
        assert_eq!(gate.throttled(None), Duration::from_secs(1));
        assert_eq!(gate.throttled(Some(Duration::from_secs(7))), Duration::from_secs(7));
    }

    #[test]
    fn the_wish_for_a_pause_is_read_from_any_of_its_headers() {
        let seconds = Duration::from_secs;
        for (given, asked_for) in [
            (&[("retry-after", "7")][..], Some(seconds(7))),
            (&[("Retry-After", " 1.5 ")], Some(Duration::from_millis(1_500))),
            (&[("x-ratelimit-retry", "12"), ("x-ratelimit-reset", "60")], Some(seconds(12))),
            (&[("x-ratelimit-reset", "60")], Some(seconds(60))),
            (&[("ratelimit-reset", "3")], Some(seconds(3))),
            (&[("retry-after", "soon"), ("ratelimit-reset", "3")], Some(seconds(3))),
            (&[("retry-after", "-4")], None),
            (&[("retry-after", "nan")], None),
            (&[("retry-after", "inf")], Some(LONGEST_PAUSE)),
            (&[("retry-after", "1790000000")], Some(LONGEST_PAUSE)),
            (
                &[("retry-after", "Tue, 01 Dec 2026 10:00:30 GMT"), ("date", "Tue, 01 Dec 2026 10:00:00 GMT")],
                Some(seconds(30)),
            ),
            (&[("retry-after", "Tue, 01 Dec 2026 10:00:30 GMT")], None),
            (&[], None),
        ] {
            assert_eq!(asked(&headers(given)), asked_for, "{given:?}");
        }
    }

    #[test]
    fn a_rate_that_is_used_up_is_heard_in_an_answer_that_is_no_refusal() {
        let reset = ("ratelimit-reset", "9");
        assert_eq!(used_up(&headers(&[("ratelimit-remaining", "0"), reset])), Some(Duration::from_secs(9)));
        assert_eq!(used_up(&headers(&[("x-ratelimit-remaining", "1"), reset])), None);
        assert_eq!(used_up(&headers(&[reset])), None);
    }
}
