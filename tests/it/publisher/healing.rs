//! A hand in the marketplace's cabinet is found, written down and healed: down at once, up with care.

use lastunit::config::ChannelKind;
use serde_json::{Value, json};

use super::{CHANNELS, Fair, Terms, address};
use crate::support::{PATIENCE, wait_until};

const DRIFTS: &str = "SELECT count(*) FROM stock_observation WHERE channel = 'ozon' AND verdict = 'drift'";
const HEALED: &str = "SELECT count(*) FROM push_attempt WHERE channel = 'ozon'";

async fn fair() -> (Fair, crate::support::Program) {
    let fair = Fair::open(Terms::default()).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    fair.item("B", 11).await;
    let program = fair.launch.ready(&["run"]).await;
    fair.shop.count_many(&[("A", 5), ("B", 5)], "main").await;
    fair.shows(&CHANNELS, 10, 1, 5).await;
    fair.shows(&CHANNELS, 11, 1, 5).await;
    fair.quiet().await;
    (fair, program)
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_are_taken_back_and_the_difference_has_an_address() {
    let (fair, _program) = fair().await;
    let shelf = address(ChannelKind::Ozon, 1, 10);
    let version = fair.shop.figures("A", "main").await.unwrap().version;
    fair.simulator.set(&shelf, 50);
    fair.shows(&CHANNELS[..1], 10, 1, 5).await;
    fair.quiet().await;
    let seen: (i64, i64, i64) = sqlx::query_as(
        "SELECT observed_qty, desired_qty, compared_version FROM stock_observation
         WHERE sku = 'A' AND channel = 'ozon' AND warehouse = 'main' AND verdict = 'drift' ORDER BY id LIMIT 1",
    )
    .fetch_one(&fair.shop.db)
    .await
    .unwrap();
    assert_eq!(seen, (50, 5, version));
    assert_eq!(fair.simulator.told(&shelf), [5, 5], "the same version again");
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_has_just_sold_is_not_sold_again() {
    let (fair, _program) = fair().await;
    let shelf = address(ChannelKind::Ozon, 1, 10);
    // The marketplace sold two of A, and its order waits here, because somebody has the row of B, which it wants too.
    let mut held = fair.shop.db.begin().await.unwrap();
    sqlx::query("SELECT FROM stock WHERE sku = 'B' FOR UPDATE").execute(&mut *held).await.unwrap();
    assert_eq!(fair.simulator.sell(&shelf, 2), 2);
    fair.order("waits", "ozon", "B", 1).await;

    let before = fair.shop.number(HEALED).await;
    let ripe = "SELECT count(*) FROM stock_observation WHERE channel = 'ozon' AND sku = 'A' AND verdict = 'drift'
        AND at > (SELECT min(at) + interval '3 seconds' FROM stock_observation WHERE channel = 'ozon' AND sku = 'A' AND verdict = 'drift')";
    wait_until("the difference to be seen again and again, well apart", PATIENCE, async || {
        fair.shop.number(ripe).await >= 3
    })
    .await;
    assert_eq!(fair.shop.number(HEALED).await, before, "nothing was raised");
    assert_eq!(fair.simulator.shown(&shelf), Some(3));

    held.rollback().await.unwrap();
    // It was a hand after all: nothing is on its way any more.
    fair.shows(&CHANNELS[..1], 10, 1, 5).await;
    fair.shows(&CHANNELS, 11, 1, 4).await;
    fair.quiet().await;
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_order_of_the_channel_keeps_it_from_being_raised() {
    let (fair, _program) = fair().await;
    let shelf = address(ChannelKind::Ozon, 1, 10);
    fair.shop.say("order.created.ozon", json!({ "event_id": "bad", "order_ref": "bad", "lines": [] })).await;
    fair.shop.wait_for("DEAD", 1).await;
    fair.simulator.set(&shelf, 3);
    let before = fair.shop.number(HEALED).await;
    wait_until("the difference to be seen again and again", PATIENCE, async || fair.shop.number(DRIFTS).await >= 5)
        .await;
    assert_eq!((fair.simulator.shown(&shelf), fair.shop.number(HEALED).await), (Some(3), before));
    // Somebody sees to it.
    sqlx::query("UPDATE dead_letter SET resolved_at = now()").execute(&fair.shop.db).await.unwrap();
    fair.shows(&CHANNELS[..1], 10, 1, 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_read_on_demand_beside_a_running_program_and_without_one() {
    let fair = Fair::open(Terms { reconcile_every: 86_400, grace: 3_600, ..Terms::default() }).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    fair.item("B", 11).await;
    let mut program = fair.launch.ready(&["run"]).await;
    fair.shop.count_many(&[("A", 5), ("B", 5)], "main").await;
    fair.shows(&CHANNELS, 10, 1, 5).await;
    fair.shows(&CHANNELS, 11, 1, 5).await;
    fair.quiet().await;
    let read = async |code| {
        let ended = fair.launch.run(&["publisher", "reconcile", "ozon", "--json"]).await;
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    };
    let fine = json!({ "channel": "ozon", "points": 2, "verdicts": { "in_sync": 2 }, "differences": [] });
    assert_eq!(read(0).await, fine);

    // Nobody but us: what is too low is found, and left to whoever runs.
    program.terminate().await;
    fair.simulator.set(&address(ChannelKind::Ozon, 1, 11), 3);
    let found = read(1).await;
    assert_eq!(found["verdicts"], json!({ "drift": 1, "in_sync": 1 }));
    let difference = &found["differences"][0];
    let facts = ["sku", "warehouse", "verdict", "observed_qty", "desired_qty"].map(|field| difference[field].clone());
    assert_eq!(facts, [json!("B"), json!("main"), json!("drift"), json!(3), json!(5)]);
    assert_eq!(fair.launch.run(&["publisher", "reconcile", "nobody"]).await.code, Some(2));
    fair.audit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_channel_does_not_know_is_a_question_at_the_start_and_stops_nothing() {
    let fair = Fair::open(Terms::default()).await;
    fair.warehouse("main", 1).await;
    fair.item("A", 10).await;
    fair.map("GONE", "ozon", "999").await;
    fair.map("GONE", "wb", "999").await;
    let _program = fair.launch.ready(&["run"]).await;
    fair.shop.count("A", "main", 5).await;
    fair.shows(&CHANNELS, 10, 1, 5).await;
    let asked = "SELECT count(*) FROM review_item WHERE kind = 'channel_check' AND subject ->> 'what' = 'item_unknown' AND detail LIKE '%GONE%'";
    wait_until("both marketplaces to be checked", PATIENCE, async || fair.shop.number(asked).await == 2).await;
    assert_eq!(fair.shop.number("SELECT count(*) FROM review_item").await, 2);
    let ended = fair.launch.run(&["publisher", "check", "ozon"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stdout.starts_with("GONE is mapped to \"999\", which the channel's catalogue does not have\n"),
        "{}",
        ended.stdout
    );
    let pulled = fair.launch.run(&["publisher", "pull-map", "wb"]).await;
    assert_eq!((pulled.code, pulled.stdout.as_str()), (Some(0), "sku,channel,external_id\nA,wb,10\n"));
}
