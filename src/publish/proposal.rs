//! A map of items, as a marketplace's own cards suggest it: never applied unseen.

use std::collections::{BTreeMap, BTreeSet};

use super::Card;
use crate::domain::Sku;

/// What the cards suggest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// SKUs, and what the channel calls them, by SKU.
    pub rows: Vec<(Sku, String)>,
    /// SKUs that several cards bear, such as a garment of several sizes: which is meant, a person must say.
    pub ambiguous: Vec<Sku>,
    /// How many cards bear the name of nothing that is known here.
    pub unknown: usize,
}

/// The seller's codes of cards that might be SKUs.
pub fn candidates(cards: &[Card]) -> BTreeSet<Sku> {
    cards.iter().filter_map(sku).collect()
}

/// What the cards suggest, where these SKUs are known.
pub fn propose(cards: &[Card], known: &BTreeSet<Sku>) -> Proposal {
    let mut ids: BTreeMap<Sku, BTreeSet<&str>> = BTreeMap::new();
    let mut proposal = Proposal::default();
    for card in cards {
        match sku(card).filter(|sku| known.contains(sku)) {
            Some(sku) => drop(ids.entry(sku).or_default().insert(&card.external_id)),
            None => proposal.unknown += 1,
        }
    }
    for (sku, ids) in ids {
        match ids.first() {
            Some(id) if ids.len() == 1 => proposal.rows.push((sku, (*id).to_owned())),
            _ => proposal.ambiguous.push(sku),
        }
    }
    proposal
}

fn sku(card: &Card) -> Option<Sku> {
    Sku::new(&card.seller_code).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(external_id: &str, seller_code: &str) -> Card {
        Card { external_id: external_id.to_owned(), seller_code: seller_code.to_owned(), title: String::new() }
    }

    #[test]
    fn only_what_is_known_and_borne_by_one_card_is_proposed() {
        let cards = [
            card("2", "B"),
            card("1", "A"),
            card("5", "SHIRT"),
            card("6", "SHIRT"),
            card("7", "NOWHERE"),
            card("8", ""),
        ];
        let sku = |text: &str| Sku::new(text).unwrap();
        let expected: BTreeSet<Sku> = ["A", "B", "NOWHERE", "SHIRT"].map(sku).into();
        assert_eq!(candidates(&cards), expected);
        let proposal = propose(&cards, &["A", "B", "C", "SHIRT"].map(sku).into());
        let rows = vec![(sku("A"), "1".to_owned()), (sku("B"), "2".to_owned())];
        assert_eq!(proposal, Proposal { rows, ambiguous: vec![sku("SHIRT")], unknown: 2 });
    }
}
