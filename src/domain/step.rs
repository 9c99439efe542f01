//! The steps that a reservation may take: the contract's table, once.

use super::Qty;
use super::order::ReservationState::{self, Confirmed, Expired, Held, Released, Shipped};

/// What a step does to `reserved`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// Units are promised.
    Grows,
    /// It stays.
    Stays,
    /// Units leave, or are given back.
    Shrinks,
}

impl Reserved {
    /// The sign of the change: 1, 0 or −1.
    pub fn sign(self) -> i32 {
        match self {
            Self::Grows => 1,
            Self::Stays => 0,
            Self::Shrinks => -1,
        }
    }
}

/// A step that a reservation may take. One from a state to itself takes a part of the units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// From which state; none at first.
    pub from: Option<ReservationState>,
    /// To which.
    pub to: ReservationState,
    /// What it does to `reserved`.
    pub reserved: Reserved,
}

const fn step(from: Option<ReservationState>, to: ReservationState, reserved: Reserved) -> Step {
    Step { from, to, reserved }
}

/// Every step there is; nothing else is an edge. A late payment takes two: had again, then confirmed.
pub const STEPS: [Step; 11] = [
    step(None, Held, Reserved::Grows),
    step(None, Confirmed, Reserved::Grows),
    step(Some(Held), Held, Reserved::Shrinks),
    step(Some(Held), Confirmed, Reserved::Stays),
    step(Some(Held), Released, Reserved::Shrinks),
    step(Some(Held), Expired, Reserved::Shrinks),
    step(Some(Confirmed), Confirmed, Reserved::Shrinks),
    step(Some(Confirmed), Released, Reserved::Shrinks),
    step(Some(Confirmed), Shipped, Reserved::Shrinks),
    step(Some(Expired), Held, Reserved::Grows),
    step(Some(Released), Held, Reserved::Grows),
];

/// The steps that a slot may take: those of a line, but for what is about parts of it or about leaving a shelf.
pub fn slot_steps() -> impl Iterator<Item = &'static Step> {
    STEPS.iter().filter(|step| step.from != Some(step.to) && step.from != Some(Shipped) && step.to != Shipped)
}

impl Step {
    /// Whether a reservation may go so, `reserved` changing by `qty`.
    pub fn allows(from: Option<ReservationState>, to: ReservationState, qty: Qty) -> bool {
        let same = |step: &Step| step.from == from && step.to == to && Qty::from(step.reserved.sign()) == qty.signum();
        STEPS.iter().any(same)
    }
}
