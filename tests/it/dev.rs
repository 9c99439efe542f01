//! The private servers: up, down, up again, and nothing left behind.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use async_nats::jetstream;
use lastunit::dev::{Binaries, NatsOptions, PostgresOptions, PrivatePostgres, Process, Relative, Scratch, Servers};
use nix::sys::signal::Signal;
use sqlx::{Connection, PgConnection};

use crate::support::{Ground, Launch, binaries, wait_until};

const SOON: Duration = Duration::from_secs(20);

async fn ask(url: &str, sql: &'static str) -> sqlx::Result<i64> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query_scalar(sql).fetch_one(&mut connection).await
}

async fn tell(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
}

async fn stream_of(url: &str, name: &str, max_bytes: i64) -> jetstream::stream::Stream {
    let context = jetstream::new(async_nats::connect(url).await.unwrap());
    context
        .get_or_create_stream(jetstream::stream::Config { name: name.into(), max_bytes, ..Default::default() })
        .await
        .unwrap()
}

async fn publish(url: &str, subject: &'static str) {
    let context = jetstream::new(async_nats::connect(url).await.unwrap());
    let ack = context.publish(subject, "1".into()).await.unwrap();
    ack.await.unwrap();
}

#[tokio::test]
async fn every_test_has_a_database_and_a_broker_of_its_own() {
    let (one, other) = tokio::join!(Ground::new(), Ground::new());
    tell(&one.database_url, "CREATE TABLE mine ()").await;
    let mine = "SELECT count(*) FROM pg_tables WHERE tablename = 'mine'";
    assert_eq!(ask(&one.database_url, mine).await.unwrap(), 1);
    assert_eq!(ask(&other.database_url, mine).await.unwrap(), 0);
    assert_ne!(one.nats.url(), other.nats.url());
}

#[tokio::test]
async fn a_database_is_copied_from_a_template() {
    let mut ground = Ground::own().await;
    tell(&ground.database_url, "CREATE TABLE t AS SELECT 7::bigint n").await;
    let copy = ground.postgres().create_database("a \"copy\"", Some("lastunit")).await;
    assert!(copy.is_ok(), "{copy:?}");
    let mut options: sqlx::postgres::PgConnectOptions = ground.database_url.parse().unwrap();
    options = options.database("a \"copy\"");
    let mut connection = PgConnection::connect_with(&options).await.unwrap();
    let n: i64 = sqlx::query_scalar("SELECT n FROM t").fetch_one(&mut connection).await.unwrap();
    assert_eq!(n, 7);
}

#[tokio::test]
async fn postgres_has_what_the_schema_needs() {
    let ground = Ground::new().await;
    tell(&ground.database_url, "CREATE EXTENSION btree_gist").await;
    let settings = "SELECT count(*) FROM pg_settings WHERE (name, setting) IN (('fsync', 'on'), ('lc_collate', 'C'), \
         ('max_connections', '100'), ('server_encoding', 'UTF8'), ('log_lock_waits', 'on'))";
    let bytewise = "SELECT ('B' < 'a')::int::bigint";
    assert!(ask(&ground.database_url, settings).await.unwrap() >= 4);
    assert_eq!(ask(&ground.database_url, bytewise).await.unwrap(), 1);
}

#[tokio::test]
async fn sixteen_gib_of_streams_fit() {
    let ground = Ground::new().await;
    for name in ["A", "B", "C", "D"] {
        let stream = stream_of(&ground.nats.url(), name, 4 << 30).await;
        assert_eq!(stream.cached_info().config.max_bytes, 4 << 30);
    }
}

