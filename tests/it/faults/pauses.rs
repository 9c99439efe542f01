//! F7, F8: who stands still. A paused process keeps its connections, and its kernel answers for it.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::sale::Sale;
use crate::support::{Flow, Ground, Launch, PATIENCE, Proxy, Shop, order, overlay, wait_until};

/// Seconds instead of quarters of a minute.
const IMPATIENT: &str =
    "[database]\nturn_timeout_ms = 1000\nidle_in_transaction_timeout_ms = 1000\n[nats]\nping_every_ms = 500";

/// F7.
#[tokio::test(flavor = "multi_thread")]
async fn a_nats_server_that_stands_still_is_noticed_and_goes_on_by_itself() {
    let mut sale = Sale::on_with(Ground::new().await, IMPATIENT).await;
    sale.ground.nats.pause().unwrap();
    for copy in &sale.copies {
        wait_until("the copy to say so", PATIENCE, async || {
            let (status, body) = copy.get("/readyz").await;
            status == 503 && body.contains("nats: ")
        })
        .await;
        assert!(copy.stderr().contains("NATS: disconnected"), "{}", copy.stderr());
        assert_eq!(copy.get("/healthz").await.0, 200);
    }
    sale.ground.nats.resume().unwrap();
    for copy in &sale.copies {
        wait_until("a copy that is ready again", PATIENCE, async || copy.get("/readyz").await.0 == 200).await;
    }
    sale.ends_well().await;
}

/// The sessions that have turns.
const HOLDERS: &str = "
    SELECT pid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

async fn holders(shop: &Shop) -> HashSet<i64> {
    let pids: Vec<i64> = sqlx::query_scalar(HOLDERS).fetch_all(&shop.db).await.unwrap();
    pids.into_iter().collect()
}

/// All that was ever decided.
async fn journal(shop: &Shop) -> Vec<(i64, String, i64)> {
    sqlx::query_as(
        "SELECT id, to_state, qty FROM reservation_event UNION ALL SELECT id, kind, delta FROM stock_movement ORDER BY 1, 2",
    )
    .fetch_all(&shop.db)
    .await
    .unwrap()
}

/// F8: everybody's turn passes to who works, all is decided without the paused one, and nothing that it does when it goes on changes anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_stands_still_keeps_nobody_waiting_and_changes_nothing_when_it_goes_on() {
    let mut sale = Sale::on_with(Ground::new().await, IMPATIENT).await;
    wait_until("every turn to be taken", PATIENCE, async || holders(&sale.shop).await.len() == 4).await;
    let before = holders(&sale.shop).await;
    // It came first and has all turns.
    sale.copies[0].pause();
    wait_until("the other copy to have every turn", PATIENCE, async || {
        let now = holders(&sale.shop).await;
        now.len() == 4 && now.is_disjoint(&before)
    })
    .await;
    // The order of stock messages is kept by waiting for what the paused one had in its hands.
    sale.shop.count("LATER", "main", 5).await;
    sale.decided(3_000).await;
    sale.shop.settled().await;
    sale.shop.audit().await;
    let decided = journal(&sale.shop).await;
    let answers = sale.shop.first_told("RESERVATIONS").await.len();

    sale.copies[0].resume();
    for given_up in ["the relay starts over", "the turn was given up"] {
        wait_until(given_up, PATIENCE, async || sale.copies[0].stderr().contains(given_up)).await;
    }
    wait_until("it to be ready", PATIENCE, async || sale.copies[0].get("/readyz").await.0 == 200).await;
    sale.shop.settled().await;
    assert_eq!(journal(&sale.shop).await, decided);
    assert_eq!(sale.shop.first_told("RESERVATIONS").await.len(), answers);
    sale.ends_well().await;
}

/// F8: the worker stands still with its transaction open, until after the other has decided the same order.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_changes_nothing() {
    let ground = Ground::new().await;
    let launch = Launch::impatient(&ground).config(IMPATIENT);
    // The first batch, which puts units on the shelf, goes well; the second stands for eight seconds.
    let stands = launch.clone().env("FAILPOINTS", "engine::before_commit=1*off->1*sleep(8000)->off");
    let late = stands.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 1).await;
    shop.say("order.created.web", order("e1", "o1", "A")).await;
    wait_until("the worker to stand in its transaction", PATIENCE, async || shop.number(IN_TRANSACTION).await == 1)
        .await;
    let _other = launch.ready(&["run"]).await;
    wait_until("the order to be decided by the other", PATIENCE, async || {
        shop.number("SELECT count(*) FROM sales_order").await == 1
    })
    .await;
    let decided = journal(&shop).await;
    wait_until("the late one to find its session ended", PATIENCE, async || {
        late.metric("lastunit_retries_total").await > 0 && late.metric("lastunit_redelivered_total").await > 0
    })
    .await;
    shop.settled().await;
    shop.audit().await;
    assert_eq!(journal(&shop).await, decided);
    assert_eq!(shop.assert_answered_once(&["e1".to_owned()]).await["held"], 1);
}

