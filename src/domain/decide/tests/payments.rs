//! Payments: what each state of an order makes of each report.

use super::ask::{
    Besides, cancel, cancel_some, create, expire, failed, line, line_at, order, refunded, renew, started, succeeded,
};
use super::world::World;
use crate::domain::{Currency, Kind, Money, PaymentMode};

/// Three units, and order 1 of two of them, which costs 100 cents, is held for 60 seconds.
fn shop() -> World {
    let mut world = World::with(&[("A", "main", 3), ("A", "far", 2)]).route("web", &["main", "far"]);
    assert_eq!(world.one(create("e1", "1", [line("A", 2)]).costing(100)), "held");
    world
}

fn paid() -> World {
    let mut world = shop();
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "confirmed");
    world
}

/// Somebody else takes everything that is left.
fn sell_out(world: &mut World) {
    for (id, at, qty) in [("x1", "main", 3), ("x2", "far", 2)] {
        let all = create(id, id, [line_at("A", qty, at)]).paid(PaymentMode::Prepaid).on("shop");
        assert_eq!(world.one(all), "confirmed");
    }
}

#[test]
fn money_that_agrees_confirms_a_hold_and_moves_no_figure() {
    let mut world = shop();
    world.pass(59);
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "confirmed");
    assert_eq!(world.order("1"), "confirmed: 2 A main confirmed");
    assert_eq!(world.stock_told_last(), [] as [String; 0]);
    let steps: Vec<_> = world.journal.iter().map(|step| (step.to.word(), step.qty)).collect();
    assert_eq!(steps, [("held", 2), ("confirmed", 0)]);
    world.pass(1000);
    assert_eq!(world.one(expire("1")), "attended");
    assert_eq!(world.order("1"), "confirmed: 2 A main confirmed");
}

#[test]
fn an_order_without_a_total_takes_any_money_and_a_total_takes_only_itself() {
    let mut world = World::with(&[("A", "main", 9)]);
    world.one(create("e1", "1", [line("A", 1)]));
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(7)), "confirmed");
    world.one(create("e2", "2", [line("A", 1)]));
    assert_eq!(world.one(succeeded("p2", "P2", "2")), "confirmed");
    world.one(create("e3", "3", [line("A", 1)]).costing(0));
    assert_eq!(world.one(succeeded("p3", "P3", "3").costing(0)), "confirmed", "paid by gift card");
    for (n, wrong) in [Some(99), Some(0), None].into_iter().enumerate() {
        let (order_ref, payment) = (format!("w{n}"), format!("W{n}"));
        world.one(create(&order_ref, &order_ref, [line("A", 1)]).costing(100));
        let money = succeeded(&payment, &payment, &order_ref);
        let money = wrong.map_or(money.clone(), |cents| money.costing(cents));
        assert_eq!(world.one(money), "noted");
        assert_eq!(world.order(&order_ref), "held: 1 A main held");
        assert_eq!(world.reviews.last(), Some(&format!("payment_mismatch {payment}")));
    }
    assert_eq!(world.refunds, [] as [String; 0]);
}

#[test]
fn a_second_payment_after_a_wrong_one_confirms() {
    let mut world = shop();
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(1)), "noted");
    assert_eq!(world.one(succeeded("p2", "P2", "1").costing(100)), "confirmed");
    assert_eq!(world.one(cancel("c1", "1")), "released cancelled");
    let lines = "[2 A main released]";
    assert_eq!(world.refunds, [format!("P1 cancelled 1 {lines}"), format!("P2 cancelled 100 {lines}")]);
}

#[test]
fn a_started_payment_prolongs_to_the_window_and_never_past_the_longest_hold() {
    let mut world = shop();
    world.pass(10);
    assert_eq!(world.one(started("s1", "P1", "1")), "held");
    assert_eq!(world.ends_in("1"), Some(90));
    world.pass(50);
    assert_eq!(world.one(started("s2", "P1", "1")), "noted", "said before");
    assert_eq!(world.one(started("s3", "P2", "1")), "held");
    world.pass(80);
    assert_eq!(world.one(started("s4", "P3", "1")), "held");
    assert_eq!(world.ends_in("1"), Some(60), "200 seconds from its creation");
    assert_eq!(world.one(started("s5", "P4", "1")), "noted");
    world.pass(60);
    assert_eq!(world.one(started("s6", "P5", "1")), "noted");
    assert_eq!(world.order("1"), "expired: 2 A main expired", "the end itself is the end");
}

