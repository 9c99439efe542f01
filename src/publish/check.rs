//! Our maps of a channel, held against what the channel itself knows; and its key, against the calendar.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::{Card, Credentials, ExternalWarehouse, Marketplace, ReadFault};
use crate::domain::{Channel, Review, ReviewKind, ReviewSubject, Sku, Timestamp, Warehouse};
use crate::messages::WireTime;

/// How long before its end a key is spoken of: a new one takes a person, and days off are.
const ENDS_SOON: Duration = Duration::from_hours(14 * 24);

/// How many of a kind a question names.
const NAMED: usize = 5;

/// What a channel is to show, and what it calls it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Maps {
    /// Items.
    pub items: Vec<(Sku, String)>,
    /// Warehouses.
    pub warehouses: Vec<(Warehouse, String)>,
}

/// What a person must mend before everything can be shown. No text of it holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum CheckFinding {
    /// A warehouse that the channel does not know under that name.
    WarehouseUnknown {
        /// Ours.
        #[serde(serialize_with = "text")]
        warehouse: Warehouse,
        /// What it should be called there.
        external_warehouse_id: String,
    },
    /// A warehouse that takes no stock now.
    WarehouseTrouble {
        /// Ours.
        #[serde(serialize_with = "text")]
        warehouse: Warehouse,
        /// What it is called there.
        external_warehouse_id: String,
        /// Why not.
        trouble: String,
    },
    /// An item that is not in the channel's catalogue under that name.
    ItemUnknown {
        /// Ours.
        #[serde(serialize_with = "text")]
        sku: Sku,
        /// What it should be called there.
        external_id: String,
    },
    /// A key that ends soon.
    KeyEnds {
        /// When.
        #[serde(serialize_with = "wire")]
        at: Timestamp,
    },
    /// A key that has ended.
    KeyEnded {
        /// When.
        #[serde(serialize_with = "wire")]
        at: Timestamp,
    },
    /// A key that may not what it must.
    KeyTrouble {
        /// What.
        trouble: String,
    },
    /// A question that the channel did not answer: what it would have shown is not known.
    Unanswered {
        /// Which.
        question: Question,
        /// Why not.
        fault: String,
    },
}

/// What a channel is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Its warehouses.
    Warehouses,
    /// Its catalogue.
    Cards,
    /// What our key may.
    Credentials,
}

impl Question {
    fn says(self) -> &'static str {
        match self {
            Self::Warehouses => "its warehouses",
            Self::Cards => "its catalogue",
            Self::Credentials => "what our key may",
        }
    }
}

fn text<S: Serializer>(name: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(name)
}

fn wire<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&WireTime(*at))
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WarehouseUnknown { warehouse, external_warehouse_id } => {
                write!(
                    f,
                    "warehouse {warehouse} is mapped to {external_warehouse_id:?}, which the channel does not know"
                )
            }
            Self::WarehouseTrouble { warehouse, external_warehouse_id, trouble } => {
                write!(f, "warehouse {warehouse} ({external_warehouse_id:?} there) takes no stock: {trouble}")
            }
            Self::ItemUnknown { sku, external_id } => {
                write!(f, "{sku} is mapped to {external_id:?}, which the channel's catalogue does not have")
            }
            Self::KeyEnds { at } => write!(f, "the key ends at {}: a new one is needed", WireTime(*at)),
            Self::KeyEnded { at } => write!(f, "the key ended at {}", WireTime(*at)),
            Self::KeyTrouble { trouble } => write!(f, "the key will not do: {trouble}"),
            Self::Unanswered { question, fault } => {
                write!(f, "the channel could not be asked for {}: {fault}", question.says())
            }
        }
    }
}

impl CheckFinding {
    /// Of which kind it is, in a word.
    fn word(&self) -> &'static str {
        match self {
            Self::WarehouseUnknown { .. } => "warehouse_unknown",
            Self::WarehouseTrouble { .. } => "warehouse_trouble",
            Self::ItemUnknown { .. } => "item_unknown",
            Self::KeyEnds { .. } => "key_ends",
            Self::KeyEnded { .. } => "key_ended",
            Self::KeyTrouble { .. } => "key_trouble",
            Self::Unanswered { .. } => "unanswered",
        }
    }
}

/// Findings as questions for a person: one a kind, however many there are.
pub(super) fn questions(channel: &Channel, findings: &[CheckFinding]) -> Vec<Review> {
    let mut by_word: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for finding in findings {
        by_word.entry(finding.word()).or_default().push(finding.to_string());
    }
    let question = |(word, said): (&str, Vec<String>)| {
        let beyond = said.len().saturating_sub(NAMED);
        let more =
            if beyond > 0 { format!("; and {beyond} more: lastunit publisher check {channel}") } else { String::new() };
        Review {
            kind: ReviewKind::ChannelCheck,
            subject: ReviewSubject::Channel(channel.clone(), word.to_owned()),
            detail: format!("{channel}: {}{more}", said[..said.len().min(NAMED)].join("; ")),
            cause: 0,
        }
    };
    by_word.into_iter().map(question).collect()
}

