//! What a point is told and when, and what follows from each answer and each look.

use time::macros::datetime;

use super::*;

const START: Timestamp = datetime!(2027-01-01 12:00 UTC);
const HERE: &str = "ext";

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn at(n: u64) -> Timestamp {
    START + seconds(n)
}

fn address(external_id: &str) -> Address {
    Address { external_id: external_id.to_owned(), external_warehouse_id: "w".to_owned() }
}

fn rhythm() -> Rhythm {
    Rhythm {
        min_interval: seconds(0),
        grace: seconds(10),
        timeout: seconds(20),
        first_look: Some(seconds(2)),
        absent_is_zero: true,
    }
}

fn news(version: i64, desired_qty: Qty) -> News {
    News { version, available: desired_qty, desired_qty, address: Some(address(HERE)) }
}

fn lease(now: Timestamp) -> Lease {
    Lease { id: Uuid::from_u128(7), until: now + seconds(60) }
}

fn fresh() -> Point {
    Point {
        key: PointKey {
            sku: Sku::new("A").unwrap(),
            channel: Channel::new("ozon").unwrap(),
            warehouse: Warehouse::new("main").unwrap(),
        },
        address: None,
        newest_version: 0,
        available: 0,
        desired_qty: 0,
        told: None,
        free_at: None,
        flights: 0,
        lease: None,
        due_at: None,
        look_at: None,
        failures: 0,
        heals: 0,
        repeats: 0,
        low_since: None,
        call_max: None,
        parked: None,
        refused: false,
        shown_qty: None,
        exposed_since: None,
    }
}

/// Version 1, 5 units, queued.
fn queued() -> Point {
    let mut point = fresh();
    assert_eq!(point.queue(&news(1, 5), START), PushState::Pending);
    point
}

fn take_off(point: &mut Point, now: Timestamp) -> Flight {
    point.take_off(lease(now), now, 100, false).expect("something to tell")
}

fn fly(point: &mut Point, landing: &Landing, now: Timestamp) -> Landed {
    let flight = take_off(point, now);
    point.land(&flight, landing, now, &rhythm())
}

/// Version 1, 5 units, accepted at the start.
fn told() -> Point {
    let mut point = queued();
    assert_eq!(fly(&mut point, &Landing::Accepted, START).state, PushState::Accepted);
    point
}

fn seen(qty: Qty) -> Seen {
    Seen { qty: Some(qty), confirmed_version: None, more_sold: false }
}

fn look(point: &mut Point, seen: &Seen, now: Timestamp) -> Verdict {
    point.look(seen, now, &rhythm()).expect("something was told").verdict
}

#[test]
fn the_newest_is_queued_and_what_is_older_changes_nothing() {
    let mut point = queued();
    assert_eq!((point.due_at, point.desired_qty), (Some(START), 5));
    let before = point.clone();
    assert_eq!(point.queue(&news(1, 9), at(1)), PushState::Superseded);
    assert_eq!(point, before);
    assert_eq!(point.queue(&news(3, 4), at(1)), PushState::Pending);
    assert_eq!(point.queue(&news(2, 8), at(2)), PushState::Superseded);
    assert_eq!((point.newest_version, point.desired_qty), (3, 4));
}

#[test]
fn five_four_five_is_told_three_times() {
    let mut point = queued();
    let mut told = Vec::new();
    for (version, qty) in [(2, 4), (3, 5)] {
        told.push(take_off(&mut point, START));
        point.land(told.last().unwrap(), &Landing::Accepted, START, &rhythm());
        point.queue(&news(version, qty), START);
    }
    told.push(take_off(&mut point, START));
    let told: Vec<_> = told.iter().map(|flight| (flight.version, flight.qty)).collect();
    assert_eq!(told, [(1, 5), (2, 4), (3, 5)]);
}

#[test]
fn what_is_told_is_capped_and_what_is_desired_is_not() {
    let mut point = fresh();
    point.queue(&news(1, 1_000), START);
    assert_eq!(take_off(&mut point, START).qty, 100);
    assert_eq!(point.desired_qty, 1_000);
}