#[test]
fn a_hold_longer_than_the_window_is_not_shortened() {
    let mut world = shop();
    world.one(renew("r1", "1").for_s(150));
    assert_eq!(world.one(started("s1", "P1", "1")), "noted");
    assert_eq!(world.ends_in("1"), Some(150));
}

#[test]
fn a_failed_payment_gives_back_unless_another_lives() {
    let mut world = shop();
    world.one(started("s1", "P1", "1"));
    world.one(started("s2", "P2", "1"));
    assert_eq!(world.one(failed("f1", "P1", "1")), "noted");
    assert_eq!(world.order("1"), "held: 2 A main held");
    assert_eq!(world.one(failed("f2", "P2", "1")), "released payment_failed");
    assert_eq!((world.order("1").as_str(), world.figures("A", "main")), ("released: 2 A main released", (3, 0)));
    assert_eq!(world.one(failed("f3", "P3", "1")), "noted");
    assert_eq!(world.one(create("again", "1", [line("A", 2)]).costing(100)), "released duplicate payment_failed");
}

#[test]
fn a_failed_payment_may_keep_the_hold() {
    let mut world = shop();
    world.policy.payments.failure_keeps = true;
    assert_eq!(world.one(failed("f1", "P1", "1")), "noted");
    assert_eq!(world.order("1"), "held: 2 A main held");
    assert_eq!(
        world.one(succeeded("p1", "P1", "1").costing(100)),
        "confirmed",
        "one id for a failed try and the success"
    );
}

#[test]
fn what_a_failed_payment_gave_back_can_be_had_again() {
    for ask in [renew("r1", "1"), succeeded("p1", "P1", "1").costing(100)] {
        let mut world = shop();
        world.one(failed("f1", "P1", "1"));
        let expected = if matches!(ask.kind, Kind::Renew(_)) { "held" } else { "confirmed had_again" };
        assert_eq!(world.one(ask), expected);
        assert_eq!(world.figures("A", "main"), (3, 2));
    }
    let mut world = shop();
    world.one(failed("f1", "P1", "1"));
    sell_out(&mut world);
    assert_eq!(world.one(renew("r1", "1")), "expired duplicate hold_ended A 2>0");
    assert_eq!(world.order("1"), "released: 2 A main released");
}

#[test]
fn a_late_failure_undoes_no_success() {
    let mut world = paid();
    assert_eq!(world.one(failed("f1", "P1", "1")), "noted");
    assert_eq!(world.one(started("s1", "P1", "1")), "noted");
    assert_eq!(world.order("1"), "confirmed: 2 A main confirmed");
    assert!(world.picture().contains(&"P1 succeeded 100-0 pays".to_owned()));
}

#[test]
fn money_one_second_late_has_the_order_again_in_the_same_warehouse_first() {
    let mut world = shop();
    world.pass(60);
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "confirmed had_again");
    assert_eq!(world.told_last(), ["1 expired hold_ended", "1 confirmed had_again"]);
    assert_eq!(world.order("1"), "confirmed: 2 A main confirmed");
    let steps: Vec<_> = world.journal.iter().map(|step| (step.to.word(), step.qty)).collect();
    assert_eq!(steps, [("held", 2), ("expired", -2), ("held", 2), ("confirmed", 0)]);
}

