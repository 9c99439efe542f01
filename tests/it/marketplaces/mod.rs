//! Marketplaces: one suite that every adapter must pass, over HTTP against the simulator, and what is particular to one of them.

mod bench;
mod broken;
mod conformance;
mod reading;
mod single;
mod telling;
