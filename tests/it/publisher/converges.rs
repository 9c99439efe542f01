//! Two copies, many items in three warehouses, sales going on, each fault once on each marketplace: in the end what is shown is what is desired.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;

use lastunit::dev::marketplace::Fault;
use serde_json::json;

use super::{CHANNELS, Fair, Terms, address};
use crate::support::{PATIENCE, wait_until};

const ITEMS: usize = 150;
const WAREHOUSES: [(&str, usize); 3] = [("main", 1), ("far", 2), ("near", 3)];
/// Items that no marketplace knows, one a channel.
const UNKNOWN: usize = 3;

fn faults() -> Vec<Fault> {
    vec![
        Fault::Slow(Duration::from_millis(1_500)),
        Fault::Late(Duration::from_millis(1_500)),
        Fault::AcceptedLate(Duration::from_millis(700)),
        Fault::Lie,
        Fault::Throttled(Some(1)),
        Fault::Throttled(None),
        Fault::Status(500),
        Fault::Status(503),
        Fault::AppliedThenStatus(502),
        Fault::HalfBody,
        Fault::Drip,
        Fault::Cut,
        Fault::MissingRow,
        Fault::Unnamed,
        Fault::Processing,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shown_is_what_is_desired_whatever_went_wrong() {
    let fair = Fair::open(Terms { grace: 2, ..Terms::default() }).await;
    for (warehouse, number) in WAREHOUSES {
        fair.warehouse(warehouse, number).await;
    }
    for n in 0..ITEMS {
        fair.item(&sku(n), 1_000 + n).await;
    }
    for (n, (channel, _)) in CHANNELS.iter().enumerate() {
        fair.map(&format!("UNKNOWN-{n}"), channel, &(9_000 + n).to_string()).await;
    }
    let _copies = [fair.launch.ready(&["run"]).await, fair.launch.ready(&["run"]).await];
    for (_, kind) in CHANNELS {
        for fault in faults() {
            fair.simulator.arm(kind, fault);
        }
        for fault in [Fault::Status(500), Fault::HalfBody, Fault::Cut] {
            fair.simulator.arm_read(kind, fault);
        }
    }
    let mut figures: Vec<(String, i64)> = (0..ITEMS).map(|n| (sku(n), 20)).collect();
    figures.extend((0..UNKNOWN).map(|n| (format!("UNKNOWN-{n}"), 5)));
    for (warehouse, _) in WAREHOUSES {
        fair.shop.count_many(&figures, warehouse).await;
    }
    // Sales, until every fault has been met with.
    let mut round = 0;
    while round < 40 || fair.simulator.is_armed() {
        assert!(round < 2_000, "faults are left that nobody met");
        let orders = (0..25).map(|n| {
            let id = format!("o{round}-{n}");
            let line = json!({ "sku": sku((round * 7 + n * 11) % ITEMS), "qty": 1, "warehouse": WAREHOUSES[n % 3].0 });
            (
                "order.created.shop".to_owned(),
                json!({ "event_id": id, "order_ref": id, "payment": "on_delivery", "lines": [line] }),
            )
        });
        fair.shop.say_many(orders).await;
        fair.shop.settled().await;
        round += 1;
    }
    fair.quiet().await;
    // What was applied late may stand on a shelf that was right before: that is seen, and told again.
    // A call of one item that is refused for an item it does not name is that item's refusal: a person sees to it.
    let refused = "SELECT id FROM review_item WHERE resolved_at IS NULL AND kind = 'push_rejected' AND subject ->> 'sku' LIKE 'ITEM-%'";
    let refused: Vec<i64> = sqlx::query_scalar(refused).fetch_all(&fair.shop.db).await.unwrap();
    assert!(refused.len() <= CHANNELS.len(), "one such call a channel: {refused:?}");
    for id in refused {
        let ended = fair.launch.run(&["reviews", "resolve", &id.to_string(), "--note", "it is in order"]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let shown = wait_until("every shelf to show what is desired", 2 * PATIENCE, async || wrong(&fair).await.is_empty());
    let is_late = AssertUnwindSafe(shown).catch_unwind().await.is_err();
    let stuck = if is_late { stuck(&fair).await } else { String::new() };
    assert!(!is_late, "{stuck}");
    fair.quiet().await;
    assert_eq!(wrong(&fair).await, [] as [String; 0]);

    // What no marketplace knows waits for a person, and was not sent again and again.
    let refused = "SELECT count(*) FROM review_item WHERE kind = 'push_rejected' AND resolved_at IS NULL AND subject ->> 'sku' LIKE 'UNKNOWN-%'";
    assert_eq!(fair.shop.number(refused).await, 9, "three warehouses of three channels");
    let most = "SELECT coalesce(max(attempts), 0)::bigint FROM stock_push WHERE sku LIKE 'UNKNOWN-%'";
    assert!(fair.shop.number(most).await < 40);
    assert_eq!(
        fair.shop
            .number("SELECT count(*) FROM publish_point WHERE parked IS NOT NULL AND sku NOT LIKE 'UNKNOWN-%'")
            .await,
        0
    );
    fair.audit().await;
}

/// Points that are not as they should be, whole.
async fn stuck(fair: &Fair) -> String {
    let points: Vec<String> = sqlx::query_scalar(
        "SELECT point::text FROM publish_point AS point WHERE sku LIKE 'ITEM-%'
            AND (told_version IS DISTINCT FROM newest_version OR shown_qty <> desired_qty OR parked IS NOT NULL OR due_at IS NOT NULL)
         LIMIT 20",
    )
    .fetch_all(&fair.shop.db)
    .await
    .unwrap();
    points.join("\n")
}

/// Where something else is shown than what is free.
async fn wrong(fair: &Fair) -> Vec<String> {
    let free: Vec<(String, String, i64)> = sqlx::query_as(
        "SELECT sku, warehouse, on_hand - reserved FROM stock WHERE sku LIKE 'ITEM-%' ORDER BY sku, warehouse",
    )
    .fetch_all(&fair.shop.db)
    .await
    .unwrap();
    assert_eq!(free.len(), ITEMS * WAREHOUSES.len());
    let mut wrong = Vec::new();
    for (sku, warehouse, free) in free {
        let item: usize = sku.trim_start_matches("ITEM-").parse().unwrap();
        let number = WAREHOUSES.iter().find(|(name, _)| *name == warehouse).unwrap().1;
        for (channel, kind) in CHANNELS {
            let shown = fair.simulator.shown(&address(kind, number, 1_000 + item));
            if shown != Some(free) {
                wrong.push(format!("{sku} in {warehouse} on {channel}: {shown:?} instead of {free}"));
            }
        }
    }
    wrong
}

fn sku(n: usize) -> String {
    format!("ITEM-{n}")
}