#[test]
fn late_money_has_the_order_again_from_elsewhere_all_lines_or_none() {
    let mut world = shop();
    world.pass(60);
    world.one(create("e2", "2", [line_at("A", 2, "main")]).paid(PaymentMode::OnDelivery));
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "confirmed had_again");
    assert_eq!(world.order("1"), "confirmed: 2 A far confirmed");

    let mut world = World::with(&[("A", "main", 1), ("B", "main", 1), ("B", "far", 1)]);
    world.one(create("e1", "1", [line_at("A", 1, "main"), line_at("B", 1, "main")]));
    world.pass(60);
    world.one(create("e2", "2", [line_at("B", 1, "main")]).paid(PaymentMode::Prepaid));
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(5)), "noted");
    assert_eq!(world.order("1"), "expired: 1 A main expired, 1 B main expired", "a named warehouse stays");
    assert_eq!(world.refunds, ["P1 expired_and_sold_out 5 [1 A main expired, 1 B main expired]"]);
    assert_eq!(world.figures("A", "main"), (1, 0));
}

#[test]
fn nobodys_late_money_is_sent_back_because_what_is_due_was_not_swept() {
    let mut world = shop();
    world.narrow = true;
    world.pass(60);
    world.one(expire("1"));
    world.one(create("e2", "2", [line_at("A", 3, "main")]));
    world.one(create("e3", "3", [line_at("A", 2, "far")]).on("shop").paid(PaymentMode::Prepaid));
    world.pass(60);
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "confirmed had_again");
    assert_eq!(world.order("2"), "expired: 3 A main expired");
}

#[test]
fn late_money_for_what_is_sold_out_is_required_back_whatever_it_is() {
    for (cents, said) in [(100, "100"), (99, "99")] {
        let mut world = shop();
        world.pass(60);
        world.one(expire("1"));
        sell_out(&mut world);
        assert_eq!(world.one(succeeded("p1", "P1", "1").costing(cents)), "noted");
        assert_eq!(world.refunds, [format!("P1 expired_and_sold_out {said} [2 A main expired]")]);
        assert_eq!(world.reviews, [] as [String; 0]);
        assert_eq!(world.one(succeeded("p2", "P1", "1").costing(cents)), "noted");
        assert_eq!(world.refunds.len(), 1, "once");
    }
}

#[test]
fn late_money_that_does_not_agree_confirms_nothing_although_it_could() {
    let mut world = shop();
    world.pass(60);
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(99)), "noted");
    assert_eq!(world.order("1"), "expired: 2 A main expired");
    assert_eq!((world.reviews.as_slice(), world.refunds.len()), (&["payment_mismatch P1".to_owned()][..], 0));
}

#[test]
fn money_for_an_order_that_is_not_to_be_had_goes_back_with_its_reason() {
    let money = || succeeded("p1", "P1", "1").costing(100);
    // Cancelled, also if it had expired before.
    for expired in [false, true] {
        let mut world = shop();
        world.pass(if expired { 60 } else { 0 });
        world.take([expire("1"), cancel("c1", "1")]);
        assert_eq!(world.one(money()), "noted");
        assert!(world.refunds[0].starts_with("P1 cancelled 100 "), "{:?}", world.refunds);
    }
    // Rejected.
    let mut world = World::with(&[("A", "main", 1)]);
    world.one(create("e1", "1", [line("A", 2)]).costing(100));
    assert_eq!(world.one(money()), "noted");
    assert_eq!(world.refunds, ["P1 order_rejected 100 []"]);
    // Paid before.
    let mut world = paid();
    assert_eq!(world.one(succeeded("p2", "P2", "1").costing(100)), "noted");
    assert_eq!(world.refunds, ["P2 already_paid 100 [2 A main confirmed]"]);
    world.one(cancel("c1", "1"));
    assert_eq!(
        world.refunds[1..],
        ["P1 cancelled 100 [2 A main released]"],
        "what was asked back is not asked back twice"
    );
}

#[test]
fn prepaid_and_on_delivery_record_the_first_payment_and_send_back_the_second() {
    for mode in [PaymentMode::Prepaid, PaymentMode::OnDelivery] {
        for ships in [false, true] {
            let mut world = World::with(&[("A", "main", 1)]);
            world.one(create("e1", "1", [line("A", 1)]).paid(mode).costing(100));
            if ships {
                world.ship(&order("web", "1"), "A", 1);
            }
            assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "noted");
            assert_eq!((world.refunds.len(), world.reviews.len()), (0, 0));
            assert_eq!(world.one(succeeded("p2", "P2", "1").costing(100)), "noted");
            assert!(world.refunds[0].starts_with("P2 already_paid 100 "), "{:?}", world.refunds);
        }
    }
}