#[test]
fn accepted_is_looked_at_and_where_nobody_can_look_it_counts_as_shown() {
    let point = told();
    assert_eq!((point.look_at, point.due_at, point.shown_qty), (Some(at(2)), None, Some(5)));
    let mut blind = queued();
    let flight = take_off(&mut blind, START);
    let landed = blind.land(&flight, &Landing::Accepted, START, &Rhythm { first_look: None, ..rhythm() });
    assert!(landed.confirmed && blind.look_at.is_none());
}

#[test]
fn what_comes_in_flight_goes_next_and_not_before_the_channel_takes_it() {
    let slow = Rhythm { min_interval: seconds(31), ..rhythm() };
    let mut point = queued();
    let flight = take_off(&mut point, START);
    point.queue(&news(2, 3), at(1));
    assert_eq!(point.land(&flight, &Landing::Accepted, at(2), &slow).state, PushState::Accepted);
    assert_eq!((point.told.as_ref().map(|told| told.version), point.due_at), (Some(1), Some(at(31))));
}

#[test]
fn unknown_waits_for_a_look_and_no_longer_than_twice_the_timeout() {
    let mut point = queued();
    assert_eq!(fly(&mut point, &Landing::Unknown(Silence::Call, "timed out".into()), START).state, PushState::Unknown);
    assert_eq!((point.look_at, point.due_at), (Some(at(20)), Some(at(40))));
    // It was taken after all.
    let looked = point.look(&seen(5), at(20), &rhythm()).unwrap();
    assert_eq!((looked.verdict, looked.state), (Verdict::InSync, Some(PushState::Accepted)));
    assert_eq!((point.due_at, point.failures), (None, 0));
}

#[test]
fn an_item_of_which_nothing_is_said_goes_to_a_person_and_a_channel_that_says_nothing_does_not() {
    for (silence, limit) in [(Silence::Item, Some(5)), (Silence::Lone, Some(12)), (Silence::Call, None)] {
        let mut point = queued();
        let rounds = (1..200).find(|_| {
            let now = point.due_at.unwrap();
            let landed = fly(&mut point, &Landing::Unknown(silence, "no word of it".into()), now);
            // It is read, and not shown: no reason to count that too.
            if point.parked.is_none() {
                assert_eq!(look(&mut point, &seen(0), now + seconds(15)), Verdict::Lagging);
                assert_eq!(point.heals, 0);
            }
            landed.question.is_some()
        });
        assert_eq!(rounds, limit, "{silence:?}");
        assert_eq!(point.parked.is_some(), limit.is_some());
    }
}

#[test]
fn what_was_given_to_a_person_for_its_number_goes_out_with_the_next_one() {
    let mut point = told();
    point.park("it shows 9", false);
    assert_eq!(point.queue(&news(2, 0), at(1)), PushState::Pending);
    assert_eq!((&point.parked, point.due_at), (&None, Some(at(1))));
}

#[test]
fn the_newer_waits_while_the_older_may_be_applied_yet() {
    let mut point = queued();
    let flight = take_off(&mut point, START);
    point.queue(&news(2, 0), at(1));
    point.land(&flight, &Landing::Unknown(Silence::Call, "timed out".into()), at(20), &rhythm());
    assert_eq!((point.look_at, point.due_at), (Some(at(40)), Some(at(60))));
    point.queue(&news(3, 0), at(21));
    assert_eq!(point.due_at, Some(at(60)));
    let mut gone = point.clone();
    gone.queue(&News { address: Some(address("new")), ..news(4, 0) }, at(22));
    assert_eq!(gone.due_at, Some(at(60)), "nor is it withdrawn before");
    // It was applied: nothing is on its way any more.
    assert_eq!(look(&mut point, &seen(5), at(40)), Verdict::InSync);
    assert_eq!(point.due_at, Some(at(40)));
}

