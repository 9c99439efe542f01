//! `lastunit dev`: everything in one process and two children, and nothing of it left behind but the data.

use std::path::Path;
use std::time::Duration;

use async_nats::jetstream;
use lastunit::dev::Relative;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Ground, Launch, Program, binaries, wait_until};

const SOON: Duration = Duration::from_secs(20);

/// With the servers under test, on its default directory or another.
async fn launch(ground: &Ground) -> Launch {
    let binaries = binaries().await;
    Launch::new(ground)
        .env("LASTUNIT_DEV__POSTGRES_BIN", binaries.postgres.to_str().unwrap())
        .env("LASTUNIT_DEV__NATS_SERVER", binaries.nats_server.to_str().unwrap())
}

/// What the greeting says of a name.
fn address(program: &Program, name: &str) -> String {
    let stdout = program.stdout();
    let line =
        stdout.lines().find_map(|line| line.trim_start().strip_prefix(name)).unwrap_or_else(|| panic!("{stdout}"));
    line.trim().to_owned()
}

async fn number(program: &Program, sql: &'static str) -> Option<i64> {
    let mut connection = PgConnection::connect(&address(program, "PostgreSQL")).await.unwrap();
    sqlx::query_scalar(sql).fetch_optional(&mut connection).await.unwrap()
}

async fn count_one(program: &Program, sku: &str) {
    let js = jetstream::new(async_nats::connect(address(program, "NATS")).await.unwrap());
    let body = json!({ "event_id": format!("count-{sku}"), "lines": [{ "sku": sku, "on_hand": 1 }] });
    js.publish("inventory.counted.main", body.to_string().into()).await.unwrap().await.unwrap();
}

async fn counted(program: &Program, units: i64) {
    wait_until(&format!("{units} units"), SOON, async || {
        number(program, "SELECT sum(on_hand)::bigint FROM stock HAVING count(*) > 0").await == Some(units)
    })
    .await;
}

