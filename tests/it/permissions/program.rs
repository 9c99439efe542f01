//! The program itself, with no more rights than `ops/` gives it.

use lastunit::dev::PrivateNats;
use serde_json::json;

use super::database;
use super::keys::Keys;
use super::wire::Wire;
use crate::support::{PATIENCE, order, wait_until};

/// How the broker's log names a user's refused attempt.
fn violations(nats: &PrivateNats, public: &str) -> Vec<String> {
    let log = nats.log();
    let of_user = |line: &&str| line.contains("Violation") && line.contains(public);
    log.lines().filter(of_user).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_needs_no_more_than_its_roles_give() {
    let keys = Keys::mint();
    let ground = keys.ground("").await;
    database::set_up(&ground).await;
    let provisioning = keys.launch(&ground, "provisioning", "_INBOX.provisioning");
    assert_eq!(provisioning.run(&["streams", "apply"]).await.code, Some(0));
    assert_eq!(provisioning.run(&["streams", "diff"]).await.code, Some(0));
    let migrate = keys.launch(&ground, "service", "_INBOX.service");
    let migrated = migrate.env("DATABASE_URL", database::url(&ground, "lastunit_owner")).run(&["migrate"]).await;
    assert_eq!(migrated.code, Some(0), "{migrated:?}");

    let service = keys
        .launch(&ground, "service", "_INBOX.service")
        .env("DATABASE_URL", database::url(&ground, "lastunit_runtime"))
        .env("LASTUNIT_DATABASE__MIGRATE", "false")
        .env("LASTUNIT_STREAMS__APPLY", "false");
    let mut program = service.ready(&["run"]).await;
    let url = ground.nats.url();
    let mut warehouse = Wire::log_in(&url, Some(&keys.seed("warehouse_main")), "_INBOX.warehouse-main").await.unwrap();
    warehouse.open_inbox().await;
    let mut checkout = Wire::log_in(&url, Some(&keys.seed("checkout_web")), "_INBOX.checkout-web").await.unwrap();
    checkout.open_inbox().await;
    checkout.listen("reservation.*.web").await;
    let mut analyst = Wire::log_in(&url, Some(&keys.seed("analyst")), "_INBOX.analyst").await.unwrap();
    analyst.open_inbox().await;
    analyst.listen("stock.changed.>").await;

    let count = json!({ "event_id": "c", "lines": [{ "sku": "A", "on_hand": 1 }] });
    warehouse.ask("inventory.counted.main", &count.to_string()).await.unwrap();
    let counted = analyst.hear(|heard| heard.subject == "stock.changed.main.A").await;
    assert_eq!(counted.json()["available"], 1);
    checkout.ask("order.created.web", &order("e", "o", "A").to_string()).await.unwrap();
    let held = checkout.hear(|heard| heard.subject == "reservation.held.web").await;
    assert_eq!(held.json()["in_reply_to"], "e");
    let mut bridge = Wire::log_in(&url, Some(&keys.seed("bridge_stripe")), "_INBOX.bridge-stripe").await.unwrap();
    bridge.open_inbox().await;
    bridge.listen("refund.required.stripe").await;
    let paid = json!({ "event_id": "p", "payment_id": "P", "channel": "web", "order_ref": "o" });
    bridge.ask("payment.succeeded.stripe", &paid.to_string()).await.unwrap();
    checkout.hear(|heard| heard.subject == "reservation.confirmed.web").await;
    let again = json!({ "event_id": "q", "payment_id": "Q", "channel": "web", "order_ref": "o" });
    bridge.ask("payment.succeeded.stripe", &again.to_string()).await.unwrap();
    let refund = bridge.hear(|heard| heard.subject == "refund.required.stripe").await;
    assert_eq!(refund.json()["reason"], "already_paid");
    let taken = analyst.hear(|heard| heard.subject == "stock.changed.main.A").await;
    assert_eq!(taken.json()["available"], 0);
    let mut operator = Wire::log_in(&url, Some(&keys.seed("operator")), "_INBOX.operator").await.unwrap();
    operator.open_inbox().await;
    operator.listen("dead.>").await;
    checkout.ask("order.created.web", "{}").await.unwrap();
    operator.hear(|heard| heard.subject == "dead.order.created.web").await;
    let asked = operator.ask("lastunit.query.order", r#"{"channel":"web","order_ref":"o"}"#).await.unwrap();
    assert_eq!(asked.json()["state"], "confirmed");
    assert_eq!(operator.ask("$SRV.PING.lastunit", "").await.unwrap().json()["name"], "lastunit");
    let runtime = database::url(&ground, "lastunit_runtime");
    let explained = keys.launch(&ground, "operator", "_INBOX.operator").env("DATABASE_URL", runtime.as_str());
    let story = explained.run(&["explain", "web", "o", "--json"]).await;
    assert_eq!(story.code, Some(0), "{story:?}");
    let story: serde_json::Value = serde_json::from_str(&story.stdout).unwrap();
    assert_eq!(story["unchecked"], json!([]));
    assert_eq!(story["story"][0]["source"], "message");
    assert_eq!(explained.run(&["locks"]).await.code, Some(0));

    assert_eq!(program.terminate().await, Some(0));
    assert_eq!(violations(&ground.nats, &keys.public("service")), [""; 0]);
    assert_eq!(violations(&ground.nats, &keys.public("operator")), [""; 0]);
    // The log would tell.
    checkout.send("order.created.shop", "{}").await;
    assert_eq!(violations(&ground.nats, &keys.public("checkout_web")).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_may_apply_makes_its_streams_and_makes_them_again() {
    let keys = Keys::mint();
    let mut ground = keys.ground("").await;
    let mut program = keys.launch(&ground, "service_applying", "_INBOX.service").ready(&["run"]).await;
    ground.nats.kill().await.unwrap();
    ground.nats.wipe_store().unwrap();
    ground.nats.restart().await.unwrap();
    let url = ground.nats.url();
    let mut operator = Wire::log_in(&url, Some(&keys.seed("operator")), "_INBOX.operator").await.unwrap();
    operator.open_inbox().await;
    wait_until("the last of all consumers to be there again", PATIENCE, async || {
        let info = operator.ask("$JS.API.CONSUMER.INFO.INVENTORY.lastunit-inventory", "").await.unwrap();
        info.json().get("error").is_none()
    })
    .await;
    assert_eq!(program.terminate().await, Some(0));
    assert_eq!(violations(&ground.nats, &keys.public("service_applying")), [""; 0]);
}