#[test]
fn for_the_moment_means_again_and_slower_after_a_while() {
    let mut point = queued();
    let again = |after| Landing::Again(seconds(after), "busy".into());
    assert_eq!(fly(&mut point, &again(3), START).state, PushState::Pending);
    assert_eq!((point.due_at, point.told.clone()), (Some(at(3)), None), "nothing was taken");
    for _ in 0..4 {
        fly(&mut point, &again(0), START);
    }
    assert_eq!(point.due_at, Some(START));
    for wait in [2, 4, 8] {
        fly(&mut point, &again(0), START);
        assert_eq!(point.due_at, Some(at(wait)));
    }
}

#[test]
fn a_point_that_rests_is_not_woken_by_a_sale() {
    let mut point = queued();
    fly(&mut point, &Landing::Deferred("no price yet".into()), START);
    assert_eq!(point.due_at, Some(at(600)));
    assert_eq!(point.queue(&news(2, 4), at(5)), PushState::Pending);
    assert_eq!(point.due_at, Some(at(600)));
}

#[test]
fn what_is_put_off_for_days_goes_to_a_person() {
    let mut point = queued();
    let rounds = (1..100).find(|_| {
        let now = point.due_at.unwrap();
        fly(&mut point, &Landing::Deferred("no price yet".into()), now).question.is_some()
    });
    assert_eq!(rounds, Some(13));
    assert!(point.parked.is_some());
}

#[test]
fn what_is_refused_waits_for_a_person_whatever_comes_until_they_answer_or_it_moves() {
    let mut point = queued();
    let landed = fly(&mut point, &Landing::Rejected("no such item".into()), START);
    assert_eq!(landed.state, PushState::NeedsReview);
    let question = landed.question.unwrap();
    assert_eq!((question.kind, question.desired_qty, question.version), (ReviewKind::PushRejected, 5, 1));
    assert_eq!(point.queue(&news(2, 4), at(5)), PushState::NeedsReview);
    assert_eq!((point.due_at, point.newest_version), (None, 2));
    let mut answered = point.clone();
    answered.unpark(at(9));
    assert_eq!((answered.due_at, &answered.parked), (Some(at(9)), &None));
    let elsewhere = News { address: Some(address("other")), ..news(3, 4) };
    assert_eq!(point.queue(&elsewhere, at(9)), PushState::Pending);
    assert_eq!(point.due_at, Some(at(9)));
}

#[test]
fn the_culprit_of_a_call_is_looked_for_in_halves() {
    let mut point = queued();
    for (of, half) in [(1_000, 500), (500, 250), (3, 1), (2, 1)] {
        fly(&mut point, &Landing::Split(of, "one of them".into()), START);
        assert_eq!((point.call_max, point.due_at), (Some(half), Some(START)));
    }
    fly(&mut point, &Landing::Accepted, START);
    assert_eq!(point.call_max, None);
}

#[test]
fn a_new_address_is_told_when_the_old_one_has_its_zero() {
    let mut point = told();
    point.queue(&News { address: Some(address("new")), ..news(2, 4) }, at(1));
    assert!(point.has_moved());
    let zero = take_off(&mut point, at(1));
    assert_eq!((zero.qty, zero.withdrawal, Some(&zero.address)), (0, true, Some(&address(HERE))));
    // Not taken: the old one still shows what it was told.
    let landed = point.land(&zero, &Landing::Unknown(Silence::Call, "timed out".into()), at(1), &rhythm());
    assert_eq!((landed.state, point.told.as_ref().map(|told| told.qty)), (PushState::Pending, Some(5)));
    let zero = take_off(&mut point, at(41));
    assert!(zero.withdrawal);
    assert_eq!(point.land(&zero, &Landing::Accepted, at(41), &rhythm()).state, PushState::Pending);
    assert_eq!((point.due_at, point.look_at), (None, Some(at(43))), "seen to show 0 first");
    point.queue(&News { address: Some(address("new")), ..news(3, 4) }, at(42));
    assert_eq!(point.due_at, None);
    // The one before was applied late: once more.
    assert_eq!(look(&mut point, &seen(5), at(52)), Verdict::Drift);
    assert_eq!(point.due_at, Some(at(52)));
    let zero = take_off(&mut point, at(52));
    assert!(zero.withdrawal);
    point.land(&zero, &Landing::Accepted, at(52), &rhythm());
    let looked = point.look(&seen(0), at(54), &rhythm()).unwrap();
    assert_eq!((looked.verdict, looked.confirmed), (Verdict::InSync, false), "that is no longer its place");
    assert_eq!((point.told.clone(), point.due_at), (None, Some(at(54))));
    let figures = take_off(&mut point, at(54));
    assert_eq!((figures.qty, figures.withdrawal, Some(&figures.address)), (4, false, Some(&address("new"))));
}

