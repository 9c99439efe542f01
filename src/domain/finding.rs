//! What an audit finds.

use std::fmt;

use super::{Figure, StockKey};

/// Where a finding is: whatever of this names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// A SKU.
    pub sku: Option<String>,
    /// A warehouse.
    pub warehouse: Option<String>,
    /// An order's channel.
    pub channel: Option<String>,
    /// An order's name there.
    pub order_ref: Option<String>,
    /// A payment's provider.
    pub provider: Option<String>,
    /// A payment's name there.
    pub payment_id: Option<String>,
    /// A reservation's row.
    pub reservation_id: Option<i64>,
    /// A row of a reservation's or slot's journal.
    pub step_id: Option<i64>,
    /// A slot's row.
    pub slot_hold_id: Option<i64>,
    /// A resource.
    pub resource: Option<String>,
    /// A stream, without prefix.
    pub stream: Option<String>,
    /// A message's place in it.
    pub sequence: Option<i64>,
    /// A message's subject, without prefix.
    pub subject: Option<String>,
    /// An event.
    pub event_id: Option<String>,
}

/// One place where an invariant does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which, 1 to 9.
    pub invariant: u8,
    /// Where.
    pub place: Place,
    /// What should be there.
    pub expected: String,
    /// What is.
    pub found: String,
    /// The figure of a stock row that is wrong, where other rows may tell it.
    pub figure: Option<Figure>,
}

impl Place {
    /// A stock row.
    pub fn stock(key: &StockKey) -> Self {
        Self { sku: Some(key.sku.to_string()), warehouse: Some(key.warehouse.to_string()), ..Self::default() }
    }

    /// What is named, as words and texts.
    pub fn parts(&self) -> Vec<(&'static str, String)> {
        let id = |number: Option<i64>| number.map(|number| number.to_string());
        let parts = [
            ("channel", self.channel.clone()),
            ("order", self.order_ref.clone()),
            ("provider", self.provider.clone()),
            ("payment", self.payment_id.clone()),
            ("reservation", id(self.reservation_id)),
            ("slot", id(self.slot_hold_id)),
            ("resource", self.resource.clone()),
            ("step", id(self.step_id)),
            ("sku", self.sku.clone()),
            ("warehouse", self.warehouse.clone()),
            ("stream", self.stream.clone()),
            ("message", id(self.sequence)),
            ("subject", self.subject.clone()),
            ("event", self.event_id.clone()),
        ];
        parts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
    }
}

impl Finding {
    /// The same for the same invariant at the same place, run after run. No name holds a control character, so that none can be mistaken for
    /// two.
    pub fn cause(&self) -> String {
        let parts: Vec<String> = self.place.parts().into_iter().map(|(name, text)| format!("{name}\t{text}")).collect();
        format!("invariant\t{}\t{}", self.invariant, parts.join("\t"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invariant {}", self.invariant)?;
        for (name, text) in self.place.parts() {
            write!(f, ", {name} {text}")?;
        }
        write!(f, ": expected {}, found {}", self.expected, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_a_sentence_and_its_cause_is_its_place() {
        let place = Place { sku: Some("A".into()), warehouse: Some("main".into()), ..Place::default() };
        let finding = Finding { invariant: 3, place, expected: "5".into(), found: "4".into(), figure: None };
        assert_eq!(finding.to_string(), "invariant 3, sku A, warehouse main: expected 5, found 4");
        let later = Finding { found: "3".into(), ..finding.clone() };
        assert_eq!(finding.cause(), "invariant\t3\tsku\tA\twarehouse\tmain");
        assert_eq!(finding.cause(), later.cause());
    }
}
