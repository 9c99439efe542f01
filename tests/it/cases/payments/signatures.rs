//! Gateways that sign: Standard Webhooks, several secrets, and a day in the stream.

use async_nats::HeaderMap;
use serde_json::Value;
use standardwebhooks::Webhook;

use super::{money, priced};
use crate::cases::Stage;
use crate::support::{Ground, Launch, Shop};

const OLD: &str = "whsec_b2xkLW9sZC1vbGQtb2xk";
const NEW: &str = "whsec_bmV3LW5ldy1uZXctbmV3";
const FORGED: &str = "whsec_Zm9yZ2VkLWZvcmdlZA==";
const DAY_S: i64 = 86_400;

/// Says it signed with this secret, so many seconds ago.
async fn signed(shop: &Shop, secret: &str, age_s: i64, body: &Value) {
    #[allow(clippy::disallowed_methods, reason = "a gateway signs by its own clock")]
    let at = time::OffsetDateTime::now_utc().unix_timestamp() - age_s;
    let payload = body.to_string();
    let signature = Webhook::new(secret).unwrap().sign("msg_1", at, payload.as_bytes()).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("webhook-id", "msg_1");
    headers.insert("webhook-timestamp", at.to_string());
    headers.insert("webhook-signature", signature);
    shop.say_raw("payment.succeeded.stripe", headers, payload.into_bytes()).await;
}

/// With a provider that signs, and these secrets.
fn launch(ground: &Ground, secrets: &str) -> Launch {
    let file = ground.dir().join(format!("secrets-{:08x}", fastrand::u32(..)));
    std::fs::write(&file, secrets).unwrap();
    Launch::new(ground).config(&format!("[payments.stripe]\nwebhook_secret_file = \"{}\"", file.display()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_signs_is_taken_only_with_a_signature_that_holds() {
    let ground = Box::pin(Ground::new()).await;
    let both = launch(&ground, &format!("{OLD}\n{NEW}\n"));
    let mut stage = Stage::on(ground, both).await;
    let shop = &stage.shop;
    shop.count("A", "main", 9).await;
    for n in 0..6 {
        shop.ask("order.created.web", priced(&format!("e{n}"), &n.to_string(), "A")).await;
    }
    let body = |n: usize| money(&format!("p{n}"), &format!("P{n}"), &n.to_string());
    signed(shop, OLD, 0, &body(0)).await;
    signed(shop, NEW, 0, &body(1)).await;
    signed(shop, FORGED, 0, &body(2)).await;
    signed(shop, OLD, 301, &body(3)).await;
    shop.say("payment.succeeded.stripe", body(4)).await;
    // Another provider does not sign.
    shop.say("payment.succeeded.paypal", body(5)).await;
    shop.settled().await;
    let mut dead = shop.dead().await;
    dead.sort();
    let bad = |n: usize| ("bad_signature".to_owned(), format!("p{n}"));
    assert_eq!(dead, [bad(2), bad(3), bad(4)]);
    for (n, state) in ["confirmed", "confirmed", "held", "held", "held", "confirmed"].into_iter().enumerate() {
        assert_eq!(shop.state(&n.to_string()).await, state, "{n}");
    }

    // Replayed they are judged again, by the secrets there are then.
    let replayed = stage.launch.run(&["dead-letters", "replay", "--reason", "bad_signature"]).await;
    assert_eq!(replayed.code, Some(1), "{}", replayed.stderr);
    assert_eq!(shop.state("2").await, "held");
    assert!(!replayed.stdout.contains("b2xk") && !replayed.stderr.contains("b2xk"));
    let rotated = launch(&stage.ground, FORGED);
    let replayed = rotated.run(&["dead-letters", "replay", "--reason", "bad_signature"]).await;
    assert_eq!(replayed.code, Some(1), "{}", replayed.stderr);
    assert_eq!(shop.state("2").await, "confirmed");
    assert_eq!(shop.state("3").await, "held");

    // Nothing shows the secrets.
    let shown = stage.launch.run(&["config", "show"]).await;
    assert!(!shown.stdout.contains("b2xk") && shown.stdout.contains("webhook_secret = \"***\""), "{}", shown.stdout);
    assert_eq!(stage.program.terminate().await, Some(0));
    assert!(!stage.program.stderr().contains("b2xk"));
    stage.restart_with(rotated).await;
    stage.close().await;
}

/// A signature is as old as it was when the stream received it, not as it is when somebody is there to read it.
#[tokio::test(flavor = "multi_thread")]
async fn a_day_of_downtime_rejects_nothing() {
    let ground = Box::pin(Ground::new()).await;
    let signing = launch(&ground, OLD);
    let mut stage = Stage::on(ground, signing.clone()).await;
    stage.shop.count("A", "main", 1).await;
    stage.shop.ask("order.created.web", priced("e1", "1", "A")).await;
    assert_eq!(stage.program.terminate().await, Some(0));
    signed(&stage.shop, OLD, 0, &money("p1", "P1", "1")).await;
    stage.restart_with(signing.clock(DAY_S)).await;
    stage.shop.decided("p1").await;
    assert_eq!(stage.shop.state("1").await, "confirmed");
    stage.close().await;
}