/// Asks a channel for all it knows, and returns what does not fit. What a channel of its kind cannot be asked for is not found wanting; what it could
/// be asked for and does not answer is a finding of its own.
pub async fn check(market: &dyn Marketplace, maps: &Maps, now: Timestamp) -> Vec<CheckFinding> {
    let mut findings = Vec::new();
    match market.credentials(now).await {
        Ok(credentials) => judge_key(credentials, now, &mut findings),
        Err(fault) => unanswered(Question::Credentials, &fault, &mut findings),
    }
    match market.warehouses().await {
        Ok(known) => judge_warehouses(&maps.warehouses, known, &mut findings),
        Err(fault) => unanswered(Question::Warehouses, &fault, &mut findings),
    }
    match market.cards().await {
        Ok(known) => judge_items(&maps.items, &known, &mut findings),
        Err(fault) => unanswered(Question::Cards, &fault, &mut findings),
    }
    findings
}

fn unanswered(question: Question, fault: &ReadFault, findings: &mut Vec<CheckFinding>) {
    if *fault != ReadFault::Unsupported {
        findings.push(CheckFinding::Unanswered { question, fault: fault.to_string() });
    }
}

fn judge_key(Credentials { expires_at, trouble }: Credentials, now: Timestamp, findings: &mut Vec<CheckFinding>) {
    match expires_at {
        Some(at) if at <= now => findings.push(CheckFinding::KeyEnded { at }),
        Some(at) if at <= now + ENDS_SOON => findings.push(CheckFinding::KeyEnds { at }),
        _ => {}
    }
    findings.extend(trouble.map(|trouble| CheckFinding::KeyTrouble { trouble }));
}

fn judge_warehouses(mapped: &[(Warehouse, String)], known: Vec<ExternalWarehouse>, findings: &mut Vec<CheckFinding>) {
    let mut known: HashMap<String, Option<String>> = known.into_iter().map(|one| (one.id, one.trouble)).collect();
    findings.extend(mapped.iter().filter_map(|(warehouse, id)| {
        let (warehouse, external_warehouse_id) = (warehouse.clone(), id.clone());
        match known.remove(id) {
            None => Some(CheckFinding::WarehouseUnknown { warehouse, external_warehouse_id }),
            Some(trouble) => {
                trouble.map(|trouble| CheckFinding::WarehouseTrouble { warehouse, external_warehouse_id, trouble })
            }
        }
    }));
}

fn judge_items(mapped: &[(Sku, String)], known: &[Card], findings: &mut Vec<CheckFinding>) {
    let known: HashSet<&str> = known.iter().map(|card| card.external_id.as_str()).collect();
    let unknown = mapped.iter().filter(|(_, id)| !known.contains(id.as_str()));
    findings.extend(unknown.map(|(sku, id)| CheckFinding::ItemUnknown { sku: sku.clone(), external_id: id.clone() }));
}

#[cfg(test)]
mod tests {
    use futures::future::{BoxFuture, ready};
    use serde_json::json;
    use time::macros::datetime;

    use super::*;
    use crate::domain::Qty;
    use crate::publish::{Capabilities, Item, Outcome};

    const NOW: Timestamp = datetime!(2027-01-01 12:00 UTC);

    /// A channel that answers what it is told to.
    #[derive(Debug)]
    struct Fake {
        cards: Result<Vec<Card>, ReadFault>,
        warehouses: Result<Vec<ExternalWarehouse>, ReadFault>,
        credentials: Result<Credentials, ReadFault>,
    }

    impl Marketplace for Fake {
        fn capabilities(&self) -> Capabilities {
            Capabilities { max_batch: 1, one_warehouse_a_call: false, max_qty: 1, at_once: 1, reads: None }
        }

        fn ready(&self) -> BoxFuture<'_, ()> {
            Box::pin(ready(()))
        }

        fn push<'a>(&'a self, _: &'a [Item], _: Timestamp) -> BoxFuture<'a, Vec<Outcome>> {
            panic!("a check tells nothing")
        }

        fn observe<'a>(&'a self, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Result<Vec<Option<Qty>>, ReadFault>> {
            panic!("a check reads no stock")
        }