#[test]
fn what_was_prepaid_elsewhere_is_a_persons_and_what_was_paid_here_is_not() {
    let mut world = World::with(&[("A", "main", 2)]);
    world.take([
        create("e1", "1", [line("A", 1)]).paid(PaymentMode::Prepaid),
        create("e2", "2", [line("A", 1)]).paid(PaymentMode::Prepaid),
        succeeded("p2", "P2", "2").costing(5),
        cancel("c1", "1"),
        cancel("c2", "2"),
    ]);
    assert_eq!(world.reviews, ["refund_elsewhere web/1"]);
    assert_eq!(world.refunds, ["P2 cancelled 5 [1 A main released]"]);
}

#[test]
fn a_part_that_is_cancelled_is_asked_back_by_its_lines_and_the_rest_by_its_amount() {
    let mut world = paid();
    world.one(cancel_some("c1", "1", &[("A", 1)]));
    assert_eq!(world.refunds, ["P1 partially_cancelled -1 [1 A main released]"]);
    assert_eq!(world.one(refunded("r1", "P1", "1").costing(40)), "noted");
    assert_eq!(world.reviews, [] as [String; 0]);
    world.one(cancel("c2", "1"));
    assert_eq!(world.refunds[1..], ["P1 cancelled 60 [1 A main released]"]);
    world.one(refunded("r2", "P1", "1").costing(60));
    assert!(world.picture().contains(&"P1 refunded 100-100 pays".to_owned()));
    assert_eq!(world.reviews, [] as [String; 0]);
    world.one(refunded("r3", "P1", "1").costing(1));
    assert_eq!(world.reviews, ["refund_unasked P1"], "more than was ever there");
}

#[test]
fn what_was_cancelled_before_it_was_paid_still_costs_the_total() {
    let mut world = shop();
    world.one(cancel_some("c1", "1", &[("A", 1)]));
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(50)), "noted");
    assert_eq!(world.reviews, ["payment_mismatch P1"]);
    assert_eq!(world.one(succeeded("p2", "P2", "1").costing(100)), "confirmed");
}

#[test]
fn a_line_that_expired_and_was_given_up_is_nothing_left_of_a_cancelled_order() {
    let mut world = World::with(&[("A", "main", 1), ("B", "main", 1)]);
    world.one(create("e1", "1", [line("A", 1), line("B", 1)]).costing(100));
    world.pass(60);
    world.one(expire("1"));
    world.one(cancel_some("c1", "1", &[("A", 1)]));
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "confirmed had_again");
    world.one(cancel_some("c2", "1", &[("B", 1)]));
    assert_eq!(world.order("1"), "expired: 1 A main expired, 1 B main released");
    assert_eq!(world.refunds, ["P1 cancelled 100 [1 A main expired, 1 B main released]"]);
}

#[test]
fn only_what_shipped_stays_paid() {
    let mut world = paid();
    world.ship(&order("web", "1"), "A", 1);
    world.one(cancel("c1", "1"));
    assert_eq!(world.order("1"), "shipped: 1 A main shipped (1 shipped)");
    assert_eq!(world.refunds, ["P1 partially_cancelled -1 [1 A main released]"]);
}

#[test]
fn refunds_add_up_by_event_and_settle_what_was_required() {
    let mut world = shop();
    world.pass(60);
    world.one(expire("1"));
    sell_out(&mut world);
    world.one(succeeded("p1", "P1", "1").costing(100));
    world.take([refunded("r1", "P1", "1").costing(60), refunded("r1", "P1", "1").costing(60)]);
    assert!(world.picture().contains(&"P1 succeeded 100-60".to_owned()));
    world.one(refunded("r2", "P1", "1").costing(40));
    assert!(world.picture().contains(&"P1 refunded 100-100".to_owned()));
    assert!(world.decision.settled[0].whole);
    assert_eq!(world.reviews, [] as [String; 0]);
    // Without an amount it is whole.
    let mut world = paid();
    world.one(cancel("c1", "1"));
    world.one(refunded("r1", "P1", "1"));
    assert!(world.picture().contains(&"P1 refunded 100-0 pays".to_owned()));
    assert_eq!(world.reviews, [] as [String; 0]);
}

