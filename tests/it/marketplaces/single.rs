//! What is particular to one of them.

use std::time::Duration;

use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::{Fault, Pace};
use lastunit::domain::Sku;
use lastunit::publish::{AdapterError, Item, Outcome, adapter};

use super::bench::{Bench, item, wait_of, words};
use crate::support::wait_until;

/// Names that have broken others, as [`Sku`]s and as what the channel calls them.
const ODD: [&str; 6] = ["a.b.", "007", r"back\slash", "50% > *", "кофе ☕", "e\u{301}"];

#[tokio::test]
async fn ozon_takes_one_change_of_a_pair_in_thirty_seconds() {
    let bench = Bench::at_pace(ChannelKind::Ozon, Pace::default(), |_| {}).await;
    assert_eq!(bench.tell("1", 5, 1).await, Outcome::Accepted);
    let outcomes = bench.push(&[item("1", 4, 2), item("2", 4, 1)]).await;
    assert_eq!(wait_of(&outcomes[0]), Some(Duration::from_secs(31)));
    assert_eq!(outcomes[1], Outcome::Accepted, "another pair is none of it");
    assert_eq!(bench.simulator.told(&bench.address("1")), [5]);
}

#[tokio::test]
async fn a_push_that_is_applied_late_comes_after_a_newer_one() {
    for kind in [ChannelKind::Ozon, ChannelKind::Wildberries] {
        let bench = Bench::with(kind, |settings| settings.timeout_s = 1).await;
        bench.simulator.arm(kind, Fault::Late(Duration::from_secs(2)));
        assert_eq!(bench.tell("1", 5, 1).await.word(), "unknown");
        assert_eq!(bench.tell("1", 4, 2).await, Outcome::Accepted);
        let address = bench.address("1");
        let told = async || bench.simulator.told(&address) == [4, 5];
        wait_until("the older push to be applied", Duration::from_secs(20), told).await;
        assert_eq!(bench.shown("1"), Some(5), "{kind:?}");
    }
}

#[tokio::test]
async fn what_is_accepted_and_applied_late_shows_in_the_end() {
    let bench = Bench::new(ChannelKind::Wildberries).await;
    bench.simulator.arm(ChannelKind::Wildberries, Fault::AcceptedLate(Duration::from_millis(200)));
    assert_eq!(bench.tell("1", 5, 1).await, Outcome::Accepted);
    wait_until("it to show", Duration::from_secs(20), async || bench.shown("1") == Some(5)).await;
}

#[tokio::test]
async fn a_warehouse_of_wildberries_that_is_being_changed_is_tried_again_in_seconds() {
    let bench = Bench::new(ChannelKind::Wildberries).await;
    bench.simulator.arm(ChannelKind::Wildberries, Fault::Processing);
    let outcomes = bench.push(&[item("1", 5, 1), item("2", 5, 1)]).await;
    assert_eq!([wait_of(&outcomes[0]), wait_of(&outcomes[1])], [Some(Duration::from_secs(5)); 2]);
}

#[tokio::test]
async fn what_has_no_number_at_wildberries_is_refused_and_the_rest_is_told() {
    let bench = Bench::new(ChannelKind::Wildberries).await;
    assert_eq!(words(&bench.push(&[item("x1", 5, 1), item("1", 5, 1)]).await), ["rejected", "accepted"]);
    assert_eq!(bench.shown("1"), Some(5));
}

/// Thirty refusals would use up a minute of the real rate: they are waited for here, and none is refused for the rate.
#[tokio::test]
async fn refusals_of_wildberries_are_weighed_so_that_the_rate_is_kept() {
    let bench = Bench::new(ChannelKind::Wildberries).await;
    for version in 1..=5 {
        assert_eq!(bench.tell("404", 5, version).await.word(), "rejected");
    }
    assert_eq!(bench.tell("1", 5, 1).await, Outcome::Accepted);
    assert_eq!(bench.simulator.pushes(ChannelKind::Wildberries), 6);
}

#[tokio::test]
async fn odd_names_go_through_unchanged() {
    for kind in [ChannelKind::Ozon, ChannelKind::Webhook] {
        let bench = Bench::new(kind).await;
        let odd = |name: &&str| Item { sku: Sku::new(name).unwrap(), ..item(name, 5, 1) };
        let items: Vec<Item> = ODD.iter().map(odd).collect();
        for name in ODD {
            bench.simulator.add_item(kind, name, name);
        }
        assert_eq!(words(&bench.push(&items).await), ["accepted"; 6]);
        assert_eq!(bench.observe(&ODD).await, [Some(5); 6], "{kind:?}");
    }
}

#[tokio::test]
async fn the_id_of_a_webhook_is_that_of_its_batch() {
    let bench = Bench::new(ChannelKind::Webhook).await;
    let batch = [item("1", 5, 1), item("2", 6, 1)];
    bench.simulator.arm(ChannelKind::Webhook, Fault::AppliedThenStatus(500));
    assert_eq!(words(&bench.push(&batch).await), ["unknown"; 2]);
    assert_eq!(words(&bench.push(&batch).await), ["accepted"; 2]);
    assert_eq!(bench.tell("1", 4, 2).await, Outcome::Accepted);
    let ids = bench.simulator.webhook_ids();
    assert_eq!(ids[0], ids[1], "two attempts of one batch");
    assert_ne!(ids[1], ids[2], "another batch");
}

#[tokio::test]
async fn a_receiver_takes_no_version_older_than_the_one_it_has() {
    let bench = Bench::new(ChannelKind::Webhook).await;
    assert_eq!(bench.tell("1", 4, 2).await, Outcome::Accepted);
    assert_eq!(bench.tell("1", 5, 1).await, Outcome::Rejected("older than what is shown".into()));
    assert_eq!(bench.shown("1"), Some(4));
}

#[tokio::test]
async fn a_webhook_that_cannot_be_read_says_so() {
    let bench = Bench::with(ChannelKind::Webhook, |settings| settings.observe_url = None).await;
    assert_eq!(bench.market.capabilities().reads, None);
}

#[tokio::test]
async fn a_channel_that_lacks_a_setting_is_not_spoken_to() {
    let bench = Bench::new(ChannelKind::Ozon).await;
    let mut settings = bench.simulator.settings(ChannelKind::Ozon);
    settings.api_key = Some("a\nb".into());
    let unfit = adapter("shop", &settings).unwrap_err();
    assert_eq!(unfit, AdapterError::Setting("api_key_file", "holds what no HTTP header may"));
    settings.api_key = None;
    assert_eq!(adapter("shop", &settings).unwrap_err(), AdapterError::Lacks("api_key_file"));
}
