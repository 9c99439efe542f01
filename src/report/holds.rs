//! How long buyers take to pay, against how long stock is held for them; and how long it might be held.

use std::fmt;

use serde_json::{Value, json};

use crate::config;
use crate::store::reports;

/// From so many payments on a hold is suggested: of fewer, the slowest one in a hundred is chance.
const ENOUGH: i64 = 100;
/// A suggestion is a multiple of this, in seconds.
const STEP_S: u64 = 30;
/// The place of 99 of 100 among the quantiles.
const P99: usize = 3;
/// What the quantiles are called.
const NAMES: [&str; 5] = ["p50", "p90", "p95", "p99", "max"];

/// What became of holds, and what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Holds {
    figures: reports::Holds,
    suggestion: Suggestion,
}

/// How long a hold might be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// In seconds; none where too little is known.
    pub hold_s: Option<u64>,
    /// Why.
    pub reason: String,
}

impl Holds {
    /// The report on these figures, under these bounds of holds.
    pub fn new(figures: reports::Holds, bounds: &config::Hold) -> Self {
        let suggestion = suggest(&figures, bounds);
        Self { figures, suggestion }
    }

    /// How many orders it is about.
    pub fn orders(&self) -> i64 {
        self.figures.orders
    }

    /// The same for a program. Shares are parts of one, null where there is nothing to have a part of.
    pub fn to_json(&self) -> Value {
        let reports::Holds { orders, in_time, had_again, sent_back, never_paid, open, otherwise, .. } = self.figures;
        let figures = &self.figures;
        json!({
            "orders": orders,
            "paid_in_time": in_time,
            "paid_late": { "had_again": had_again, "refund_required": sent_back },
            "expired_never_paid": never_paid,
            "still_held": open,
            "otherwise": otherwise,
            "late_share": share(had_again + sent_back, paid(figures)),
            "never_paid_share": share(never_paid, orders - open),
            "payment_after_s": named(figures.paid_s.as_deref()),
            "hold_s": named(figures.hold_s.as_deref()),
            "payment_of_hold": named(figures.paid_of_hold.as_deref()),
            "suggested_hold_s": self.suggestion.hold_s,
            "reason": self.suggestion.reason,
        })
    }
}

/// Orders for which money came, in time or late.
fn paid(figures: &reports::Holds) -> i64 {
    figures.in_time + figures.had_again + figures.sent_back
}

