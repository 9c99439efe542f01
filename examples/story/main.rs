//! A morning in a shop: real messages in, what the program tells as it tells it, and the tables at the end.
//!
//! `scripts/demo` plays it on servers of its own. To play it on yours, while `lastunit dev` or `lastunit run` runs:
//! `NATS_URL=… DATABASE_URL=… cargo run --example story`. It fails if an answer that it expects does not come.

mod plot;

use std::env;

use anyhow::{Context, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let variable = |name: &str| env::var(name).with_context(|| format!("{name} is not set"));
    plot::play(&variable("NATS_URL")?, &variable("DATABASE_URL")?).await
}