#[test]
fn an_old_address_that_is_gone_or_anothers_is_in_nobodys_way() {
    let mut point = told();
    point.queue(&News { address: Some(address("new")), ..news(2, 4) }, at(1));
    let mut owned = point.clone();
    let flight = owned.take_off(lease(at(1)), at(1), 100, true).unwrap();
    assert_eq!((flight.qty, flight.withdrawal), (4, false));
    let landed = fly(&mut point, &Landing::Rejected("no such item".into()), at(1));
    assert_eq!((landed.state, landed.question.is_some()), (PushState::Pending, true));
    assert!(!take_off(&mut point, at(1)).withdrawal);
}

#[test]
fn what_a_channel_sells_no_more_is_withdrawn_and_left() {
    let mut point = told();
    let gone = News { version: 2, available: 5, desired_qty: 0, address: None };
    assert_eq!(point.queue(&gone, at(1)), PushState::Pending);
    assert_eq!(fly(&mut point, &Landing::Accepted, at(1)).state, PushState::Pending);
    let looked = point.look(&seen(0), at(3), &rhythm()).unwrap();
    assert_eq!((looked.verdict, looked.state), (Verdict::InSync, Some(PushState::Accepted)));
    assert_eq!((point.told.clone(), point.due_at, point.shown_qty), (None, None, None));
    assert_eq!(point.queue(&News { version: 3, ..gone }, at(2)), PushState::Superseded);
    assert!(point.take_off(lease(at(2)), at(2), 100, false).is_none());
}

#[test]
fn within_its_time_it_may_lag_and_is_looked_at_again() {
    let mut point = told();
    assert_eq!(look(&mut point, &seen(0), at(2)), Verdict::Lagging);
    assert_eq!(point.look_at, Some(at(6)));
    assert_eq!(look(&mut point, &seen(0), at(6)), Verdict::Lagging);
    assert_eq!(point.look_at, Some(at(10)), "no later than it must show");
    let looked = point.look(&seen(5), at(10), &rhythm()).unwrap();
    assert_eq!((looked.verdict, looked.told.version, point.look_at), (Verdict::InSync, 1, None));
}

#[test]
fn too_many_are_taken_back_at_once_and_too_few_are_not_given_at_once() {
    let confirmed = |qty| Seen { confirmed_version: Some(1), ..seen(qty) };
    let mut high = told();
    assert_eq!(look(&mut high, &confirmed(6), at(3)), Verdict::Drift, "it was right before: no time to lag");
    assert_eq!((high.due_at, high.heals), (Some(at(3)), 1));
    assert_eq!(take_off(&mut high, at(3)).version, 1, "the same version again");

    let mut low = told();
    assert_eq!(look(&mut low, &confirmed(4), at(3)), Verdict::Drift);
    assert_eq!((low.due_at, low.look_at), (None, Some(at(13))));
    assert_eq!(look(&mut low, &confirmed(4), at(12)), Verdict::Drift);
    assert_eq!(low.due_at, None, "not a grace time apart");
    let sold = Seen { more_sold: true, ..confirmed(4) };
    assert_eq!(look(&mut low, &sold, at(13)), Verdict::Drift);
    assert_eq!(low.due_at, None, "an order is on its way");
    assert_eq!(look(&mut low, &confirmed(4), at(14)), Verdict::Drift);
    assert_eq!((low.due_at, low.heals), (Some(at(14)), 1));
    // Until it is sent, looking again changes nothing.
    assert_eq!(look(&mut low, &confirmed(4), at(15)), Verdict::Lagging);
    assert_eq!(low.heals, 1);
}