#[allow(clippy::cast_precision_loss, reason = "far below 2^52 orders")]
fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn named(quantiles: Option<&[f64]>) -> Value {
    let Some(quantiles) = quantiles else { return Value::Null };
    NAMES.iter().zip(quantiles).map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

/// The shortest hold in which 99 of 100 that were paid would have been paid in time, within the bounds that the settings set.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds, not negative, years at most")]
fn suggest(figures: &reports::Holds, bounds: &config::Hold) -> Suggestion {
    let paid = paid(figures);
    let slow = figures.paid_s.as_ref().and_then(|quantiles| quantiles.get(P99)).filter(|_| paid >= ENOUGH);
    let Some(slow) = slow else {
        let reason = format!("{paid} orders were paid: below {ENOUGH} nothing is suggested");
        return Suggestion { hold_s: None, reason };
    };
    let slow = slow.ceil() as u64;
    let rounded = (slow + 1).next_multiple_of(STEP_S);
    let hold_s = rounded.clamp(bounds.min_s, bounds.max_s);
    let mut reason = format!("99 of 100 payments came within {slow} s of the order");
    if hold_s != rounded {
        let bound = if hold_s < rounded { "hold.max_s" } else { "hold.min_s" };
        reason.push_str("; ");
        reason.push_str(bound);
        reason.push_str(" bounds it");
    }
    let late = figures.had_again + figures.sent_back;
    if late * 100 > paid {
        // Who finds the hold ended may not pay at all: then no payment tells how long it would have taken.
        let unseen = "whoever gave up then is not seen: look again after a change";
        reason = format!("{reason}; {late} of {paid} came late, and {unseen}");
    }
    Suggestion { hold_s: Some(hold_s), reason }
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = &self.figures;
        let decided = figures.orders - figures.open;
        writeln!(f, "{:<38} {:>8}", "orders held for money", figures.orders)?;
        for (name, count, of) in [
            ("paid in time", figures.in_time, decided),
            ("paid late, had again", figures.had_again, decided),
            ("paid late, refund required", figures.sent_back, decided),
            ("expired, never paid", figures.never_paid, decided),
            ("cancelled, failed, or not agreeing", figures.otherwise, decided),
        ] {
            writeln!(f, "  {name:<36} {count:>8} {}", percent(share(count, of)))?;
        }
        writeln!(f, "  {:<36} {:>8}", "still held", figures.open)?;
        writeln!(
            f,
            "{:<38} {:>8} {}",
            "late, of all that were paid",
            "",
            percent(share(figures.had_again + figures.sent_back, paid(figures)))
        )?;
        let [p50, p90, p95, p99, max] = NAMES;
        writeln!(f, "\n{:<28} {p50:>9} {p90:>9} {p95:>9} {p99:>9} {max:>9}", "")?;
        row(f, "order to money, s", figures.paid_s.as_deref(), 1)?;
        row(f, "length of the hold, s", figures.hold_s.as_deref(), 1)?;
        row(f, "money came at, of the hold", figures.paid_of_hold.as_deref(), 2)?;
        match self.suggestion.hold_s {
            Some(hold_s) => write!(f, "\nsuggested hold: {hold_s} s: {}", self.suggestion.reason),
            None => write!(f, "\nno hold suggested: {}", self.suggestion.reason),
        }
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:>6.1} %", share * 100.0))
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, quantiles: Option<&[f64]>, digits: usize) -> fmt::Result {
    write!(f, "{name:<28}")?;
    for place in 0..NAMES.len() {
        match quantiles.and_then(|quantiles| quantiles.get(place)) {
            Some(value) => write!(f, " {value:>9.digits$}")?,
            None => write!(f, " {:>9}", "–")?,
        }
    }
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(in_time: i64, had_again: i64, p99: f64) -> reports::Holds {
        reports::Holds {
            orders: in_time + had_again,
            in_time,
            had_again,
            paid_s: Some(vec![1.0, 2.0, 3.0, p99, 1e6]),
            ..reports::Holds::default()
        }
    }

    fn suggested(figures: &reports::Holds) -> Option<u64> {
        suggest(figures, &config::Hold { default_s: 900, min_s: 60, max_s: 3_600 }).hold_s
    }

    #[test]
    fn a_hold_is_suggested_in_which_99_of_100_would_have_paid_in_time() {
        assert_eq!(suggested(&of(100, 0, 611.2)), Some(630));
        // A hold that ends at the very instant has ended.
        assert_eq!(suggested(&of(100, 0, 629.0)), Some(630));
        assert_eq!(suggested(&of(100, 0, 630.0)), Some(660));
        assert_eq!(suggested(&of(99, 1, 611.2)), Some(630), "late payments count");
    }

    #[test]
    fn nothing_is_suggested_of_too_few() {
        let few = of(99, 0, 611.2);
        let suggestion = suggest(&few, &config::Hold::default());
        assert_eq!(suggestion.hold_s, None);
        assert_eq!(suggestion.reason, "99 orders were paid: below 100 nothing is suggested");
        assert_eq!(suggested(&reports::Holds::default()), None);
    }

    #[test]
    fn a_suggestion_keeps_the_bounds_and_says_so() {
        let bounds = config::Hold { default_s: 900, min_s: 60, max_s: 600 };
        let short = suggest(&of(100, 0, 3.0), &bounds);
        assert_eq!((short.hold_s, short.reason.contains("hold.min_s")), (Some(60), true));
        let long = suggest(&of(100, 0, 5_000.0), &bounds);
        assert_eq!((long.hold_s, long.reason.contains("hold.max_s")), (Some(600), true));
    }

    #[test]
    fn it_is_said_when_those_who_gave_up_are_not_seen() {
        let said =
            |in_time, late| suggest(&of(in_time, late, 10.0), &config::Hold::default()).reason.contains("gave up");
        assert!(!said(198, 2));
        assert!(said(198, 3));
    }

    #[test]
    fn the_figures_are_the_same_for_a_program() {
        let figures = reports::Holds {
            orders: 10,
            in_time: 3,
            had_again: 1,
            sent_back: 1,
            never_paid: 2,
            open: 2,
            otherwise: 1,
            hold_s: Some(vec![900.0; 5]),
            ..reports::Holds::default()
        };
        let json = Holds::new(figures, &config::Hold::default()).to_json();
        assert_eq!(json["late_share"], 0.4);
        assert_eq!(json["never_paid_share"], 0.25);
        assert_eq!(json["hold_s"]["p99"], 900.0);
        assert_eq!(json["payment_after_s"], Value::Null);
        assert_eq!(json["suggested_hold_s"], Value::Null);
        let empty = Holds::new(reports::Holds::default(), &config::Hold::default()).to_json();
        assert_eq!((&empty["late_share"], &empty["never_paid_share"]), (&Value::Null, &Value::Null));
    }
}