fn family(program: &Program) -> Vec<Relative> {
    let children = program.children();
    assert_eq!(children.len(), 2, "{children:?}");
    children
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_needs_nothing_and_keeps_its_data() {
    let ground = Ground::new().await;
    let (launch, dir) = (launch(&ground).await, ground.dir().join("dev"));
    let args = ["dev", "--dir", dir.to_str().unwrap()];
    let mut first = launch.ready(&args).await;
    assert_eq!(first.stdout().lines().last(), Some(&*format!("lastunit ready {}", address(&first, "HTTP"))));
    assert!(first.stdout().contains(&format!("psql {}", address(&first, "PostgreSQL"))));
    count_one(&first, "A").await;
    counted(&first, 1).await;

    let second = launch.run(&args).await;
    assert_eq!((second.code, second.stdout.as_str()), (Some(2), ""), "{second:?}");
    assert!(second.stderr.contains("another `lastunit dev` runs in"), "{second:?}");

    let children = family(&first);
    assert_eq!(first.terminate().await, Some(0), "{}", first.stderr());
    assert!(!children.iter().any(Relative::lives));
    assert!(first.stderr().contains("everything taken was finished"), "{}", first.stderr());

    let mut again = launch.ready(&args).await;
    counted(&again, 1).await;
    count_one(&again, "B").await;
    counted(&again, 2).await;
    let js = jetstream::new(async_nats::connect(address(&again, "NATS")).await.unwrap());
    assert_eq!(js.get_stream("INVENTORY").await.unwrap().cached_info().state.messages, 2);
    assert_eq!(again.terminate().await, Some(0));
}

/// What the simulated marketplaces show, as they say it to people.
async fn page(program: &Program) -> Value {
    let line = address(program, "Simulated");
    let url = line.split(' ').next().unwrap();
    let host = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(format!("GET / HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// The variables that the file sets which the greeting names.
fn told(dir: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(dir.join("env")).unwrap();
    let variable = |line: &str| {
        let (name, value) = line.strip_prefix("export ").unwrap().split_once('=').unwrap();
        (name.to_owned(), value.trim_matches('\'').to_owned())
    };
    text.lines().map(variable).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_has_marketplaces_that_other_commands_speak_to_and_keeps_what_they_show() {
    let ground = Ground::new().await;
    let (launch, dir) = (launch(&ground).await, ground.dir().join("dev"));
    let args = ["dev", "--dir", dir.to_str().unwrap()];
    let mut first = launch.ready(&args).await;
    assert!(first.stdout().contains(&format!(". '{}/env'", dir.display())), "{}", first.stdout());
    let other = told(&dir).into_iter().fold(launch.clone(), |other, (name, value)| other.env(&name, value));
    let maps = [
        (
            "warehouses",
            "warehouse,channel,external_warehouse_id,priority,safety_stock\nmain,ozon,1001,,\nmain,wildberries,2001,,\n",
        ),
        ("mappings", "sku,channel,external_id\nA,ozon,a\nA,wildberries,31\n"),
    ];
    for (what, rows) in maps {
        let file = dir.join(what);
        std::fs::write(&file, rows).unwrap();
        let taken = other.run(&["import", what, file.to_str().unwrap()]).await;
        assert_eq!(taken.code, Some(0), "{taken:?}");
    }
    count_one(&first, "A").await;
    let shown = json!({ "ozon": { "1001": { "a": 1 } }, "wildberries": { "2001": { "31": 1 } } });
    wait_until("the marketplaces to show it", SOON, async || page(&first).await["shown"] == shown).await;
    for channel in ["ozon", "wildberries"] {
        let checked = other.run(&["publisher", "check", channel]).await;
        assert_eq!(checked.code, Some(0), "{checked:?}");
        assert!(checked.stdout.contains("1 items, 1 warehouses, 0 findings"), "{checked:?}");
    }
    assert_eq!(first.terminate().await, Some(0), "{}", first.stderr());

    let mut again = launch.ready(&args).await;
    assert_eq!(page(&again).await["shown"], shown);
    assert_eq!(again.terminate().await, Some(0));
    let mut alone = launch.ready(&["dev", "--dir", dir.to_str().unwrap(), "--no-marketplaces"]).await;
    assert!(!alone.stdout().contains("Simulated"), "{}", alone.stdout());
    assert!(told(&dir).iter().all(|(name, _)| !name.starts_with("LASTUNIT_CHANNELS__")));
    assert_eq!(alone.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_leaves_nothing_when_it_is_killed_and_starts_again() {
    if !binaries().await.leash.holds() {
        return;
    }
    let ground = Ground::new().await;
    let (launch, dir) = (launch(&ground).await, ground.dir().join("dev"));
    let args = ["dev", "--dir", dir.to_str().unwrap()];
    let mut killed = launch.ready(&args).await;
    count_one(&killed, "A").await;
    counted(&killed, 1).await;
    let children = family(&killed);
    killed.kill().await;
    wait_until("its servers to end", SOON, async || !children.iter().any(Relative::lives)).await;

    let mut again = launch.ready(&args).await;
    counted(&again, 1).await;
    assert_eq!(again.terminate().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_is_ended_while_it_still_starts() {
    let ground = Ground::new().await;
    let mut early = launch(&ground).await.start(&["dev"]).await;
    wait_until("a server to be started", SOON, async || !early.children().is_empty()).await;
    let children = early.children();
    assert_eq!(early.terminate().await, Some(0), "{}", early.stderr());
    assert!(!children.iter().any(Relative::lives));
    assert_eq!(early.stdout(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_says_which_servers_it_lacks() {
    let ground = Ground::new().await;
    let ended = launch(&ground).await.run(&["dev", "--nats-server", "/nowhere/nats-server"]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("/nowhere/nats-server is no working nats-server"), "{ended:?}");
}
