//! The story that `scripts/demo` plays, and the script around it, so that they cannot rot.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::support::{Ground, Launch, Shop};

#[tokio::test(flavor = "multi_thread")]
async fn the_story_ends_well_every_time() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground).env("LASTUNIT_HOLD__MIN_S", "1");
    let _program = launch.ready(&["run"]).await;
    for _ in 0..2 {
        let told = launch.run(&["story"]).await;
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.stdout.contains("insufficient_stock") && told.stdout.contains("duplicate: true"), "{told:?}");
        assert!(told.stdout.contains("had_again") && told.stdout.contains("expired_and_sold_out"), "{told:?}");
        assert!(told.stdout.contains("slot_taken") && told.stdout.contains("could not be held at"), "{told:?}");
    }
    let shop = Shop::open(&ground).await;
    shop.settled().await;
    shop.audit().await;
}

/// Where nothing answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_story_that_goes_otherwise_fails() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground);
    launch.run(&["migrate"]).await;
    launch.run(&["streams", "apply"]).await;
    let told = launch.run(&["story"]).await;
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.stderr.contains("not told within 15s: stock.changed.main.GRINDER-"), "{told:?}");
}

#[tokio::test]
async fn the_demo_ends_by_itself_and_leaves_nothing() {
    let ground = Ground::new().await;
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/demo");
    let mut command = Command::new(demo);
    command.args(["--built", env!("CARGO_BIN_EXE_lastunit")]).env("TMPDIR", ground.dir());
    let before = std::fs::read_dir(ground.dir()).unwrap().count();
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("insufficient_stock") && stdout.ends_with("cargo run -- dev\n"), "{stdout}");
    assert_eq!(stderr, "");
    assert_eq!(std::fs::read_dir(ground.dir()).unwrap().count(), before);
}