const IN_TRANSACTION: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE application_name = 'lastunit' AND datname = current_database() AND state = 'idle in transaction'";

/// Ends the session that has the turn to tell figures.
const END_TURN: &str = "
    SELECT count(pg_terminate_backend(pid)) FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// What a relay had sent when it lost its turn arrives after the next one told newer figures, and when the broker has forgotten that it knows it.
#[tokio::test(flavor = "multi_thread")]
async fn old_figures_that_arrive_late_are_not_the_last_word() {
    let ground = Ground::new().await;
    let proxy = Proxy::before(&ground.nats.url()).await;
    let launch = overlay(&ground, &[("STOCK.stream.json", "duplicate_window", Value::from(100_000_000))]);
    // Neither gives up its connection to the broker meanwhile.
    let launch = launch.config("[nats]\nping_every_ms = 60000");
    let first = launch.clone().env("NATS_URL", proxy.url(&ground.nats.url())).ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    shop.settled().await;
    let _second = launch.ready(&["run"]).await;

    proxy.to_server(Flow::Hold);
    shop.say("inventory.received.main", json!({ "event_id": "i1", "lines": [{ "sku": "A", "qty": 1 }] })).await;
    tokio::time::timeout(PATIENCE, proxy.holds(b"stock.changed.main.A")).await.unwrap();
    assert_eq!(shop.number(END_TURN).await, 1);
    wait_until("the other to have told it, and told it again", PATIENCE, async || {
        shop.stream("STOCK").await.last().is_some_and(|told| told.body["version"] == 3)
            && shop.number("SELECT count(*) FROM outbox WHERE sent_at IS NULL").await == 0
    })
    .await;
    wait_until("the broker to forget what it knows", PATIENCE, async || forgets(&shop).await).await;

    // It is about no stock row, which an audit would rightly say.
    for stream in ["STOCK", "STOCK_LATEST"] {
        shop.js.get_stream(stream).await.unwrap().purge().filter("stock.changed.main.PROBE").await.unwrap();
    }

    proxy.to_server(Flow::Pass);
    wait_until("the late figures to be told again", PATIENCE, async || {
        shop.figures("A", "main").await.unwrap().version > 3
    })
    .await;
    shop.settled().await;
    let told = shop.stream("STOCK").await;
    let versions: Vec<i64> =
        told.iter().filter(|told| told.body["sku"] == "A").filter_map(|told| told.body["version"].as_i64()).collect();
    let newer = versions.iter().position(|version| *version == 3).unwrap();
    assert!(versions[newer..].contains(&2), "nothing came late: {versions:?}");
    shop.audit().await;
    assert!(first.stderr().contains("rows in doubt are told again"), "{}", first.stderr());
}

/// Whether the window of duplicates has passed since this was last asked.
async fn forgets(shop: &Shop) -> bool {
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Nats-Msg-Id", "probe");
    let body = json!({ "sku": "PROBE", "warehouse": "main" }).to_string();
    let ack = shop.js.publish_with_headers("stock.changed.main.PROBE", headers, body.into()).await.unwrap();
    let first = !ack.await.unwrap().duplicate;
    first && shop.stream("STOCK").await.iter().filter(|told| told.body["sku"] == "PROBE").count() > 1
}

/// What the sourcing stream lacks is noticed, said, and got.
#[tokio::test(flavor = "multi_thread")]
async fn sourcing_that_stands_still_is_said_and_begun_anew() {
    let ground = Ground::new().await;
    let program = Launch::new(&ground).config("[streams]\nstalled_after_ms = 4000").ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    shop.settled().await;
    let mut config = shop.js.get_stream("STOCK_LATEST").await.unwrap().cached_info().config.clone();
    config.sources = None;
    shop.js.update_stream(&config).await.unwrap();
    shop.count("A", "main", 11).await;
    wait_until("the lag to be seen", PATIENCE, async || {
        program.get("/metrics").await.1.contains("lastunit_sourcing_behind_messages{stream=\"STOCK_LATEST\"} 1\n")
    })
    .await;
    wait_until("it to be said", PATIENCE, async || {
        program.stderr().contains("STOCK_LATEST from STOCK: it stands still at message 1 of STOCK, which is at 2")
    })
    .await;
    shop.settled().await;
    shop.audit().await;
    assert_eq!(program.metric("lastunit_sourcing_restarted_total").await, 1);
    wait_until("the warning to be over", PATIENCE, async || {
        program.get("/readyz").await == (200, "ready\n".to_owned())
    })
    .await;
}
