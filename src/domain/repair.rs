//! What sets a stock row right that an audit found wrong, or what a person should look at.

use super::{EventId, Finding, Qty, Stock, StockKey};

/// A figure of a stock row that is wrong, and that others may tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// What is promised is not what its lines and steps say.
    Reserved,
    /// What lies there is not what its movements say.
    OnHand,
    /// What was told last is not what it is.
    Told {
        /// The row's version, when that was seen.
        seen: Option<i64>,
        /// The version that was told last.
        told: Option<i64>,
    },
}

/// A stock row, and what its journals and lines sum to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowFacts {
    /// The row; none where there is none.
    pub stock: Option<Stock>,
    /// What held and confirmed lines have outstanding there.
    pub lines: Qty,
    /// What the steps of reservations sum to there.
    pub steps: Qty,
    /// What the movements sum to.
    pub movements: Qty,
}

/// What an entry changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// `reserved` becomes what the lines have outstanding: that is what buyers were told.
    Reserved,
    /// The movements get the difference, so that they sum to `on_hand`: that is what is sold from.
    Counted,
    /// The version is raised, and the row told again.
    Retold,
}

/// A compensating entry: `before` and `after` are of the figure that it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What it changes.
    pub kind: EntryKind,
    /// `reserved`, the movements' sum, or the version.
    pub before: i64,
    /// The same afterwards.
    pub after: i64,
}

impl Entry {
    /// The word in the table.
    pub fn word(&self) -> &'static str {
        match self.kind {
            EntryKind::Reserved => "reserved",
            EntryKind::Counted => "counted",
            EntryKind::Retold => "retold",
        }
    }
}

/// An entry that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// Its own name.
    pub event_id: EventId,
    /// Which row.
    pub key: StockKey,
    /// What.
    pub entry: Entry,
}

/// What there is to do about a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// This.
    Enter(Entry),
    /// Nothing any more.
    Healed,
    /// A person has to look, at this.
    ByHand(&'static str),
}

const NO_ROW: &str = "there is no stock row; look what it was with: lastunit explain --stock";
const OVERSOLD: &str = "live orders have more outstanding than lies on the shelf: count the shelf, or cancel one of them; lastunit explain --stock names them";
const STEPS: &str = "the journal of reservations is wrong, not the counter; compare the orders' steps with: lastunit explain CHANNEL ORDER_REF";

/// What a person should look at, and with what, where no entry sets a finding right.
pub fn by_hand(finding: &Finding) -> &'static str {
    let is_slot = finding.place.slot_hold_id.is_some() || finding.place.resource.is_some();
    match finding.invariant {
        2 | 3 => {
            "parcels, lines and movements disagree; see what was shipped and returned: lastunit explain CHANNEL ORDER_REF"
        }
        4 | 5 if is_slot => {
            "see the order's slots and their steps, and release what is not the customer's: lastunit explain CHANNEL ORDER_REF"
        }
        4 | 5 => "see the order's lines and their steps: lastunit explain CHANNEL ORDER_REF",
        6 => {
            "see whether its event was taken, and say it again under a new event id if not: lastunit dead-letters list, lastunit explain CHANNEL ORDER_REF"
        }
        8 => {
            "see what the channel was told and shows: lastunit explain --point SKU CHANNEL WAREHOUSE, lastunit publisher reconcile CHANNEL"
        }
        9 => {
            "see the payment, and refund it or settle the order: lastunit explain CHANNEL ORDER_REF, lastunit reviews list"
        }
        _ => NO_ROW,
    }
}

/// What there is to do about a figure of a row, as the row is.
pub fn remedy(figure: Figure, facts: &RowFacts) -> Remedy {
    let Some(stock) = facts.stock else { return Remedy::ByHand(NO_ROW) };
    match figure {
        Figure::Reserved => of_reserved(stock, facts),
        Figure::OnHand if stock.on_hand == facts.movements => Remedy::Healed,
        Figure::OnHand => enter(EntryKind::Counted, facts.movements, stock.on_hand),
        Figure::Told { seen, told } => of_told(stock, seen, told),
    }
}

