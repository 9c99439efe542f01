//! No secret is ever shown: not by faults, not by the configuration, not to who lists processes.

use std::fs;

use lastunit::dev::marketplace::Fault;
use secrecy::ExposeSecret as _;

use super::{CHANNELS, Fair, Terms};

#[tokio::test(flavor = "multi_thread")]
async fn neither_logs_nor_errors_nor_processes_show_a_secret() {
    let fair = Fair::open(Terms::default()).await;
    let secrets: Vec<String> = CHANNELS
        .iter()
        .map(|(_, kind)| {
            let settings = fair.simulator.settings(*kind);
            let secret = settings.api_key.or(settings.token).or(settings.secret).unwrap();
            secret.expose_secret().to_owned()
        })
        .collect();
    let shown = |text: &str| secrets.iter().any(|secret| text.contains(secret.trim_start_matches("whsec_")));
    fair.warehouse("main", 1).await;
    for n in 0..12 {
        fair.item(&format!("S{n}"), 10 + n).await;
    }
    let loud = fair.launch.clone().env("RUST_LOG", "trace");
    let program = loud.ready(&["run"]).await;
    for (_, kind) in CHANNELS {
        for fault in [
            Fault::Banned,
            Fault::Status(500),
            Fault::Status(400),
            Fault::HalfBody,
            Fault::Cut,
            Fault::Throttled(Some(1)),
            Fault::Refused("X"),
        ] {
            fair.simulator.arm(kind, fault);
        }
        fair.simulator.arm_read(kind, Fault::Status(401));
    }
    for units in 1..6 {
        let figures: Vec<(String, i64)> = (0..12).map(|n| (format!("S{n}"), units)).collect();
        fair.shop.count_many(&figures, "main").await;
        for (channel, _) in CHANNELS {
            loud.run(&["publisher", "resume", channel]).await;
        }
    }
    let command = fs::read(format!("/proc/{}/cmdline", program.pid())).unwrap();
    assert!(!shown(&String::from_utf8_lossy(&command)));
    for args in [
        &["config", "show"][..],
        &["config", "check"],
        &["publisher", "status"],
        &["publisher", "check", "ozon"],
        &["publisher", "check", "wb"],
        &["reviews", "list", "--json"],
    ] {
        let ended = loud.run(args).await;
        assert!(!shown(&ended.stdout) && !shown(&ended.stderr), "{args:?}");
    }
    let stored = "SELECT coalesce(string_agg(detail, ' '), '') FROM push_attempt";
    let stored: String = sqlx::query_scalar(stored).fetch_one(&fair.shop.db).await.unwrap();
    assert!(!shown(&stored));
    assert!(program.stderr().contains("channel"), "it was loud");
    assert!(!shown(&program.stderr()) && !shown(&program.stdout()));
}
