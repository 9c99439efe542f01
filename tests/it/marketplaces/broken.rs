//! Channels that refuse, and answers that break: never accepted by guess.

use std::time::Duration;

use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::Fault;
use lastunit::publish::{Outcome, adapter};

use super::bench::{Bench, item, now, wait_of, words};

/// Longer than any test waits.
const LONG: Duration = Duration::from_mins(1);

async fn impatient(kind: ChannelKind) -> Bench {
    Bench::with(kind, |settings| settings.timeout_s = 1).await
}

pub async fn a_rate_that_is_exceeded_waits_as_long_as_is_asked(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm(kind, Fault::Throttled(Some(77)));
    let outcomes = bench.push(&[item("1", 5, 1), item("2", 5, 1)]).await;
    assert_eq!([wait_of(&outcomes[0]), wait_of(&outcomes[1])], [Some(Duration::from_secs(77)); 2]);
    assert_eq!(bench.shown("1"), None);
}

pub async fn a_nonsense_wait_is_bounded(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm(kind, Fault::Throttled(Some(1_790_000_000)));
    assert_eq!(wait_of(&bench.tell("1", 5, 1).await), Some(Duration::from_hours(1)));
}

/// The second push waits out the pause of the first by itself: two are enough to see that it grows.
pub async fn a_rate_that_is_exceeded_without_a_wish_doubles_the_wait(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    for seconds in [1, 2] {
        bench.simulator.arm(kind, Fault::Throttled(None));
        assert_eq!(wait_of(&bench.tell("1", 5, 1).await), Some(Duration::from_secs(seconds)));
    }
    assert_eq!(bench.tell("1", 5, 1).await, Outcome::Accepted);
}

pub async fn a_server_error_is_unknown_whether_or_not_it_was_applied(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm(kind, Fault::Status(500));
    assert_eq!(bench.tell("1", 5, 1).await.word(), "unknown");
    assert_eq!(bench.shown("1"), None);
    bench.simulator.arm(kind, Fault::AppliedThenStatus(500));
    let outcome = bench.tell("1", 6, 2).await;
    assert_eq!(outcome.word(), "unknown");
    assert!(outcome.reason().unwrap().contains("500"), "{outcome:?}");
    assert_eq!(bench.shown("1"), Some(6));
}

pub async fn an_answer_after_the_timeout_is_unknown(kind: ChannelKind) {
    let bench = impatient(kind).await;
    bench.simulator.arm(kind, Fault::Slow(LONG));
    let outcomes = bench.push(&[item("1", 5, 1), item("2", 6, 1)]).await;
    assert_eq!(words(&outcomes), ["unknown"; 2]);
    assert!(outcomes[0].reason().unwrap().starts_with("timed out"), "{outcomes:?}");
    assert_eq!((bench.shown("1"), bench.shown("2")), (Some(5), Some(6)), "it was applied all the same");
}

pub async fn half_an_answer_is_unknown(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm(kind, Fault::HalfBody);
    assert_eq!(bench.tell("1", 5, 1).await.word(), "unknown");
    assert_eq!(bench.shown("1"), Some(5));
}

pub async fn an_answer_that_drips_is_unknown_within_the_timeout(kind: ChannelKind) {
    let bench = impatient(kind).await;
    bench.simulator.arm(kind, Fault::Drip);
    let outcome = bench.tell("1", 5, 1).await;
    assert_eq!(outcome.word(), "unknown");
    assert!(outcome.reason().unwrap().starts_with("timed out"), "{outcome:?}");
}

pub async fn a_cut_connection_is_unknown(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm(kind, Fault::Cut);
    assert_eq!(bench.tell("1", 5, 1).await.word(), "unknown");
}

pub async fn a_missing_row_is_never_accepted(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm_item(&bench.address("2"), Fault::MissingRow, 1);
    let words = words(&bench.push(&[item("1", 5, 1), item("2", 6, 1)]).await);
    // Wildberries lists no rows: its answer is the call's.
    let expected = if kind == ChannelKind::Wildberries { "accepted" } else { "unknown" };
    assert_eq!(words, ["accepted", expected]);
}

pub async fn maintenance_is_waited_for(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm(kind, Fault::Maintenance);
    let seconds = match kind {
        ChannelKind::Ozon => 120,
        ChannelKind::Wildberries => 180,
        ChannelKind::Webhook => 1,
    };
    assert_eq!(wait_of(&bench.tell("1", 5, 1).await), Some(Duration::from_secs(seconds)));
    assert_eq!(bench.shown("1"), None);
}

pub async fn a_ban_halts(kind: ChannelKind) {
    let bench = Bench::new(kind).await;
    bench.simulator.arm(kind, Fault::Banned);
    assert_eq!(words(&bench.push(&[item("1", 5, 1), item("2", 5, 1)]).await), ["halted"; 2]);
    assert_eq!(bench.shown("1"), None);
}

pub async fn a_key_that_is_not_known_halts_and_is_not_shown(kind: ChannelKind) {
    const KEY: &str = "bm90IHRoZSBrZXkgdGhhdCBpcyBrbm93bg==";
    let bench = Bench::with(kind, |settings| {
        let key = Some(KEY.into());
        match kind {
            ChannelKind::Ozon => settings.api_key = key,
            ChannelKind::Wildberries => settings.token = key,
            ChannelKind::Webhook => settings.secret = key,
        }
    })
    .await;
    let outcome = bench.tell("1", 5, 1).await;
    assert_eq!(outcome.word(), "halted");
    let texts = format!("{outcome:?} {:?} {:?}", bench.market, bench.market.cards().await);
    assert!(!texts.contains(KEY), "{texts}");
}

pub async fn a_host_that_nobody_listens_at_was_sent_nothing(kind: ChannelKind) {
    // Bound and never listened at: nobody else gets the port, and nobody answers.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let bench = Bench::new(kind).await;
    let mut settings = bench.simulator.settings(kind);
    settings.base_url = Some(format!("http://{}/private-path", socket.local_addr().unwrap()));
    let outcome = adapter("shop", &settings).unwrap().push(&[item("1", 5, 1)], now()).await.remove(0);
    assert!(wait_of(&outcome).unwrap() >= Duration::from_secs(1), "{outcome:?}");
    let reason = outcome.reason().unwrap();
    assert!(reason.starts_with("could not connect") && !reason.contains("private-path"), "{reason}");
}