fn of_reserved(stock: Stock, facts: &RowFacts) -> Remedy {
    if !(0..=stock.on_hand).contains(&facts.lines) {
        return Remedy::ByHand(OVERSOLD);
    }
    if stock.reserved == facts.lines {
        return if facts.steps == facts.lines { Remedy::Healed } else { Remedy::ByHand(STEPS) };
    }
    // Two that disagree with the counter and with each other are no two witnesses.
    if facts.steps != facts.lines {
        return Remedy::ByHand(STEPS);
    }
    enter(EntryKind::Reserved, stock.reserved, facts.lines)
}

/// A row whose version has moved on since, above what was told, has been told since or will be.
fn of_told(stock: Stock, seen: Option<i64>, told: Option<i64>) -> Remedy {
    let told = told.unwrap_or(0);
    if seen != Some(stock.version) && stock.version > told {
        return Remedy::Healed;
    }
    enter(EntryKind::Retold, stock.version, stock.version.max(told) + 1)
}

fn enter(kind: EntryKind, before: i64, after: i64) -> Remedy {
    Remedy::Enter(Entry { kind, before, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(on_hand: i64, reserved: i64, lines: i64, steps: i64, movements: i64) -> RowFacts {
        RowFacts { stock: Some(Stock { on_hand, reserved, version: 7 }), lines, steps, movements }
    }

    #[test]
    fn each_figure_is_set_from_what_buyers_were_told_or_left_to_a_person() {
        let told = |seen, told| Figure::Told { seen: Some(seen), told };
        let cases = [
            (Figure::Reserved, facts(10, 2, 2, 2, 10), Remedy::Healed),
            (Figure::Reserved, facts(10, 5, 2, 2, 10), enter(EntryKind::Reserved, 5, 2)),
            (Figure::Reserved, facts(10, 5, 10, 10, 10), enter(EntryKind::Reserved, 5, 10)),
            (Figure::Reserved, facts(10, 11, 0, 0, 10), enter(EntryKind::Reserved, 11, 0)),
            (Figure::Reserved, facts(10, 5, 11, 11, 10), Remedy::ByHand(OVERSOLD)),
            (Figure::Reserved, facts(10, 5, -1, -1, 10), Remedy::ByHand(OVERSOLD)),
            (Figure::Reserved, facts(1, 2, 2, 2, 1), Remedy::ByHand(OVERSOLD)),
            (Figure::Reserved, facts(10, 2, 2, 4, 10), Remedy::ByHand(STEPS)),
            (Figure::Reserved, facts(10, 2, 6, 2, 10), Remedy::ByHand(STEPS)),
            (Figure::OnHand, facts(10, 2, 2, 2, 10), Remedy::Healed),
            (Figure::OnHand, facts(10, 2, 2, 2, 9), enter(EntryKind::Counted, 9, 10)),
            (Figure::OnHand, facts(0, 0, 0, 0, 3), enter(EntryKind::Counted, 3, 0)),
            (told(7, None), facts(10, 2, 2, 2, 10), enter(EntryKind::Retold, 7, 8)),
            (told(7, Some(9)), facts(10, 2, 2, 2, 10), enter(EntryKind::Retold, 7, 10)),
            (told(5, Some(9)), facts(10, 2, 2, 2, 10), enter(EntryKind::Retold, 7, 10)),
            (told(6, Some(5)), facts(10, 2, 2, 2, 10), Remedy::Healed),
        ];
        for (figure, facts, expected) in cases {
            assert_eq!(remedy(figure, &facts), expected, "{figure:?} of {facts:?}");
        }
        let none = RowFacts { stock: None, lines: 0, steps: 0, movements: 1 };
        assert_eq!(remedy(Figure::OnHand, &none), Remedy::ByHand(NO_ROW));
    }
}