#[test]
fn who_accepts_and_never_shows_is_told_a_few_times_and_then_a_person_is() {
    let mut point = told();
    let mut now = START;
    for heal in 1..=MAX_HEALS {
        now += seconds(10);
        look(&mut point, &seen(9), now);
        assert_eq!(point.heals, heal);
        fly(&mut point, &Landing::Accepted, now);
    }
    now += seconds(10);
    let looked = point.look(&seen(9), now, &rhythm()).unwrap();
    assert_eq!((looked.verdict, looked.state), (Verdict::Drift, Some(PushState::NeedsReview)));
    let question = looked.question.unwrap();
    assert_eq!((question.kind, question.desired_qty, question.observed_qty), (ReviewKind::PushUnapplied, 5, Some(9)));
    assert!(point.parked.is_some() && point.due_at.is_none());
    // Somebody has set it right by hand.
    assert_eq!(look(&mut point, &seen(5), now), Verdict::InSync);
    assert_eq!(point.parked, None);
}

#[test]
fn a_hand_that_changes_it_again_and_again_is_not_fought_for_ever() {
    let mut point = told();
    let wrong = Seen { confirmed_version: Some(1), ..seen(9) };
    let fights = (1..100).find(|round| {
        let now = at(60 * round);
        assert_eq!(look(&mut point, &seen(5), now), Verdict::InSync);
        let asked = point.look(&wrong, now, &rhythm()).unwrap().question.is_some();
        if !asked {
            fly(&mut point, &Landing::Accepted, now);
        }
        asked
    });
    assert_eq!(fights, Some(4));
}

#[test]
fn what_was_right_for_an_hour_is_forgiven() {
    let mut point = told();
    point.heals = 2;
    assert_eq!(look(&mut point, &seen(5), at(3_600)), Verdict::InSync);
    assert_eq!(point.heals, 2);
    look(&mut point, &seen(5), at(3_601));
    assert_eq!(point.heals, 0);
}

#[test]
fn absent_is_not_zero_but_where_zero_was_told() {
    let absent = Seen { qty: None, confirmed_version: Some(1), more_sold: false };
    let mut point = told();
    assert_eq!(look(&mut point, &absent, at(20)), Verdict::Absent);
    assert_eq!(point.due_at, None, "it may be sold out there");
    let mut zero = fresh();
    zero.queue(&news(1, 0), START);
    fly(&mut zero, &Landing::Accepted, START);
    assert_eq!(look(&mut zero.clone(), &absent, at(20)), Verdict::InSync);
    let strict = Rhythm { absent_is_zero: false, ..rhythm() };
    assert_eq!(zero.look(&absent, at(20), &strict).unwrap().verdict, Verdict::Absent);
}

#[test]
fn something_newer_on_its_way_is_no_drift() {
    let mut point = told();
    point.queue(&news(2, 4), at(20));
    let seen = Seen { confirmed_version: Some(1), ..seen(3) };
    assert_eq!(look(&mut point, &seen, at(21)), Verdict::Lagging);
    assert_eq!((point.heals, point.due_at), (0, Some(at(20))));
}

#[test]
fn more_shown_than_free_is_exposed_since_it_is_so() {
    let mut point = told();
    assert_eq!((point.exposed_units(), point.exposed_since), (0, None));
    point.queue(&news(2, 3), at(5));
    point.queue(&news(3, 1), at(6));
    assert_eq!((point.exposed_units(), point.exposed_since), (4, Some(at(5))));
    fly(&mut point, &Landing::Accepted, at(7));
    assert_eq!((point.exposed_units(), point.exposed_since), (0, None));
}

#[test]
fn who_is_halted_keeps_everything_queued() {
    let mut point = queued();
    let landed = fly(&mut point, &Landing::Halted("the key is not taken".into()), START);
    assert_eq!((landed.state, point.due_at, point.failures), (PushState::Pending, Some(START), 0));
}
