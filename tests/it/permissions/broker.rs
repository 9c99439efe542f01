//! `ops/nats/accounts.conf`: what the broker allows each user.

use super::keys::Keys;
use super::table::{Answer, Attempt, conclude};
use super::wire::Wire;
use crate::support::{Ground, PATIENCE, wait_until};

use Answer::{Allowed, Refused};

/// A user of the configuration: what people call the role, the key's name, the inbox.
struct Role(&'static str, &'static str, &'static str);

/// What is tried.
#[derive(Clone, Copy)]
enum Try {
    /// Publishing into a stream, which acknowledges it.
    Publish(&'static str),
    /// Publishing what nobody acknowledges.
    Send(&'static str),
    /// A request with this body.
    Ask(&'static str, &'static str),
    Listen(&'static str),
}

use Try::{Ask, Listen, Publish, Send};

impl Try {
    fn words(self) -> String {
        match self {
            Publish(subject) | Send(subject) => format!("publish `{subject}`"),
            Ask(subject, _) => format!("request `{subject}`"),
            Listen(subject) => format!("subscribe `{subject}`"),
        }
    }

    /// Tries it. What is allowed has to succeed as well.
    async fn carry_out(self, wire: &mut Wire) -> Answer {
        match self {
            Listen(subject) => wire.listen(subject).await,
            Send(subject) => wire.send(subject, "{}").await,
            Publish(subject) => match wire.ask(subject, "{}").await {
                None => Refused,
                Some(heard) => {
                    assert!(heard.json()["seq"].is_u64(), "{subject}: {heard:?}");
                    Allowed
                }
            },
            Ask(subject, body) => match wire.ask(subject, body).await {
                None => Refused,
                Some(heard) => {
                    let error = heard.json().get("error").cloned();
                    let is_good = error.is_none() && ["", "NATS/1.0"].contains(&heard.status.trim());
                    assert!(is_good, "{subject}: {heard:?}");
                    Allowed
                }
            },
        }
    }
}

const FIRST: &str = r#"{"seq":1}"#;
const VIEW: &str =
    r#"{"stream_name":"DEAD","config":{"name":"view","ack_policy":"none","inactive_threshold":60000000000}}"#;

const ROLES: &[(Role, &[(Try, Answer)])] = &[
    (
        Role("checkout of `web`", "checkout_web", "_INBOX.checkout-web"),
        &[
            (Publish("order.created.web"), Allowed),
            (Publish("order.cancelled.web"), Allowed),
            (Publish("order.created.shop"), Refused),
            (Publish("payment.succeeded.stripe"), Refused),
            (Publish("inventory.received.main"), Refused),
            (Publish("reservation.held.web"), Refused),
            (Publish("stock.changed.main.A"), Refused),
            (Send("_INBOX.service.1"), Refused),
            (Send("lastunit.query.order"), Refused),
            (Listen("reservation.*.web"), Allowed),
            (Listen("reservation.*.shop"), Refused),
            (Listen("reservation.>"), Refused),
            (Listen("order.>"), Refused),
            (Listen("stock.changed.>"), Refused),
            (Listen("_INBOX.>"), Refused),
            (Ask("$JS.API.STREAM.INFO.ORDERS", ""), Refused),
            (Ask("$JS.API.STREAM.MSG.GET.RESERVATIONS", FIRST), Refused),
            (Ask("$JS.API.CONSUMER.CREATE.RESERVATIONS.mine", ""), Refused),
            (Ask("$JS.API.STREAM.PURGE.ORDERS", ""), Refused),
        ],
    ),
    (
        Role("bridge of `stripe`", "bridge_stripe", "_INBOX.bridge-stripe"),
        &[
            (Publish("payment.succeeded.stripe"), Allowed),
            (Publish("payment.succeeded.paypal"), Refused),
            (Publish("order.created.web"), Refused),
            (Publish("refund.required.stripe"), Refused),
            (Listen("refund.required.stripe"), Allowed),
            (Listen("refund.required.paypal"), Refused),
            (Listen("payment.>"), Refused),
            (Ask("$JS.API.STREAM.INFO.PAYMENTS", ""), Refused),
        ],
    ),
    (
        Role("warehouse `main`", "warehouse_main", "_INBOX.warehouse-main"),
        &[
            (Publish("inventory.counted.main"), Allowed),
            (Publish("shipment.dispatched.main"), Allowed),
            (Publish("inventory.counted.far"), Refused),
            (Publish("shipment.dispatched.far"), Refused),
            (Publish("order.cancelled.web"), Refused),
            (Send("lastunit.query.stock"), Refused),
            (Listen("inventory.>"), Refused),
            (Listen("reservation.>"), Refused),
            (Ask("$JS.API.STREAM.INFO.INVENTORY", ""), Refused),
        ],
    ),
    (
        Role("the service, `streams.apply = false`", "service", "_INBOX.service"),
        &[
            (Publish("stock.changed.main.A"), Allowed),
            (Publish("reservation.held.web"), Allowed),
            (Publish("refund.required.stripe"), Allowed),
            (Publish("review.opened.oversold"), Allowed),
            (Publish("dead.order.created.web"), Allowed),
            (Send("_INBOX.checkout-web.1"), Allowed),
            (Ask("$JS.API.CONSUMER.INFO.ORDERS.lastunit-orders", ""), Allowed),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.ORDERS.lastunit-orders", "1"), Allowed),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.PAYMENTS.lastunit-payments", "1"), Allowed),
            (Send("$JS.ACK.PAYMENTS.lastunit-payments.1.1.1.1.0"), Allowed),
            (Ask("$JS.API.STREAM.MSG.GET.ORDERS", FIRST), Allowed),
            (Send("$JS.ACK.ORDERS.lastunit-orders.1.1.1.1.0"), Allowed),
            (Send("$JS.ACK._.HASH.ORDERS.lastunit-orders.1.1.1.1.0"), Allowed),
            (Send("$JS.ACK._.HASH.STOCK.another.1.1.1.1.0"), Refused),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.SHIPMENTS.lastunit-shipments", "1"), Allowed),
            (Send("$JS.ACK.SHIPMENTS.lastunit-shipments.1.1.1.1.0"), Allowed),
            (Send("$JS.ACK._.HASH.SHIPMENTS.lastunit-shipments.1.1.1.1.0"), Allowed),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.STOCK.lastunit-publisher", "1"), Allowed),
            (Send("$JS.ACK.STOCK.lastunit-publisher.1.1.1.1.0"), Allowed),
            (Send("$JS.ACK._.HASH.STOCK.lastunit-publisher.1.1.1.1.0"), Allowed),
            (Publish("order.created.web"), Refused),
            (Publish("inventory.counted.main"), Refused),
            (Publish("payment.succeeded.stripe"), Refused),
            (Ask("$JS.API.STREAM.CREATE.MINE", ""), Refused),
            (Ask("$JS.API.STREAM.UPDATE.ORDERS", ""), Refused),
            (Ask("$JS.API.STREAM.DELETE.ORDERS", ""), Refused),
            (Ask("$JS.API.STREAM.PURGE.ORDERS", ""), Refused),
            (Ask("$JS.API.STREAM.MSG.DELETE.STOCK", FIRST), Refused),
            (Ask("$JS.API.CONSUMER.CREATE.ORDERS.mine", ""), Refused),
            (Ask("$JS.API.CONSUMER.DELETE.ORDERS.lastunit-orders", ""), Refused),
            (Listen("order.>"), Refused),
            (Listen("lastunit.query.*"), Allowed),
            (Listen("$SRV.PING.lastunit"), Allowed),
            (Send("lastunit.query.order"), Refused),
            (Listen("_INBOX.>"), Refused),
        ],
    ),
    (
        Role("the service, `streams.apply = true`", "service_applying", "_INBOX.service"),
        &[
            (Ask("$JS.API.STREAM.LIST", ""), Allowed),
            (Publish("order.created.web"), Refused),
            (Ask("$JS.API.STREAM.DELETE.ORDERS", ""), Refused),
            (Ask("$JS.API.STREAM.PURGE.ORDERS", ""), Refused),
            (Ask("$JS.API.CONSUMER.DELETE.ORDERS.lastunit-orders", ""), Refused),
            (Listen("order.>"), Refused),
        ],
    ),
    (
        Role("provisioning", "provisioning", "_INBOX.provisioning"),
        &[
            (Ask("$JS.API.STREAM.INFO.ORDERS", ""), Allowed),
            (Publish("order.created.web"), Refused),
            (Publish("stock.changed.main.A"), Refused),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.ORDERS.lastunit-orders", "1"), Refused),
            (Ask("$JS.API.STREAM.MSG.GET.ORDERS", FIRST), Refused),
            (Ask("$JS.API.STREAM.DELETE.ORDERS", ""), Refused),
            (Ask("$JS.API.STREAM.PURGE.ORDERS", ""), Refused),
            (Listen("order.>"), Refused),
        ],
    ),
    (
        Role("operator", "operator", "_INBOX.operator"),
        &[
            (Ask("$JS.API.STREAM.INFO.ORDERS", ""), Allowed),
            (Ask("$JS.API.STREAM.MSG.GET.ORDERS", FIRST), Allowed),
            (Ask("$JS.API.CONSUMER.CREATE.DEAD.view", VIEW), Allowed),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.DEAD.view", "1"), Allowed),
            (Publish("reservation.held.web"), Allowed),
            (Listen("dead.>"), Allowed),
            (Listen("review.>"), Allowed),
            (Send("lastunit.query.order"), Allowed),
            (Send("$SRV.PING"), Allowed),
            (Listen("lastunit.query.*"), Refused),
            (Publish("order.created.web"), Refused),
            (Publish("inventory.counted.main"), Refused),
            (Publish("payment.succeeded.stripe"), Refused),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.PAYMENTS.lastunit-payments", "1"), Refused),
            (Ask("$JS.API.CONSUMER.CREATE.ORDERS.mine", ""), Refused),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.ORDERS.lastunit-orders", "1"), Refused),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.SHIPMENTS.lastunit-shipments", "1"), Refused),
            (Ask("$JS.API.CONSUMER.MSG.NEXT.STOCK.lastunit-publisher", "1"), Refused),
            (Ask("$JS.API.STREAM.UPDATE.ORDERS", ""), Refused),
            (Ask("$JS.API.STREAM.DELETE.DEAD", ""), Refused),
            (Ask("$JS.API.STREAM.PURGE.DEAD", ""), Refused),
            (Ask("$JS.API.STREAM.MSG.DELETE.ORDERS", FIRST), Refused),
            (Listen("_INBOX.>"), Refused),
        ],
    ),
    (
        Role("analyst", "analyst", "_INBOX.analyst"),
        &[
            (Listen("stock.changed.>"), Allowed),
            (Ask("JS.lastunit.API.STREAM.INFO.STOCK", ""), Allowed),
            (Ask("JS.lastunit.API.DIRECT.GET.STOCK", FIRST), Allowed),
            (Ask("JS.lastunit.API.DIRECT.GET.STOCK_LATEST.stock.changed.main.A", ""), Allowed),
            (Publish("stock.changed.main.A"), Refused),
            (Publish("order.created.web"), Refused),
            (Ask("JS.lastunit.API.STREAM.INFO.ORDERS", ""), Refused),
            (Ask("$JS.API.STREAM.INFO.STOCK", ""), Refused),
            (Ask("JS.lastunit.API.STREAM.LIST", ""), Refused),
            (Ask("JS.lastunit.API.DIRECT.GET.RESERVATIONS", FIRST), Refused),
            (Ask("JS.lastunit.API.STREAM.MSG.GET.STOCK", FIRST), Refused),
            (Ask("JS.lastunit.API.CONSUMER.CREATE.STOCK.mine", ""), Refused),
            (Ask("JS.lastunit.API.STREAM.PURGE.STOCK", ""), Refused),
            (Listen("reservation.>"), Refused),
            (Listen("order.>"), Refused),
            (Send("lastunit.query.stock"), Refused),
        ],
    ),
];

