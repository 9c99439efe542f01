//! The story of `examples/story`, which `scripts/demo` plays: here, so that it cannot rot.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::support::{Ground, Launch, Shop};

#[path = "../../examples/story/plot/mod.rs"]
mod plot;

#[tokio::test(flavor = "multi_thread")]
async fn the_story_ends_well_every_time() {
    let ground = Ground::new().await;
    let _program = Launch::new(&ground).env("LASTUNIT_HOLD__MIN_S", "1").ready(&["run"]).await;
    for _ in 0..2 {
        plot::play(&ground.nats.url(), &ground.database_url).await.unwrap();
    }
    let shop = Shop::open(&ground).await;
    shop.settled().await;
    shop.audit().await;
}

/// The script around it, with the programs built for this test. `cargo test --test it` alone builds no examples; `scripts/test` does.
#[tokio::test]
async fn the_demo_ends_by_itself_and_leaves_nothing() {
    let built = Path::new(env!("CARGO_BIN_EXE_lastunit")).parent().unwrap();
    if !built.join("examples/story").exists() {
        println!("skipped: the example is not built");
        return;
    }
    let ground = Ground::new().await;
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/demo");
    let mut command = Command::new(demo);
    command.arg("--built").arg(built).env("TMPDIR", ground.dir()).stdin(Stdio::null()).kill_on_drop(true);
    let before = std::fs::read_dir(ground.dir()).unwrap().count();
    let output = command.output().await.unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("insufficient_stock") && stdout.ends_with("cargo run -- dev\n"), "{stdout}");
    assert_eq!(stderr, "");
    assert_eq!(std::fs::read_dir(ground.dir()).unwrap().count(), before);
}
