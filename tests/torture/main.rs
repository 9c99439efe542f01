//! A whole system under load and under faults, in an order that a seed decides; now and then everything comes to rest and is checked.
//!
//! `TORTURE_SECONDS` says how long, `TORTURE_SEED` which faults and messages: `scripts/torture [SECONDS] [SEED]`. With the same seed the same messages
//! are said in the same order, and the same faults fall in the same order; what falls upon what is up to the machine.

#![allow(clippy::unwrap_used)]

mod books;
mod fair;
mod faults;
mod messages;
#[path = "../it/support/mod.rs"]
mod support;
mod system;

use std::env;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use system::{System, Tally};

/// How long the system is under load between two rests.
const ROUND: Duration = Duration::from_secs(15);

fn main() -> ExitCode {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")));
    let seconds: u64 = number("TORTURE_SECONDS").unwrap_or(60);
    let seed: u64 = number("TORTURE_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("torture: {seconds} s, seed {seed}");
    let tally = Arc::new(Tally::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let torture = torture(Duration::from_secs(seconds), seed, tally.clone());
    // What is found is a panic, which says what it is.
    let found = runtime.block_on(AssertUnwindSafe(torture).catch_unwind()).is_err();
    println!("torture: seed {seed}: {tally}, findings {}", u8::from(found));
    if found { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn torture(time: Duration, seed: u64, tally: Arc<Tally>) {
    let mut system = Box::pin(System::start(seed, tally)).await;
    // Only now: where starting takes long, a short torture would else be none.
    let begun = Instant::now();
    while begun.elapsed() < time {
        let left = time.saturating_sub(begun.elapsed());
        system.under_load(ROUND.min(left)).await;
        system.at_rest().await;
    }
}