#[tokio::test]
async fn postgres_comes_back_after_every_end() {
    let mut ground = Ground::own().await;
    let url = ground.database_url.clone();
    tell(&url, "CREATE TABLE t (n bigint); INSERT INTO t VALUES (1)").await;
    // A backend at work does not notice that its postmaster has gone.
    let mut busy = PgConnection::connect(&url).await.unwrap();
    let work = "DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$";
    let working = tokio::spawn(async move { sqlx::raw_sql(work).execute(&mut busy).await.is_err() });
    wait_until("the backend to be at work", SOON, async || {
        let at_work = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO %' AND state = 'active'";
        ask(&url, at_work).await.unwrap() == 1
    })
    .await;

    let postgres = ground.postgres();
    let pid = postgres.pid();
    postgres.kill().await.unwrap();
    assert!(working.await.unwrap());
    assert!(ask(&url, "SELECT n FROM t").await.is_err());
    postgres.restart().await.unwrap();
    assert_ne!(postgres.pid(), pid);
    assert_eq!(ask(&url, "SELECT n FROM t").await.unwrap(), 1);

    postgres.stop_immediate().await.unwrap();
    assert_eq!(postgres.pid(), None);
    postgres.restart().await.unwrap();
    assert_eq!(ask(&url, "SELECT n FROM t").await.unwrap(), 1);

    postgres.stop_fast().await.unwrap();
    postgres.restart().await.unwrap();
    postgres.restart().await.unwrap();
    assert_eq!(ask(&url, "SELECT n FROM t").await.unwrap(), 1);
}

#[tokio::test]
async fn nats_comes_back_with_its_store_or_without() {
    let mut ground = Ground::new().await;
    let url = ground.nats.url();
    stream_of(&url, "KEPT", 1 << 20).await;
    publish(&url, "KEPT").await;
    ground.nats.kill().await.unwrap();
    assert!(async_nats::connect(&url).await.is_err());
    ground.nats.restart().await.unwrap();
    let kept = stream_of(&url, "KEPT", 1 << 20).await;
    assert_eq!(kept.cached_info().state.messages, 1);

    ground.nats.wipe_store().unwrap_err();
    ground.nats.stop().await.unwrap();
    ground.nats.wipe_store().unwrap();
    ground.nats.restart().await.unwrap();
    let kept = stream_of(&url, "KEPT", 1 << 20).await;
    assert_eq!(kept.cached_info().state.messages, 0);
}

#[tokio::test]
async fn paused_servers_are_silent_and_go_on() {
    let mut ground = Ground::own().await;
    let (database, broker) = (ground.database_url.clone(), ground.nats.url());
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let client = async_nats::connect(&broker).await.unwrap();
    ground.postgres().pause().unwrap();
    ground.nats.pause().unwrap();
    let moment = Duration::from_millis(100);
    let (answer, round_trip) = tokio::join!(
        tokio::time::timeout(moment, ask(&database, "SELECT 1::bigint")),
        tokio::time::timeout(moment, client.request("$JS.API.INFO", "".into())),
    );
    assert!(answer.is_err() && round_trip.is_err());
    ground.postgres().resume().unwrap();
    ground.nats.resume().unwrap();
    connection.ping().await.unwrap();
    client.request("$JS.API.INFO", "".into()).await.unwrap();
}

#[tokio::test]
async fn nothing_is_left_when_servers_are_dropped() {
    let mut ground = Ground::own().await;
    let mut family = ground.postgres().children();
    assert!(family.len() >= 4, "{family:?}");
    let servers = [ground.postgres().pid(), ground.nats.pid()];
    family.extend(servers.map(|pid| Relative::look(pid.unwrap()).unwrap()));
    let dir = ground.dir().to_path_buf();
    // Not even of those that cannot hear it.
    ground.postgres().pause().unwrap();
    ground.nats.pause().unwrap();
    drop(ground);
    assert!(!family.iter().any(Relative::lives));
    assert!(!dir.exists());
}

