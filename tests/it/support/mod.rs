//! What every test stands on: servers, the program, waiting for conditions.

// A room that tests take from as they need it.
#![allow(dead_code, unused_imports)]

mod audit;
mod ground;
mod program;
mod shop;
mod wait;

pub use ground::{Ground, binaries};
pub use program::{Ended, Launch, Program};
pub use shop::{Figures, Shop, Told, order};
pub use wait::wait_until;