#[tokio::test]
async fn the_broker_allows_each_role_its_own_and_refuses_the_rest() {
    let keys = Keys::mint();
    let (_ground, url, _) = provisioned(&keys).await;
    let mut attempts = Vec::new();
    let strangers = [("nobody", None), ("a key that is not listed", Some(nkeys::KeyPair::new_user().seed().unwrap()))];
    for (role, seed) in strangers {
        let refused = Wire::log_in(&url, seed.as_deref(), "_INBOX").await.is_err();
        let answer = if refused { Refused } else { Allowed };
        attempts.push(Attempt { role, tried: "log in".into(), expected: Refused, answer });
    }
    for (Role(role, user, inbox), tries) in ROLES {
        let mut wire = Wire::log_in(&url, Some(&keys.seed(user)), inbox).await.unwrap();
        wire.open_inbox().await;
        for &(what, expected) in *tries {
            let answer = what.carry_out(&mut wire).await;
            attempts.push(Attempt { role, tried: what.words(), expected, answer });
        }
    }
    conclude(&attempts);
}

/// The broker delivers what was asked for wherever the request says. Across the border of an account it cannot.
#[tokio::test]
async fn a_stored_message_cannot_be_delivered_into_a_stream_by_an_analyst() {
    let keys = Keys::mint();
    let (_ground, url, mut operator) = provisioned(&keys).await;
    let mut analyst = Wire::log_in(&url, Some(&keys.seed("analyst")), "_INBOX.analyst").await.unwrap();
    analyst.open_inbox().await;
    assert_eq!(analyst.send_for("JS.lastunit.API.DIRECT.GET.STOCK", "stock.changed.main.B", FIRST).await, Allowed);
    // Answered after the one before.
    let own = analyst.ask("JS.lastunit.API.DIRECT.GET.STOCK", FIRST).await.unwrap();
    assert_eq!(own.json()["version"], 1);
    assert_eq!(stored(&mut operator, "STOCK").await, 1);

    // Within the account it can: that is why nobody else reads there.
    assert_eq!(operator.send_for("$JS.API.DIRECT.GET.STOCK", "stock.changed.main.B", FIRST).await, Allowed);
    operator.ask("$JS.API.DIRECT.GET.STOCK", FIRST).await.unwrap();
    assert_eq!(stored(&mut operator, "STOCK").await, 2);
}

/// A broker with its streams, and one event in `STOCK` and `STOCK_LATEST`. Also where it is, and the operator who told the event.
async fn provisioned(keys: &Keys) -> (Ground, String, Wire) {
    let ground = keys.ground("").await;
    let applied = keys.launch(&ground, "provisioning", "_INBOX.provisioning").run(&["streams", "apply"]).await;
    assert_eq!(applied.code, Some(0), "{applied:?}");
    let url = ground.nats.url();
    let mut operator = Wire::log_in(&url, Some(&keys.seed("operator")), "_INBOX.operator").await.unwrap();
    operator.open_inbox().await;
    operator.ask("stock.changed.main.A", r#"{"version":1}"#).await.unwrap();
    wait_until("the event to be sourced", PATIENCE, async || stored(&mut operator, "STOCK_LATEST").await == 1).await;
    (ground, url, operator)
}

/// How many messages a stream has.
async fn stored(wire: &mut Wire, stream: &str) -> u64 {
    let info = wire.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "").await.unwrap();
    info.json()["state"]["messages"].as_u64().unwrap()
}
