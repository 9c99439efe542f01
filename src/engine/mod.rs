//! One batch, one transaction: claim, lock, decide, apply, commit.
//!
//! - [`batch`](self): what is given in and what comes out.
//! - `claim`: event ids and orders, claimed by inserting; the orders that were taken, locked.
//! - `gather`: which stock rows the commands may touch, locked, and everything else that deciding needs.
//! - `attempt`: the whole transaction once.
//! - `apply`: the decision, written; `tell`: the decision, as what the world is told.
//! - `turnstile`: batches side by side, their locks taken in stream order.
//! - `settle`: attempts until every message of a batch has its verdict, whatever goes wrong.
//! - `replay`: dead letters, decided once more.
//! - `resolve`: reviews, resolved; what is kept with one is decided once more.

mod apply;
mod attempt;
mod batch;
mod claim;
mod gather;
mod patience;
mod replay;
mod resolve;
mod settle;
mod tell;
mod turnstile;

pub use batch::{Item, Replayed, Reply, Resolution, Settled, Verdict};
pub use replay::{Fate, TOGETHER, replay};
pub use resolve::{Resolved, resolve};
pub use settle::{Engine, Turn, TurnLost};
pub use tell::{tell_figures, tell_reviews};
pub use turnstile::{Pass, Turnstile};
