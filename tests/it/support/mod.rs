//! What every test stands on: servers, the program, waiting for conditions.

// A room that tests take from as they need it.
#![allow(dead_code, unused_imports)]

mod audit;
mod channels;
mod clock;
mod fates;
mod ground;
mod load;
mod program;
mod proxy;
mod shop;
mod streams;
mod wait;

pub use audit::Heard;
pub use channels::{Terms, with_channel};
pub use ground::{Ground, binaries};
pub use load::{Load, Said, buyers};
pub use program::{Ended, Launch, Program};
pub use proxy::{Flow, Proxy};
pub use shop::{Figures, PATIENCE, Shop, Told, order};
pub use streams::overlay;
pub use wait::wait_until;
