//! `ops/systemd/lastunit.service`.

use std::fs;
use std::process::Command;

use super::mint::minted;
use super::shipped;
use crate::support::{Ground, Launch};

fn unit() -> String {
    fs::read_to_string(shipped("ops/systemd/lastunit.service")).unwrap()
}

/// The values of a key, in their order.
fn values<'a>(unit: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    unit.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix('='))
}

#[tokio::test]
async fn the_program_understands_every_setting_in_it() {
    let unit = unit();
    let credentials = tempfile::tempdir().unwrap();
    for credential in values(&unit, "LoadCredential") {
        let (name, _) = credential.split_once(':').unwrap();
        let secret = match name {
            "database_password" => "postgres_runtime_password",
            "nats_service" => "service.nk",
            other => other,
        };
        fs::copy(minted().join(secret), credentials.path().join(name)).unwrap();
    }
    let ground = Ground::new().await;
    let mut launch = Launch::new(&ground);
    for setting in values(&unit, "Environment").flat_map(|line| line.split(' ')) {
        let (name, value) = setting.split_once('=').unwrap();
        launch = launch.env(name, value.replace("%d", &credentials.path().display().to_string()));
    }
    let ended = launch.run(&["config", "check"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn it_leaves_the_program_time_to_end() {
    let seconds: u64 = values(&unit(), "TimeoutStopSec").next().unwrap().parse().unwrap();
    assert!(seconds > 10);
}

/// Where systemd's own tool is there (it is no part of what the tests install), it has nothing against the unit.
#[test]
fn systemd_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lastunit.service");
    fs::write(&path, unit().replace("/usr/bin/lastunit", env!("CARGO_BIN_EXE_lastunit"))).unwrap();
    let analyze = |args: &[&str]| Command::new("systemd-analyze").args(args).arg(&path).output();
    let Ok(verified) = analyze(&["verify"]) else {
        println!("no systemd-analyze here");
        return;
    };
    assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}");
    // 0 is a cage, 10 is nothing at all; below 2 is what systemd calls fine.
    let exposed = analyze(&["security", "--offline=true", "--threshold=20"]).unwrap();
    assert!(exposed.status.success(), "{exposed:?}");
}
