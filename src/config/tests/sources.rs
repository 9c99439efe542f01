//! Defaults, file, environment, and which of them wins.

use super::*;

#[test]
fn nothing_said_gives_the_defaults_of_the_contract() {
    let settings = load("", &[]).unwrap();
    assert_eq!(settings.database.url.expose_secret(), "postgres:///lastunit");
    assert_eq!(settings.database.schema, "public");
    assert_eq!(settings.nats.url, "nats://127.0.0.1:4222");
    assert!(settings.database.migrate && settings.streams.apply && settings.orders.accept);
    let Hold { default_s, min_s, max_s } = settings.hold;
    assert_eq!((default_s, min_s, max_s), (900, 5, 86_400));
    assert_eq!(settings.payments.window_s, 900);
    assert_eq!(settings.payments.on_failure, OnFailure::Release);
    assert_eq!(settings.waiting.max_s, 86_400);
    assert!(settings.sweeper.enabled);
    assert_eq!(settings.sweeper.max_interval_ms, 1_000);
    assert_eq!(settings.audit.every_s, 3_600);
    assert_eq!((settings.batch.max, settings.batch.max_bytes), (2_000, 4 << 20));
    assert_eq!((settings.outbox.keep_s, settings.inbox.keep_s), (259_200, 2_592_000));
    assert_eq!((settings.dead_letters.keep_s, settings.database.snapshot_warn_s), (2_592_000, 3_600));
    assert_eq!(settings.replies.prefixes, ["_INBOX."]);
    assert_eq!(settings.http.listen.to_string(), "127.0.0.1:8080");
    assert!(settings.channels.is_empty() && settings.payments.providers.is_empty());
    Settings::default().judge().unwrap();
}

#[test]
fn the_environment_wins_over_the_file_and_the_file_over_defaults() {
    let file = "[hold]\nmin_s = 7\ndefault_s = 70\n[database]\nurl = 'postgres://file/x'\n";
    let settings = load(file, &[("LASTUNIT_HOLD__DEFAULT_S", "80")]).unwrap();
    assert_eq!((settings.hold.min_s, settings.hold.default_s), (7, 80));
    assert_eq!(settings.database.url.expose_secret(), "postgres://file/x");

    let elsewhere = [("DATABASE_URL", "postgres://env/x"), ("NATS_URL", "nats://env:1")];
    let settings = load(file, &elsewhere).unwrap();
    assert_eq!(settings.database.url.expose_secret(), "postgres://env/x");
    assert_eq!(settings.nats.url, "nats://env:1");

    let ours = [
        ("NATS_URL", "nats://env:1"),
        ("LASTUNIT_NATS__URL", "nats://ours:1"),
        ("DATABASE_URL", "postgres://env/x"),
        ("LASTUNIT_DATABASE__URL", "postgres://ours/x"),
    ];
    let settings = load(file, &ours).unwrap();
    assert_eq!(settings.database.url.expose_secret(), "postgres://ours/x");
    assert_eq!(settings.nats.url, "nats://ours:1");
}

#[test]
fn variables_are_read_as_what_their_key_is() {
    let settings = load(
        "",
        &[
            ("LASTUNIT_ORDERS__ACCEPT", "false"),
            ("LASTUNIT_REPLIES__PREFIXES", "_INBOX., _R.web."),
            ("LASTUNIT_PAYMENTS__ON_FAILURE", "keep"),
            ("LASTUNIT_LOG__FORMAT", "json"),
            ("LASTUNIT_HTTP__LISTEN", "localhost:0"),
            ("LASTUNIT_CHANNELS__OZON__KIND", "ozon"),
            ("LASTUNIT_CHANNELS__OZON__CLIENT_ID", "0042"),
            ("LASTUNIT_CHANNELS__OZON__API_KEY", "123456"),
        ],
    )
    .unwrap();
    assert!(!settings.orders.accept);
    assert_eq!(settings.replies.prefixes, ["_INBOX.", "_R.web."]);
    assert_eq!(settings.payments.on_failure, OnFailure::Keep);
    assert_eq!(settings.log.format, LogFormat::Json);
    assert_eq!(settings.http.listen.to_string(), "127.0.0.1:0");
    let ozon = &settings.channels["ozon"];
    assert_eq!(ozon.client_id.as_deref(), Some("0042"));
    assert_eq!(ozon.api_key.as_ref().unwrap().expose_secret(), "123456");

    let listed = load("", &[("LASTUNIT_REPLIES__PREFIXES", "['a.', \"b.\"]")]);
    listed.expect_err("single quotes are text, brackets and all");
    let listed = load("", &[("LASTUNIT_REPLIES__PREFIXES", r#"["a.", "b."]"#)]).unwrap();
    assert_eq!(listed.replies.prefixes, ["a.", "b."]);
}

#[test]
fn channels_have_the_defaults_of_their_kind() {
    let file =
        "[channels.o]\nkind='ozon'\n[channels.W-1]\nkind='wildberries'\ngrace_s=3\n[channels.h]\nkind='webhook'\n";
    let channels = load(file, &[]).unwrap().channels;
    let figures = |name: &str| (channels[name].min_interval_s, channels[name].grace_s);
    assert_eq!(figures("o"), (31, 1_200));
    assert_eq!(figures("W-1"), (0, 3));
    assert_eq!(figures("h"), (0, 10));
    assert_eq!((channels["o"].reconcile_every_s, channels["o"].timeout_s), (300, 20));
    assert_eq!(channels["h"].lacks(), Some("base_url"));
}

#[test]
fn the_servers_of_dev_are_named_as_the_tests_name_them() {
    let named = [
        ("LASTUNIT_DEV__POSTGRES_BIN", "/usr/lib/postgresql/18/bin"),
        ("LASTUNIT_DEV__NATS_SERVER", "/opt/nats-server"),
    ];
    let dev = load("", &named).unwrap().dev;
    assert_eq!(dev.postgres_bin.unwrap().to_str(), Some("/usr/lib/postgresql/18/bin"));
    assert_eq!(dev.nats_server.unwrap().to_str(), Some("/opt/nats-server"));
    assert!(load("", &[]).unwrap().dev.nats_server.is_none());
}
