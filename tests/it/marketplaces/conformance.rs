//! The list of what every adapter must pass, and the passing of it by each.

use lastunit::config::ChannelKind;

use super::bench::Bench;
use super::{broken, reading, telling};

/// One test an adapter and check, and the list of checks.
macro_rules! conformance {
    ($($room:ident::$check:ident),* $(,)?) => {
        /// What is checked of every adapter.
        const CHECKS: &[&str] = &[$(stringify!($check)),*];

        conformance!(@of ozon Ozon $($room::$check)*);
        conformance!(@of wildberries Wildberries $($room::$check)*);
        conformance!(@of webhook Webhook $($room::$check)*);
    };
    (@of $name:ident $kind:ident $($room:ident::$check:ident)*) => {
        mod $name {
            use super::*;
            $(
                #[tokio::test]
                async fn $check() {
                    $room::$check(ChannelKind::$kind).await;
                }
            )*
        }
    };
}

conformance! {
    telling::what_is_told_is_shown_and_read,
    telling::zero_is_told,
    telling::the_same_number_is_told_again_after_another,
    telling::outcomes_keep_the_order_of_the_items,
    telling::a_whole_batch_is_told_at_once,
    telling::an_item_or_warehouse_that_is_not_known_is_rejected,
    telling::more_than_it_takes_is_told_as_what_it_takes,
    telling::a_refusal_that_names_nothing_is_split_and_alone_rejected,
    telling::an_item_that_is_refused_is_rejected_with_its_reason,
    broken::a_rate_that_is_exceeded_waits_as_long_as_is_asked,
    broken::a_nonsense_wait_is_bounded,
    broken::a_rate_that_is_exceeded_without_a_wish_doubles_the_wait,
    broken::a_server_error_is_unknown_whether_or_not_it_was_applied,
    broken::an_answer_after_the_timeout_is_unknown,
    broken::half_an_answer_is_unknown,
    broken::an_answer_that_drips_is_unknown_within_the_timeout,
    broken::a_cut_connection_is_unknown,
    broken::a_missing_row_is_never_accepted,
    broken::maintenance_is_waited_for,
    broken::a_ban_halts,
    broken::a_key_that_is_not_known_halts_and_is_not_shown,
    broken::a_host_that_nobody_listens_at_was_sent_nothing,
    reading::a_lie_is_seen_by_reading,
    reading::a_hand_edit_and_a_sale_are_read,
    reading::what_is_not_listed_is_none,
    reading::a_reading_that_fails_is_no_zero,
    reading::a_reading_that_is_forbidden_halts,
    reading::the_catalogue_is_whole_or_not_to_be_had,
}

/// Whoever adds a check adds it to all three.
#[test]
fn the_suite_lists_what_it_checks() {
    for check in CHECKS {
        println!("{}", check.replace('_', " "));
    }
    let mut names = CHECKS.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), CHECKS.len()), (28, 28));
}

/// Overlaps are counted: without that, their absence would prove nothing.
#[tokio::test]
async fn the_simulator_counts_pushes_of_one_address_under_way_at_once() {
    use std::time::Duration;

    use lastunit::dev::marketplace::Fault;

    for kind in [ChannelKind::Ozon, ChannelKind::Wildberries, ChannelKind::Webhook] {
        let bench = Bench::new(kind).await;
        bench.simulator.arm(kind, Fault::Slow(Duration::from_millis(300)));
        bench.simulator.arm(kind, Fault::Slow(Duration::from_millis(300)));
        let (a, b, other) = tokio::join!(bench.tell("1", 5, 1), bench.tell("1", 4, 2), bench.tell("2", 3, 1));
        assert_eq!(super::bench::words(&[a, b, other]), ["accepted"; 3]);
        assert_eq!(bench.simulator.overlaps(), 1, "{kind:?}");
        bench.tell("1", 3, 3).await;
        assert_eq!((bench.simulator.overlaps(), bench.simulator.pushes(kind)), (1, 4), "{kind:?}");
    }
}