/// The child of the test below: holds servers, and tells who they are, until it is killed.
#[tokio::test]
#[ignore = "run by nothing_is_left_when_their_owner_is_killed"]
async fn owner_to_be_killed() {
    let mut ground = Ground::own().await;
    let postgres = ground.postgres();
    let family = postgres.children();
    let pids: Vec<String> = [postgres.pid(), ground.nats.pid()]
        .into_iter()
        .flatten()
        .chain(family.iter().map(Relative::pid))
        .map(|pid| pid.to_string())
        .collect();
    let told = PathBuf::from(env::var_os("TOLD").unwrap());
    ground.postgres().pause().unwrap();
    fs::write(told.with_extension("unfinished"), pids.join(" ")).unwrap();
    fs::rename(told.with_extension("unfinished"), told).unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn nothing_is_left_when_their_owner_is_killed() {
    if !binaries().await.leash.holds() {
        return;
    }
    let scratch = Scratch::new().unwrap();
    let told = scratch.path().join("told");
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "dev::owner_to_be_killed"])
        .env("TOLD", &told)
        .env("TMPDIR", scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut owner = Process::spawn(command, Signal::SIGKILL).unwrap();
    wait_until("the servers of the owner", SOON, async || {
        assert_eq!(owner.ended().unwrap(), None);
        told.exists()
    })
    .await;
    let family: Vec<Relative> =
        fs::read_to_string(&told).unwrap().split(' ').filter_map(|pid| Relative::look(pid.parse().unwrap())).collect();
    assert!(family.len() >= 6, "{family:?}");
    owner.end(Signal::SIGKILL, SOON).await.unwrap();
    wait_until("its servers to end", SOON, async || !family.iter().any(Relative::lives)).await;
}

#[tokio::test]
async fn a_scratch_directory_whose_owner_is_gone_goes() {
    let held = Scratch::new().unwrap();
    let parent = held.path().parent().unwrap();
    let left = parent.join("lastunit-left-by-somebody");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("lock"), "").unwrap();
    wait_until("it to be gone", SOON, async || {
        drop(Scratch::new().unwrap());
        !left.exists()
    })
    .await;
    assert!(held.path().exists());
}

#[tokio::test]
async fn a_taken_port_is_told() {
    let mut ground = Ground::own().await;
    let url: sqlx::postgres::PgConnectOptions = ground.postgres().url().parse().unwrap();
    let taken = PostgresOptions { port: Some(url.get_port()), ..Default::default() };
    let dir = ground.dir().join("another");
    let error = PrivatePostgres::start(binaries().await, &dir, taken).await.unwrap_err();
    assert!(format!("{error:#}").contains("did not start"), "{error:#}");
}

#[tokio::test]
async fn servers_start_again_where_they_were() {
    let scratch = Scratch::new().unwrap();
    let start = async || {
        let (postgres, nats) = (PostgresOptions::default(), NatsOptions::default());
        let since = Instant::now();
        let servers = Servers::start(binaries().await, scratch.path(), postgres, nats).await;
        println!("servers started in {:?}", since.elapsed());
        servers.unwrap()
    };
    let first = start().await;
    tell(&first.postgres.url(), "CREATE TABLE t AS SELECT 5::bigint n").await;
    stream_of(&first.nats.url(), "S", 1 << 20).await;
    publish(&first.nats.url(), "S").await;
    drop(first);
    let second = start().await;
    assert_eq!(ask(&second.postgres.url(), "SELECT n FROM t").await.unwrap(), 5);
    let stream = stream_of(&second.nats.url(), "S", 1 << 20).await;
    assert_eq!(stream.cached_info().state.messages, 1);
}

#[tokio::test]
async fn binaries_are_taken_as_named_and_links_followed() {
    let found = binaries().await;
    let links = tempfile::tempdir().unwrap();
    symlink(found.postgres.join("postgres"), links.path().join("postgres")).unwrap();
    let named = Binaries::find(Some(links.path()), Some(&found.nats_server)).unwrap();
    assert_eq!(named.postgres, found.postgres);
    assert_eq!(named.nats_server, found.nats_server);
    let error = Binaries::find(Some("/nowhere".as_ref()), None).unwrap_err();
    assert!(format!("{error:#}").contains("/nowhere"), "{error:#}");
}

#[tokio::test]
async fn the_program_runs_to_its_end() {
    let ground = Ground::new().await;
    let ended = Launch::new(&ground).run(&["--version"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("lastunit "), "{ended:?}");
    let misused = Launch::new(&ground).run(&["no-such-command"]).await;
    assert_eq!(misused.code, Some(2), "{misused:?}");
    assert!(misused.stdout.is_empty(), "{misused:?}");
}