        fn cards(&self) -> BoxFuture<'_, Result<Vec<Card>, ReadFault>> {
            Box::pin(ready(self.cards.clone()))
        }

        fn warehouses(&self) -> BoxFuture<'_, Result<Vec<ExternalWarehouse>, ReadFault>> {
            Box::pin(ready(self.warehouses.clone()))
        }

        fn credentials(&self, _: Timestamp) -> BoxFuture<'_, Result<Credentials, ReadFault>> {
            Box::pin(ready(self.credentials.clone()))
        }
    }

    /// One that knows the item `1` and the warehouse `7`, and gives a key for ever.
    fn fake() -> Fake {
        let card = Card { external_id: "1".to_owned(), seller_code: "A".to_owned(), title: String::new() };
        let warehouse = ExternalWarehouse { id: "7".to_owned(), name: String::new(), trouble: None };
        let credentials = Credentials { expires_at: None, trouble: None };
        Fake { cards: Ok(vec![card]), warehouses: Ok(vec![warehouse]), credentials: Ok(credentials) }
    }

    fn maps(items: &[(&str, &str)], warehouses: &[(&str, &str)]) -> Maps {
        let item = |(sku, id): &(&str, &str)| (Sku::new(sku).unwrap(), (*id).to_owned());
        let warehouse = |(name, id): &(&str, &str)| (Warehouse::new(name).unwrap(), (*id).to_owned());
        Maps { items: items.iter().map(item).collect(), warehouses: warehouses.iter().map(warehouse).collect() }
    }

    async fn said(market: &Fake, maps: &Maps) -> Vec<String> {
        check(market, maps, NOW).await.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn many_findings_of_a_kind_are_one_question() {
        let channel = Channel::new("ozon").unwrap();
        let unknown = |n: usize| CheckFinding::ItemUnknown {
            sku: Sku::new(&format!("S{n}")).unwrap(),
            external_id: n.to_string(),
        };
        let findings: Vec<_> = (0..7).map(unknown).chain([CheckFinding::KeyEnded { at: NOW }]).collect();
        let questions = questions(&channel, &findings);
        let said: Vec<_> = questions.iter().map(|question| (&question.subject, question.detail.as_str())).collect();
        let subject = |word: &str| ReviewSubject::Channel(channel.clone(), word.to_owned());
        assert_eq!(said[0].0, &subject("item_unknown"));
        assert!(
            said[0].1.starts_with("ozon: S0 is mapped to \"0\"") && said[0].1.contains("and 2 more"),
            "{}",
            said[0].1
        );
        assert_eq!(said[1], (&subject("key_ended"), "ozon: the key ended at 2027-01-01T12:00:00.000000Z"));
        assert_eq!(said.len(), 2);
    }

    #[tokio::test]
    async fn what_fits_is_no_finding() {
        assert_eq!(said(&fake(), &maps(&[("A", "1")], &[("main", "7")])).await, [""; 0]);
        assert_eq!(said(&fake(), &Maps::default()).await, [""; 0]);
    }

    #[tokio::test]
    async fn what_the_channel_does_not_know_or_has_trouble_with_is_named() {
        let mut market = fake();
        let closed = |id: &str| ExternalWarehouse {
            id: id.to_owned(),
            name: String::new(),
            trouble: Some("it is being closed".to_owned()),
        };
        market.warehouses.as_mut().unwrap().push(closed("8"));
        // One that we do not sell from may have any trouble.
        market.warehouses.as_mut().unwrap().push(closed("9"));
        let maps = maps(&[("A", "1"), ("B", "2")], &[("main", "7"), ("far", "8"), ("gone", "6")]);
        let expected = [
            "warehouse far (\"8\" there) takes no stock: it is being closed",
            "warehouse gone is mapped to \"6\", which the channel does not know",
            "B is mapped to \"2\", which the channel's catalogue does not have",
        ];
        assert_eq!(said(&market, &maps).await, expected);
        let found = check(&market, &maps, NOW).await;
        let expected = json!({ "finding": "item_unknown", "sku": "B", "external_id": "2" });
        assert_eq!(serde_json::to_value(&found[2]).unwrap(), expected);
    }

    #[tokio::test]
    async fn a_key_that_ends_within_a_fortnight_or_will_not_do_is_named() {
        let key = async |expires_at, trouble: Option<&str>| {
            let credentials = Credentials { expires_at, trouble: trouble.map(str::to_owned) };
            said(&Fake { credentials: Ok(credentials), ..fake() }, &Maps::default()).await
        };
        assert_eq!(key(Some(datetime!(2027-01-15 12:00:01 UTC)), None).await, [""; 0]);
        let soon = "the key ends at 2027-01-15T12:00:00.000000Z: a new one is needed";
        assert_eq!(key(Some(datetime!(2027-01-15 12:00 UTC)), None).await, [soon]);
        assert_eq!(key(Some(NOW), None).await, ["the key ended at 2027-01-01T12:00:00.000000Z"]);
        assert_eq!(key(None, Some("it may not write")).await, ["the key will not do: it may not write"]);
    }

    #[tokio::test]
    async fn a_call_that_could_not_be_made_is_a_finding_and_one_that_there_is_not_is_none() {
        let failed = |text: &str| ReadFault::Failed(text.to_owned());
        let market = Fake {
            cards: Err(failed("no answer within 20 s")),
            warehouses: Err(ReadFault::Unsupported),
            credentials: Err(ReadFault::Halted("the key is not taken".to_owned())),
        };
        let expected = [
            "the channel could not be asked for what our key may: the key is not taken",
            "the channel could not be asked for its catalogue: no answer within 20 s",
        ];
        assert_eq!(said(&market, &maps(&[("B", "2")], &[("gone", "6")])).await, expected);
    }
}
