//! The audit inside `run`.

use serde_json::{Value, json};

use crate::support::{Ground, Launch, PATIENCE, Shop, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn the_service_audits_itself_and_asks_a_person_once() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).config("audit.every_s = 1");
    let copies = [launch.ready(&["run"]).await, launch.ready(&["run"]).await];
    let shop = Shop::open(&ground).await;
    shop.count("A", "main", 10).await;
    let runs = "SELECT count(*) FROM audit_run";
    let clean = "SELECT count(*) FROM audit_run WHERE findings = '{0,0,0,0,0,0,0,0,0}' AND unchecked IS NULL";
    wait_until("a clean audit", PATIENCE, async || shop.number(clean).await > 0).await;
    assert_eq!(shop.number(runs).await, shop.number(clean).await);

    sqlx::query("UPDATE stock_movement SET delta = 9").execute(&shop.db).await.unwrap();
    let alarmed = "SELECT count(*) FROM audit_run WHERE findings = '{0,0,1,0,0,0,0,0,0}'";
    wait_until("audits that find it", PATIENCE, async || shop.number(alarmed).await >= 3).await;
    shop.settled().await;
    let told = shop.stream("RESERVATIONS").await;
    assert_eq!(told.len(), 1, "one review, however often it is found");
    assert_eq!(told[0].subject, "review.opened.audit");
    assert_eq!(told[0].body["kind"], "audit");
    let subject = json!({ "invariant": 3, "sku": "A", "warehouse": "main", "expected": "9 by the movements",
                          "found": "on_hand 10" });
    assert_eq!(told[0].body["subject"], subject);
    let detail = "invariant 3, sku A, warehouse main: expected 9 by the movements, found on_hand 10";
    assert_eq!(told[0].body["detail"], detail);
    let kept: Value = sqlx::query_scalar("SELECT subject FROM review_item").fetch_one(&shop.db).await.unwrap();
    assert_eq!(kept, subject);

    // No two at once, whatever copy made them.
    let overlaps = "SELECT count(*) FROM audit_run AS one JOIN audit_run AS other
                    ON one.id < other.id AND one.ended_at > other.began_at";
    assert_eq!(shop.number(overlaps).await, 0);
    // And whatever copy made the last, each tells of it.
    for copy in &copies {
        wait_until("the metric to say so", PATIENCE, async || {
            let (_, metrics) = copy.get("/metrics").await;
            metrics.lines().any(|line| line == "lastunit_audit_findings{invariant=\"3\"} 1")
        })
        .await;
        let (_, metrics) = copy.get("/metrics").await;
        assert!(
            metrics.contains("lastunit_audit_duration_seconds ") && metrics.contains("_audit_last_timestamp_seconds ")
        );
    }
    sqlx::query("UPDATE stock_movement SET delta = 10").execute(&shop.db).await.unwrap();
    for copy in &copies {
        wait_until("the metric to say that it is mended", PATIENCE, async || {
            let (_, metrics) = copy.get("/metrics").await;
            metrics.lines().any(|line| line == "lastunit_audit_findings{invariant=\"3\"} 0")
        })
        .await;
    }
}
