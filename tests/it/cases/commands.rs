//! Commands: how they end, and the sentence they end with.

use super::{PATIENCE, Stage, page};
use crate::support::{Ended, Ground, Launch, Shop, wait_until};

/// An address at which nobody listens.
const NOBODY: &str = "127.0.0.1:1";

fn ends(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("lastunit: ") || code < 2, "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word}: {ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_configuration_is_said_before_anything_is_done() {
    let ground = Ground::new().await;
    let cases: [(Launch, &[&str]); 9] = [
        (Launch::new(&ground).config("hold.defalt_s = 9"), &["hold.defalt_s", "lastunit.toml"]),
        (Launch::new(&ground).env("LASTUNIT_HOLD__FOO", "1"), &["hold.foo", "LASTUNIT_HOLD__FOO"]),
        (Launch::new(&ground).config("hold.min_s = 'five'"), &["hold.min_s"]),
        (Launch::new(&ground).config("hold.min_s = 2000"), &["hold.default_s"]),
        (Launch::new(&ground).env("LASTUNIT_BATCH__MAX", "many"), &["batch.max"]),
        (Launch::new(&ground).env("LASTUNIT_HTTP__LISTEN", "0.0.0.0:0"), &["http.listen", "token"]),
        (Launch::new(&ground).config("inbox.keep_s = 3600"), &["max_age", "ORDERS"]),
        (Launch::new(&ground).config("channels.ozon.kind = 'ebay'"), &["channels.ozon.kind"]),
        (Launch::new(&ground).config("this is no toml"), &["lastunit.toml", "line 1"]),
    ];
    for (launch, words) in &cases {
        for command in [["config", "check"].as_slice(), &["run"]] {
            let ended = launch.run(command).await;
            ends(&ended, 2, words);
            assert_eq!(ended.stdout, "", "{ended:?}");
        }
    }
    let ended = Launch::new(&ground).run(&["config", "check", "--config", "/not/there.toml"]).await;
    ends(&ended, 2, &["/not/there.toml"]);
    let ended = Launch::new(&ground).run(&["sell"]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_is_judged_and_shown_without_a_connection_and_without_secrets() {
    let ground = Ground::new().await;
    let launch = Launch::new(&ground)
        .env("DATABASE_URL", format!("postgres://me:hush-1@{NOBODY}/db"))
        .env("NATS_URL", format!("nats://me:hush-2@{NOBODY}"))
        .env("LASTUNIT_HTTP__TOKEN", "hush-3")
        .env("LASTUNIT_CHANNELS__OZON__API_KEY", "hush-4")
        .env("LASTUNIT_CHANNELS__OZON__KIND", "ozon")
        .config("hold.default_s = 77");
    let ended = launch.run(&["config", "check"]).await;
    ends(&ended, 0, &[]);
    let text = launch.run(&["config", "show"]).await;
    ends(&text, 0, &[]);
    assert!(text.stdout.contains("default_s = 77"), "{}", text.stdout);
    let json = launch.run(&["config", "show", "--json"]).await;
    let shown: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(shown["hold"]["default_s"], 77);
    assert_eq!(shown["channels"]["ozon"]["min_interval_s"], 31);
    for ended in [ended, text, json] {
        assert!(!ended.stdout.contains("hush") && !ended.stderr.contains("hush"), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_reached_is_named() {
    let ground = Ground::new().await;
    let no_postgres = || Launch::new(&ground).env("DATABASE_URL", format!("postgres://me@{NOBODY}/db"));
    let no_nats = || Launch::new(&ground).env("NATS_URL", format!("nats://{NOBODY}"));
    let short = "startup.wait_s = 1";
    let (migrate, run, streams, diff, run_nats) =
        (no_postgres(), no_postgres().config(short), no_nats(), no_nats(), no_nats().config(short));
    let ended = tokio::join!(
        migrate.run(&["migrate"]),
        run.run(&["run"]),
        streams.run(&["streams", "apply"]),
        diff.run(&["streams", "diff", "--json"]),
        run_nats.run(&["run"]),
    );
    for ended in [ended.0, ended.1] {
        ends(&ended, 3, &["PostgreSQL", "refused"]);
        assert_eq!(ended.stdout, "");
    }
    for ended in [ended.2, ended.3, ended.4] {
        ends(&ended, 3, &["NATS", "refused"]);
        assert_eq!(ended.stdout, "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_migrated_once_and_must_be_as_old_as_the_program() {
    let ground = Ground::new().await;
    let unmigrated = Launch::new(&ground).config("database.migrate = false").run(&["run"]).await;
    ends(&unmigrated, 2, &["lastunit migrate"]);
    assert!(!unmigrated.stdout.contains("ready"));
    let launch = Launch::new(&ground);
    let first = launch.run(&["migrate"]).await;
    ends(&first, 0, &[]);
    assert!(
        first.stdout.lines().count() > 1 && first.stdout.lines().all(|line| line.starts_with("applied ")),
        "{first:?}"
    );
    let second = launch.run(&["migrate"]).await;
    assert_eq!((second.code, &*second.stdout), (Some(0), "nothing to migrate\n"));

    let shop = Shop::open(&ground).await;
    let from_the_future = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                           VALUES (99990101000000, 'later', true, '', 0)";
    sqlx::query(from_the_future).execute(&shop.db).await.unwrap();
    for command in ["run", "migrate"] {
        ends(&launch.run(&[command]).await, 2, &["99990101000000"]);
    }
    let as_it_is = Launch::new(&ground).config("database.migrate = false").run(&["run"]).await;
    ends(&as_it_is, 2, &["99990101000000", "older than the database"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_stand_in_the_schema_that_is_configured() {
    let stage = Stage::open_with("database.schema = 'shop_1'").await;
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'shop_1' AND tablename IN ('stock', 'sales_order')";
    assert_eq!(stage.shop.number(tables).await, 2);
    assert_eq!(stage.shop.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_when_it_is_ready_why_it_is_not_and_that_it_ends() {
    let mut ground = Ground::new().await;
    let mut program = Launch::new(&ground).ready(&["run"]).await;
    assert_eq!(program.stdout().lines().count(), 1, "{}", program.stdout());
    assert_eq!(page(&program, "/healthz").await.0, 200);
    assert_eq!(page(&program, "/readyz").await.0, 200);
    let (status, metrics) = page(&program, "/metrics").await;
    assert_eq!(status, 200);
    assert!(metrics.contains("# TYPE lastunit_"), "{metrics}");

    ground.nats.stop().await.unwrap();
    wait_until("readiness to be withdrawn", PATIENCE, async || page(&program, "/readyz").await.0 == 503).await;
    let (_, reason) = page(&program, "/readyz").await;
    assert!(reason.contains("NATS"), "{reason}");
    assert_eq!(page(&program, "/healthz").await.0, 200);
    ground.nats.restart().await.unwrap();
    wait_until("readiness to come back", PATIENCE, async || page(&program, "/readyz").await.0 == 200).await;

    assert_eq!(program.terminate().await, Some(0));
    let said = program.stderr();
    assert!(said.contains("SIGTERM: taking nothing new"), "{said}");
    assert!(said.contains("everything taken was finished and acknowledged"), "{said}");
}
