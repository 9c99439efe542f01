//! What lines of several families have in common: units summed by SKU, and slots that keep apart.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::fields::{Field, Object};
use super::instant;
use crate::domain::{AskedSlot, MovedLine, Qty, Reason, Refusal, Resource, Sku, Timestamp};

/// How many lines a message may have, before summing.
pub(super) const LINES: RangeInclusive<usize> = 1..=500;

/// How many units a line may have, before and after summing.
const QTY: RangeInclusive<Qty> = 1..=1_000_000;

/// Units by SKU, in the sequence in which the SKUs are first named.
#[derive(Default)]
pub(super) struct Units {
    places: HashMap<Sku, usize>,
    lines: Vec<MovedLine>,
}

impl Units {
    /// Adds a line's `sku` and `qty`; answers with the place at which that SKU is summed.
    pub(super) fn add(&mut self, line: &Object<'_, '_>) -> Result<usize, Refusal> {
        let sku = line.require("sku")?.name(Sku::new)?;
        let qty = line.require("qty")?.whole(QTY)?;
        let place = *self.places.entry(sku.clone()).or_insert(self.lines.len());
        let Some(earlier) = self.lines.get_mut(place) else {
            self.lines.push(MovedLine { sku, qty });
            return Ok(place);
        };
        earlier.qty += qty;
        if QTY.contains(&earlier.qty) {
            return Ok(place);
        }
        let (sum, most) = (earlier.qty, QTY.end());
        Err(line.invalid(format_args!("brings the qty of its sku to {sum}; together it must be at most {most}")))
    }

    /// One line a SKU.
    pub(super) fn into_lines(self) -> Vec<MovedLine> {
        self.lines
    }
}

/// Slots, with the lines that name them.
#[derive(Default)]
pub(super) struct Slots(Vec<(usize, AskedSlot)>);

impl Slots {
    /// Adds a line's `resource`, `from` and `to`.
    pub(super) fn add(&mut self, place: usize, line: &Object<'_, '_>) -> Result<(), Refusal> {
        let resource = line.require("resource")?.name(Resource::new)?;
        let from = instant_of(&line.require("from")?)?;
        let until = line.require("to")?;
        let to = instant_of(&until)?;
        if from >= to {
            return Err(until.invalid("must be later than from, to the microsecond"));
        }
        self.0.push((place, AskedSlot { resource, from, to }));
        Ok(())
    }

    /// The slots, in the lines' sequence, if no two periods of a resource overlap.
    pub(super) fn into_apart(self, lines: &Field<'_, '_>) -> Result<Vec<AskedSlot>, Refusal> {
        let mut sorted: Vec<_> = self.0.iter().collect();
        sorted.sort_by(|(_, a), (_, b)| a.cmp(b));
        let clash = sorted.windows(2).find(|pair| {
            let (earlier, later) = (&pair[0].1, &pair[1].1);
            earlier.resource == later.resource && earlier.to > later.from
        });
        if let Some([(a, _), (b, _)]) = clash {
            let (first, second) = (lines.item_path(*a.min(b)), lines.item_path(*a.max(b)));
            return Err(Refusal::new(
                Reason::InvalidField,
                format!("{second} overlaps {first}, a slot of the same resource"),
            ));
        }
        Ok(self.0.into_iter().map(|(_, slot)| slot).collect())
    }
}

fn instant_of(field: &Field<'_, '_>) -> Result<Timestamp, Refusal> {
    instant::parse(field.text()?).ok_or_else(|| field.invalid("must be an RFC 3339 date and time with its offset"))
}
