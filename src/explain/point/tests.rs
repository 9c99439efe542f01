use std::time::Duration;

use time::macros::datetime;

use super::why::{ChannelFacts, Why, desired, why};
use crate::domain::Timestamp;
use crate::store::point_story::{AttemptFacts, PointFacts, PushFacts};

const NOW: Timestamp = datetime!(2027-01-01 12:00 UTC);
const THEN: Timestamp = datetime!(2027-01-01 11:00 UTC);
const LATER: Timestamp = datetime!(2027-01-01 13:00 UTC);
const CHANNEL: ChannelFacts = ChannelFacts { safety_stock: 2, max_qty: 100 };

/// A point that shows what it should: 10 on the shelf, 3 promised, 2 kept back.
fn in_sync() -> PointFacts {
    let text = |text: &str| Some(text.to_owned());
    PointFacts {
        now: NOW,
        on_hand: Some(10),
        reserved: Some(3),
        stock_version: Some(7),
        mapped_id: text("offer"),
        mapped_warehouse_id: text("7"),
        safety_stock: None,
        paused_at: None,
        halted_until: None,
        halted_reason: None,
        newest_version: Some(7),
        desired_qty: Some(5),
        told_version: Some(7),
        told_qty: Some(5),
        told_at: Some(THEN),
        told_external_id: text("offer"),
        told_external_warehouse_id: text("7"),
        lease_until: None,
        due_at: None,
        look_at: None,
        low_since: None,
        parked: None,
        shown_qty: Some(5),
        exposed_units: Some(0),
        confirmed_version: Some(7),
        confirmed_qty: Some(5),
        confirmed_at: Some(THEN),
        review_id: None,
    }
}

fn asked(facts: &PointFacts) -> Why {
    why(facts, Some(CHANNEL), &[], &[])
}

/// Told version 6, while 7 is the newest.
fn behind() -> PointFacts {
    PointFacts { told_version: Some(6), confirmed_version: Some(6), due_at: Some(THEN), ..in_sync() }
}

#[test]
fn what_should_be_shown_is_never_below_0_and_its_own_safety_stock_goes_before_the_channels() {
    assert_eq!(desired(&in_sync(), CHANNEL), Some(5));
    assert_eq!(desired(&PointFacts { safety_stock: Some(0), ..in_sync() }, CHANNEL), Some(7));
    assert_eq!(desired(&PointFacts { safety_stock: Some(8), ..in_sync() }, CHANNEL), Some(0));
    assert_eq!(desired(&PointFacts { on_hand: None, reserved: None, ..in_sync() }, CHANNEL), Some(0));
    assert_eq!(desired(&PointFacts { mapped_warehouse_id: None, ..in_sync() }, CHANNEL), None);
}

#[test]
fn where_all_agrees_nothing_differs_paused_or_not() {
    assert_eq!(asked(&in_sync()), Why::NothingDiffers);
    assert_eq!(asked(&PointFacts { paused_at: Some(THEN), ..in_sync() }), Why::NothingDiffers);
    // What the channel cannot take is told as so much as it can.
    let large = PointFacts { on_hand: Some(1_000), desired_qty: Some(995), shown_qty: Some(100), ..in_sync() };
    assert_eq!(asked(&large), Why::NothingDiffers);
    // Where it is not read, what was accepted is taken for shown.
    assert_eq!(asked(&PointFacts { shown_qty: None, ..in_sync() }), Why::NothingDiffers);
}

#[test]
fn what_is_not_sold_there_says_what_is_missing() {
    assert_eq!(why(&in_sync(), None, &[], &[]), Why::NotInSettings);
    assert_eq!(asked(&PointFacts { mapped_id: None, ..in_sync() }), Why::NotMapped);
    assert_eq!(asked(&PointFacts { mapped_warehouse_id: None, ..in_sync() }), Why::NotSoldFrom);
}

