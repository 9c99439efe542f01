//! How many units to keep from a channel: what it sold that was not there, or showed that it had not been told. A suggestion with its reason, and
//! nothing else.

use std::fmt;

use serde_json::{Value, json};

use crate::store::reports::Excess;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Orders that could not have what they asked for.
    Stockouts,
    /// Looks that found another number than was told.
    Drift,
}

/// A report by SKU and channel, the worst first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Safety {
    of: Of,
    rows: Vec<Excess>,
}

impl Safety {
    /// The report on these.
    pub fn new(of: Of, rows: Vec<Excess>) -> Self {
        Self { of, rows }
    }

    /// Whether there is nothing to report on.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The same for a program. `suggested_safety_stock` is null where nothing is suggested.
    pub fn to_json(&self) -> Value {
        let [cases, above] = self.of.names();
        let row = |row: &Excess| {
            json!({
                "id": format!("{}/{}", row.channel, row.sku), "channel": row.channel, "sku": row.sku, cases: row.cases,
                above: row.above, "most_units": row.most, "suggested_safety_stock": row.p95, "reason": self.of.reason(row),
            })
        };
        self.rows.iter().map(row).collect()
    }
}

impl Of {
    /// What the cases are called, and those among them that count.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Stockouts => ["denied_orders", "oversold_orders"],
            Self::Drift => ["drifts", "above"],
        }
    }

    fn reason(self, row: &Excess) -> String {
        let above = row.above;
        match (self, row.p95) {
            (Self::Stockouts, None) => {
                "the channel had sold none of these orders: it showed no more than there was".to_owned()
            }
            (Self::Drift, None) => "the channel never showed more than it had been told".to_owned(),
            (Self::Stockouts, Some(p95)) => {
                format!("the channel sold {above} of these orders, and 95 of 100 lacked no more than {p95} units")
            }
            (Self::Drift, Some(p95)) => {
                format!("it showed more than it had been told {above} times, 95 of 100 by no more than {p95} units")
            }
        }
    }
}

impl fmt::Display for Safety {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cases, above] = self.of.names().map(|name| name.replace('_', " "));
        for row in &self.rows {
            let Excess { sku, channel, .. } = row;
            writeln!(f, "{sku} on {channel}: {} {cases}, {} {above}", row.cases, row.above)?;
            match row.p95 {
                Some(units) => writeln!(f, "  suggested safety stock: {units}: {}", self.of.reason(row))?,
                None => writeln!(f, "  no safety stock suggested: {}", self.of.reason(row))?,
            }
        }
        if self.rows.is_empty() { f.write_str("nothing to report on") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(above: i64, p95: Option<i64>) -> Excess {
        Excess { sku: "A".to_owned(), channel: "oz".to_owned(), cases: 5, above, p95, most: p95.map(|units| units + 1) }
    }

    #[test]
    fn a_suggestion_has_its_reason_and_its_absence_too() {
        let report = Safety::new(Of::Stockouts, vec![row(3, Some(2)), row(0, None)]);
        let expected = "A on oz: 5 denied orders, 3 oversold orders\n  \
                        suggested safety stock: 2: the channel sold 3 of these orders, and 95 of 100 lacked no more than 2 units\n\
                        A on oz: 5 denied orders, 0 oversold orders\n  \
                        no safety stock suggested: the channel had sold none of these orders: it showed no more than there was\n";
        assert_eq!(report.to_string(), expected);
        let drift = Safety::new(Of::Drift, vec![row(3, Some(2))]).to_json();
        let expected = json!([{
            "id": "oz/A", "channel": "oz", "sku": "A", "drifts": 5, "above": 3, "most_units": 3, "suggested_safety_stock": 2,
            "reason": "it showed more than it had been told 3 times, 95 of 100 by no more than 2 units",
        }]);
        assert_eq!(drift, expected);
    }
}
