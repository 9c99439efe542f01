//! The invariants of the design, asked by the program's own audit, and of `STOCK` besides.

use std::collections::HashMap;
use std::sync::Arc;

use lastunit::audit::{self, Broker};
use lastunit::domain::Finding;
use lastunit::store::turn;
use lastunit::topology::Topology;
use serde_json::Value;

use super::Shop;

impl Shop {
    /// Invariants 1 to 7. Panics with what breaks one. Everything must be settled before: only then has every message been acknowledged.
    pub async fn audit(&self) {
        let found: Vec<String> = self.findings().await.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{found:#?}");
        self.audit_told("STOCK").await;
    }

    /// What the audit finds.
    pub async fn findings(&self) -> Vec<Finding> {
        let broker = Broker { jetstream: self.js.clone(), topology: Arc::new(Topology::load(None, "").unwrap()) };
        let mut session = turn::session(&self.database).await.unwrap();
        let mut found = Vec::new();
        let mut take = |finding: &Finding| {
            found.push(finding.clone());
            Ok(())
        };
        let report = audit::run(&mut session, &self.database, Ok(&broker), &mut take).await.unwrap();
        assert_eq!(report.unchecked, None);
        found
    }

    /// The last event of each row carries its figures.
    async fn audit_told(&self, stream: &str) {
        let mut last: HashMap<(String, String), Value> = HashMap::new();
        for told in self.stream(stream).await {
            let text = |field: &str| told.body[field].as_str().unwrap().to_owned();
            last.insert((text("sku"), text("warehouse")), told.body);
        }
        let rows: Vec<(String, String, i64, i64, i64)> =
            sqlx::query_as("SELECT sku, warehouse, on_hand, reserved, version FROM stock")
                .fetch_all(&self.db)
                .await
                .unwrap();
        for (sku, warehouse, on_hand, reserved, version) in rows {
            let event = &last[&(sku.clone(), warehouse.clone())];
            let told = ["on_hand", "reserved", "available", "version"].map(|field| event[field].as_i64().unwrap());
            assert_eq!(told, [on_hand, reserved, on_hand - reserved, version], "last of {sku} {warehouse} in {stream}");
        }
    }
}
