//! `lastunit locks`.

use serde_json::{Value, json};

use super::super::{PATIENCE, PATIENT, Stage};
use crate::support::{order, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_row_and_who_waits_for_it_is_said() {
    let stage = Stage::open_with(PATIENT).await;
    let shop = &stage.shop;
    shop.count("A", "main", 5).await;
    shop.count("B", "main", 5).await;
    let nobody = stage.launch.run(&["locks"]).await;
    assert_eq!(
        (nobody.code, nobody.stdout.as_str()),
        (Some(0), "nobody waits for a stock row, and no transaction has any\n")
    );

    let mut holder = shop.db.begin().await.unwrap();
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *holder).await.unwrap();
    sqlx::query("SET application_name = 'a long report'").execute(&mut *holder).await.unwrap();
    sqlx::query("SELECT FROM stock WHERE sku = 'A' FOR UPDATE").execute(&mut *holder).await.unwrap();

    // Nobody waits yet: that it has rows is seen, which is not.
    let seen = stage.document(&["locks"]).await;
    assert_eq!((&seen[0]["sku"], &seen[0]["holders"][0]["pid"]), (&Value::Null, &json!(pid)), "{seen:#}");
    assert_eq!(seen.as_array().unwrap().len(), 1);

    shop.say("order.created.web", order("o1", "1", "A")).await;
    let mut another = shop.db.acquire().await.unwrap();
    let second = tokio::spawn(async move {
        sqlx::query("SELECT FROM stock WHERE sku = 'A' FOR NO KEY UPDATE").execute(&mut *another).await.unwrap();
    });
    let mut seen = Value::Null;
    wait_until("both to wait for the row", PATIENCE, async || {
        seen = stage.document(&["locks"]).await;
        seen[0]["waiters"].as_array().is_some_and(|waiters| waiters.len() == 2)
    })
    .await;
    assert_eq!(seen.as_array().unwrap().len(), 1, "the row, and no other session: {seen:#}");
    let row = &seen[0];
    assert_eq!((&row["id"], &row["sku"], &row["warehouse"]), (&json!("main A"), &json!("A"), &json!("main")));
    let holders = row["holders"].as_array().unwrap();
    assert_eq!(holders.len(), 1, "{row:#}");
    assert_eq!((&holders[0]["pid"], &holders[0]["application"]), (&json!(pid), &json!("a long report")));
    assert_eq!(holders[0]["state"], "idle in transaction");
    assert!(holders[0]["transaction_s"].as_f64().unwrap() > 0.0);
    let waiters = row["waiters"].as_array().unwrap();
    assert!(waiters.iter().any(|waiter| waiter["session"]["application"] == "lastunit"), "{row:#}");
    assert!(waiters.iter().any(|waiter| waiter["behind"] == json!([pid])), "{row:#}");
    let text = stage.launch.run(&["locks"]).await.stdout;
    assert!(text.starts_with(&format!("A in main:\n  has it: pid {pid}, a long report as ")), "{text}");
    assert!(text.contains("  has waited ") && text.contains(&format!(" behind {pid}")), "{text}");

    holder.rollback().await.unwrap();
    second.await.unwrap();
    shop.answer_to("o1").await;
    stage.close().await;
}
