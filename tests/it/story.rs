//! The story that `scripts/demo` plays, and the script around it, so that they cannot rot.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use lastunit::config::ChannelKind;
use lastunit::dev::marketplace::{Pace, Simulator};
use secrecy::{ExposeSecret, SecretString};
use tokio::process::Command;

use crate::support::{Ground, Launch, Shop};

/// With the marketplaces of the story, as `dev` has them.
fn with_marketplaces(mut launch: Launch, simulator: &Simulator) -> Launch {
    let text = |secret: Option<SecretString>| secret.map(|secret| secret.expose_secret().to_owned());
    for (name, kind) in [("OZON", ChannelKind::Ozon), ("WILDBERRIES", ChannelKind::Wildberries)] {
        let settings = simulator.settings(kind);
        let values = [
            ("KIND", Some(name.to_lowercase())),
            ("BASE_URL", settings.base_url),
            ("CLIENT_ID", settings.client_id),
            ("API_KEY", text(settings.api_key)),
            ("TOKEN", text(settings.token)),
        ];
        for (key, value) in values {
            if let Some(value) = value {
                launch = launch.env(&format!("LASTUNIT_CHANNELS__{name}__{key}"), value);
            }
        }
    }
    launch.env("LASTUNIT_CHANNELS__OZON__MIN_INTERVAL_S", "1")
}

async fn simulator() -> Simulator {
    let pace = Pace { ozon_interval: Duration::from_millis(500), ..Pace::default() };
    let simulator = Simulator::start(pace).await.unwrap();
    simulator.know_all(true);
    simulator
}

#[tokio::test(flavor = "multi_thread")]
async fn the_story_ends_well_every_time() {
    let ground = Ground::new().await;
    let simulator = simulator().await;
    let launch = with_marketplaces(Launch::new(&ground).env("LASTUNIT_HOLD__MIN_S", "1"), &simulator);
    let _program = launch.ready(&["run"]).await;
    for _ in 0..2 {
        let told = launch.run(&["story"]).await;
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.stdout.contains("insufficient_stock") && told.stdout.contains("duplicate: true"), "{told:?}");
        assert!(told.stdout.contains("had_again") && told.stdout.contains("expired_and_sold_out"), "{told:?}");
        assert!(told.stdout.contains("slot_taken") && told.stdout.contains("could not be held at"), "{told:?}");
        assert!(told.stdout.contains("main on wildberries: the channel is paused since"), "{told:?}");
        assert!(told.stdout.contains("shows 3, told 0 of version 2: drift"), "{told:?}");
    }
    assert_eq!(simulator.overlaps(), 0);
    let shop = Shop::open(&ground).await;
    shop.settled().await;
    shop.audit().await;
}

/// Where nothing answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_story_that_goes_otherwise_fails() {
    let ground = Ground::new().await;
    let simulator = simulator().await;
    let launch = with_marketplaces(Launch::new(&ground), &simulator);
    launch.run(&["migrate"]).await;
    launch.run(&["streams", "apply"]).await;
    let told = launch.run(&["story"]).await;
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.stderr.contains("not told within 15s: stock.changed.main.GRINDER-"), "{told:?}");
}

/// It would map a grinder there and change what is shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_story_wants_marketplaces_that_are_simulated() {
    let ground = Ground::new().await;
    let told = Launch::new(&ground).run(&["story"]).await;
    assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""), "{told:?}");
    assert!(told.stderr.contains("the story wants the channel ozon as `lastunit dev` simulates it"), "{told:?}");
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
    for channel in ["ozon       ", "wildberries"] {
        let shows = |qty: u32| stdout.find(&format!("◆ {channel}                     shows {qty}\n"));
        assert!(shows(1).is_some() && shows(1) < shows(0), "{stdout}");
    }
    assert!(stdout.contains("shows 3, told 0 of version 2: drift"), "{stdout}");
    assert_eq!(std::fs::read_dir(ground.dir()).unwrap().count(), before);
}