#[test]
fn what_is_not_queued_yet_is_not_the_channels_fault() {
    let not_queued = Why::NotQueued { version: 8 };
    assert_eq!(asked(&PointFacts { stock_version: Some(8), ..in_sync() }), not_queued);
    assert_eq!(asked(&PointFacts { safety_stock: Some(1), ..in_sync() }), Why::NotQueued { version: 7 });
    let never = PointFacts { newest_version: None, desired_qty: None, told_version: None, ..in_sync() };
    assert_eq!(asked(&never), Why::NotQueued { version: 7 });
}

#[test]
fn a_person_is_waited_for_before_anything_else() {
    let reason = "refused: offer_id_not_found".to_owned();
    let parked = PointFacts { parked: Some(reason.clone()), review_id: Some(17), paused_at: Some(THEN), ..in_sync() };
    assert_eq!(asked(&parked), Why::Parked { reason, review: Some(17) });
    let sentence = "nothing more is sent: refused: offer_id_not_found; it waits for an answer to review 17";
    assert_eq!(asked(&parked).to_string(), sentence);
}

#[test]
fn a_channel_that_is_stopped_says_so() {
    assert_eq!(asked(&PointFacts { paused_at: Some(THEN), ..behind() }), Why::Paused(THEN));
    let reason = "no such key".to_owned();
    let halted = PointFacts { halted_until: Some(LATER), halted_reason: Some(reason.clone()), ..behind() };
    assert_eq!(asked(&halted), Why::Halted { until: LATER, reason });
}

#[test]
fn what_is_on_its_way_or_waits_says_since_or_until_when() {
    let attempt = AttemptFacts {
        id: 1,
        version: 7,
        external_id: "offer".to_owned(),
        external_warehouse_id: "7".to_owned(),
        qty: 5,
        withdrawal: false,
        began_at: THEN,
        ended_at: None,
        outcome: None,
        detail: None,
    };
    let flying = PointFacts { lease_until: Some(LATER), ..behind() };
    assert_eq!(why(&flying, Some(CHANNEL), &[attempt], &[]), Why::InFlight { since: Some(THEN) });
    // A lease that has run out is nobody's.
    let due = Why::Due { told: Some(6), version: 7, since: THEN };
    assert_eq!(asked(&PointFacts { lease_until: Some(NOW), ..behind() }), due);
    assert_eq!(due.to_string(), "it was told version 6, and version 7 is due since 2027-01-01T11:00:00.000000Z");
    let waiting = PointFacts { due_at: Some(NOW + Duration::from_secs(31)), ..behind() };
    assert!(matches!(asked(&waiting), Why::Waiting { told: Some(6), version: 7, .. }));
}

#[test]
fn what_was_taken_or_may_have_been_is_looked_at() {
    let push = PushFacts {
        id: 1,
        version: 7,
        desired_qty: 5,
        state: "unknown".to_owned(),
        attempts: 1,
        last_error: None,
        created_at: THEN,
    };
    let unseen = PointFacts { confirmed_version: Some(6), look_at: Some(LATER), ..in_sync() };
    assert_eq!(why(&unseen, Some(CHANNEL), &[], &[push]), Why::Unknown { look_at: Some(LATER) });
    assert_eq!(asked(&unseen), Why::NotSeen { version: 7, told_at: THEN, look_at: Some(LATER) });
}

#[test]
fn another_number_than_was_told_is_low_or_drift() {
    let low = PointFacts { shown_qty: Some(4), low_since: Some(THEN), ..in_sync() };
    assert_eq!(asked(&low), Why::Low { since: THEN, look_at: None });
    let high = PointFacts { shown_qty: Some(9), look_at: Some(LATER), ..in_sync() };
    assert_eq!(asked(&high), Why::Drift { shown: Some(9), look_at: Some(LATER) });
    let sentence = "it shows 9, which it was not told: it is looked at again at 2027-01-01T13:00:00.000000Z";
    assert_eq!(asked(&high).to_string(), sentence);
}
