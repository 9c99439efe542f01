//! How many statements a batch costs does not depend on how large it is.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::PATIENT;
use crate::support::{Ground, Launch, Shop, order};

/// The statements of each transaction, by the xid that ended it, out of the server's log.
pub(super) fn statements_by_transaction(log: &str) -> HashMap<String, Vec<String>> {
    let mut open: HashMap<&str, Vec<String>> = HashMap::new();
    let mut done = HashMap::new();
    for line in log.lines() {
        let Some((session, xid, said)) = line
            .strip_prefix("<<")
            .and_then(|line| line.split_once(">> "))
            .and_then(|(session, said)| session.split_once(' ').map(|(session, xid)| (session, xid, said)))
        else {
            continue;
        };
        let statement = said.strip_prefix("LOG:  execute ").or(said.strip_prefix("LOG:  statement: "));
        match statement {
            Some(statement) if statement.starts_with("BEGIN") => {
                open.insert(session, Vec::new());
            }
            Some(statement) if statement.starts_with("COMMIT") => {
                done.insert(xid.to_owned(), open.remove(session).unwrap_or_default());
            }
            Some(statement) => {
                if let Some(statements) = open.get_mut(session) {
                    statements.push(statement.split_once(": ").map_or(statement, |(_, text)| text).to_owned());
                }
            }
            None => {}
        }
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_hundreds_costs_as_many_statements_as_a_batch_of_one() {
    let mut ground = Ground::own_that_logs_statements().await;
    let launch = Launch::new(&ground).config(PATIENT).config("sweeper.enabled = false");
    let mut program = launch.ready(&["run"]).await;
    let shop = Shop::open(&ground).await;
    let skus: Vec<_> = (0..50).map(|n| json!({ "sku": format!("S{n}"), "on_hand": 1000 })).collect();
    shop.say("inventory.counted.main", json!({ "event_id": "i1", "lines": skus })).await;
    shop.settled().await;

    let mixed = |n: usize| {
        let (id, sku) = (format!("e{n}"), format!("S{}", n % 50));
        let mut rejected = order(&id, &id, &sku);
        rejected["lines"][0]["qty"] = json!(5000);
        let kept = format!("e{}", n - n % 5);
        match n % 5 {
            0 => ("order.created.web".to_owned(), order(&id, &id, &sku)),
            1 => ("order.created.web".to_owned(), rejected),
            2 => ("order.renewed.web".to_owned(), json!({ "event_id": id, "order_ref": kept, "hold_for_s": 2000 })),
            3 => ("order.created.web".to_owned(), order(&id, &kept, &sku)),
            _ => ("order.cancelled.web".to_owned(), json!({ "event_id": id, "order_ref": kept })),
        }
    };
    shop.in_one_batch((0..5).map(mixed).collect()).await;
    shop.in_one_batch((5..505).map(mixed).collect()).await;
    assert_eq!(program.terminate().await, Some(0));

    // How many orders each transaction wrote last, and how many statements it had.
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT xmin::text, count(*) FROM reservation_event WHERE from_state IS NULL GROUP BY 1 ORDER BY 2",
    )
    .fetch_all(&shop.db)
    .await
    .unwrap();
    let transactions = statements_by_transaction(&ground.postgres().log());
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for (xid, orders) in rows {
        counts.insert(orders, transactions[&xid].len());
    }
    let (smallest, largest) = (*counts.keys().next().unwrap(), *counts.keys().last().unwrap());
    assert!(smallest == 1 && largest >= 50, "{counts:?}");
    let most = counts.values().max().unwrap();
    assert!(*most <= 30, "{counts:?}\n{transactions:#?}");
    for (xid, statements) in &transactions {
        let mut sorted = statements.clone();
        sorted.sort();
        let before = sorted.len();
        sorted.dedup();
        // The inbox is held still and claimed twice: by what is no order, and by repeats of orders.
        assert!(before - sorted.len() <= 2, "{xid} runs a statement again and again: {statements:#?}");
    }
    shop.audit().await;
}
