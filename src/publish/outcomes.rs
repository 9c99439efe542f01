//! What becomes of the items of a push, put together.

use std::time::Duration;

use super::transport::Silence;
use super::{Item, Outcome};

/// How long a channel is left alone that could not be connected to.
const UNREACHABLE_FOR: Duration = Duration::from_secs(5);

/// The same of each of so many items.
pub(super) fn all(items: usize, outcome: &Outcome) -> Vec<Outcome> {
    vec![outcome.clone(); items]
}

/// A call of so many items was refused for the sake of one that nobody names.
pub(super) fn refused_unnamed(items: usize, reason: String) -> Outcome {
    if items == 1 { Outcome::Rejected(reason) } else { Outcome::Split(reason) }
}

/// There was no whole answer.
pub(super) fn silent(silence: Silence) -> Outcome {
    match silence {
        Silence::NotSent(reason) => Outcome::Again { after: UNREACHABLE_FOR, reason },
        Silence::Unknown(reason) => Outcome::Unknown(reason),
    }
}

/// The items as the channel wants them written, and for each item why it cannot be, if so.
pub(super) fn written<W>(items: &[Item], write: impl Fn(&Item) -> Result<W, String>) -> (Vec<W>, Vec<Option<Outcome>>) {
    let mut rows = Vec::with_capacity(items.len());
    let refused = items.iter().map(|item| match write(item) {
        Ok(row) => {
            rows.push(row);
            None
        }
        Err(reason) => Some(Outcome::Rejected(reason)),
    });
    let refused = refused.collect();
    (rows, refused)
}

/// One outcome an item: that of [`written`], and in the gaps the answered ones in their order.
pub(super) fn merged(refused: Vec<Option<Outcome>>, answered: Vec<Outcome>) -> Vec<Outcome> {
    let mut answered = answered.into_iter();
    let unanswered = || Outcome::Unknown("nothing was answered".to_owned());
    refused.into_iter().map(|refused| refused.or_else(|| answered.next()).unwrap_or_else(unanswered)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_keep_the_order_of_the_items() {
        let rejected = || Outcome::Rejected("no".into());
        let merged = merged(vec![None, Some(rejected()), None, None], vec![Outcome::Accepted, rejected()]);
        assert_eq!(merged[..3], [Outcome::Accepted, rejected(), rejected()]);
        assert!(matches!(merged[3], Outcome::Unknown(_)));
    }

    #[test]
    fn one_item_that_nobody_names_is_that_item() {
        assert_eq!(refused_unnamed(1, "no".into()), Outcome::Rejected("no".into()));
        assert_eq!(refused_unnamed(2, "no".into()), Outcome::Split("no".into()));
    }
}