#[test]
fn a_refund_that_nobody_asked_for_is_recorded_and_a_persons() {
    for cents in [None, Some(100), Some(10)] {
        let mut world = paid();
        let refund = refunded("r1", "P1", "1");
        world.one(cents.map_or(refund.clone(), |cents| refund.costing(cents)));
        assert_eq!(world.reviews, ["refund_unasked P1"], "{cents:?}");
        assert_eq!(world.order("1"), "confirmed: 2 A main confirmed");
    }
    // Of a payment that nobody had told of: its success comes too late to confirm anything.
    let mut world = shop();
    assert_eq!(world.one(refunded("r1", "P1", "1").costing(100)), "noted");
    assert_eq!(world.reviews, ["refund_unasked P1"]);
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "noted");
    assert_eq!(world.order("1"), "held: 2 A main held");
    // In another currency it adds up to nothing.
    let mut world = paid();
    let mut refund = refunded("r1", "P1", "1").costing(100);
    if let Kind::Payment(report) = &mut refund.kind {
        report.amount = Currency::new("RUB").map(|currency| Money { amount: 100, currency });
    }
    world.one(refund);
    assert_eq!(world.reviews, ["payment_mismatch P1"]);
    assert!(world.picture().contains(&"P1 succeeded 100-0 pays".to_owned()));
}

#[test]
fn a_payment_is_known_by_its_id_and_verb_and_belongs_to_one_order() {
    let mut world = shop();
    world.one(create("e2", "2", [line_at("A", 1, "far")]).costing(100));
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "confirmed");
    assert_eq!(world.one(succeeded("p2", "P1", "1").costing(100)), "noted", "the same content under another event");
    assert_eq!(world.reviews, [] as [String; 0]);
    assert_eq!(world.one(succeeded("p3", "P1", "1").costing(99)), "noted");
    assert_eq!(world.reviews, ["payment_mismatch P1"]);
    for other in [started("s1", "P1", "2"), failed("f1", "P1", "2"), succeeded("p4", "P1", "2").costing(100)] {
        assert_eq!(world.one(other), "noted");
    }
    assert_eq!(world.order("2"), "held: 1 A far held");
    assert_eq!(world.reviews.len(), 4);
    assert!(world.picture().contains(&"P1 succeeded 100-0 pays".to_owned()), "the first record stays");
}

#[test]
fn payments_of_an_order_that_has_not_come_wait_in_their_order() {
    let mut world = World::with(&[("A", "main", 1)]);
    world.take([started("s1", "P1", "1"), failed("f1", "P1", "1"), refunded("r9", "P9", "1")]);
    assert_eq!(world.one(succeeded("p1", "P1", "1").costing(100)), "waiting");
    assert_eq!(world.picture(), ["A main 1-0"]);
    assert_eq!(world.one(create("e1", "1", [line("A", 1)]).costing(100)), "held");
    assert_eq!(world.told_last(), ["1 held", "1 held", "1 released payment_failed", "1 confirmed had_again"]);
    assert_eq!(world.order("1"), "confirmed: 1 A main confirmed");
    assert_eq!(world.reviews, ["refund_unasked P9"]);
}

#[test]
fn every_order_of_refund_and_cancel_gives_back_once() {
    let steps =
        || [cancel("c1", "1"), cancel_some("c2", "1", &[("A", 1)]), refunded("r1", "P1", "1"), renew("n1", "1")];
    for first in 0..4 {
        for second in 0..4 {
            for third in 0..4 {
                let mut world = paid();
                for step in [first, second, third] {
                    world.one(steps()[step].clone());
                }
                let (on_hand, reserved) = world.figures("A", "main");
                assert_eq!(on_hand, 3);
                assert!((0..=2).contains(&reserved));
                let whole = world.refunds.iter().filter(|refund| refund.starts_with("P1 cancelled")).count();
                assert!(whole <= 1, "{:?}", world.refunds);
            }
        }
    }
}
