//! `ops/postgres/roles.sql`: what PostgreSQL allows each role.

use std::fs;
use std::path::Path;
use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::table::{Answer, Attempt, conclude};
use crate::support::{Ground, Launch};

use Answer::{Allowed, Refused};

/// `insufficient_privilege`: not what a read-only transaction says.
const NO_PRIVILEGE: &str = "42501";

/// Runs the script, twice, as it may be run at any time.
pub async fn set_up(ground: &Ground) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("ops/postgres/roles.sql");
    let script = fs::read_to_string(script).unwrap();
    let mut admin = PgConnection::connect(&ground.database_url).await.unwrap();
    // The roles are the server's, which other tests share; such a lock is of one database, so it is taken in one that all see.
    let shared = PgConnectOptions::from_str(&ground.database_url).unwrap().database("postgres");
    let mut turn = PgConnection::connect_with(&shared).await.unwrap();
    sqlx::raw_sql("SELECT pg_advisory_lock(1)").execute(&mut turn).await.unwrap();
    for _ in 0..2 {
        sqlx::raw_sql(AssertSqlSafe(script.clone())).execute(&mut admin).await.unwrap();
    }
}

/// The test's database as another role.
pub fn url(ground: &Ground, role: &str) -> String {
    ground.database_url.replacen("://lastunit@", &format!("://{role}@"), 1)
}

const TRIES: &[(&str, &str, Answer)] = &[
    ("lastunit_owner", "CREATE TABLE another ()", Allowed),
    ("lastunit_owner", "ALTER TABLE stock ADD COLUMN note text", Allowed),
    ("lastunit_owner", "CREATE EXTENSION btree_gin", Allowed),
    ("lastunit_owner", "CREATE ROLE another", Refused),
    ("lastunit_runtime", "SELECT count(*) FROM stock", Allowed),
    ("lastunit_runtime", "INSERT INTO later (n) VALUES (1)", Allowed),
    ("lastunit_runtime", "UPDATE later SET n = 2", Allowed),
    ("lastunit_runtime", "DELETE FROM later", Allowed),
    ("lastunit_runtime", "TRUNCATE later", Allowed),
    ("lastunit_runtime", "SELECT nextval('later_id_seq')", Allowed),
    ("lastunit_runtime", "SELECT pg_try_advisory_xact_lock(1, 2)", Allowed),
    ("lastunit_runtime", "CREATE TABLE another ()", Refused),
    ("lastunit_runtime", "CREATE TEMPORARY TABLE another ()", Refused),
    ("lastunit_runtime", "CREATE SCHEMA another", Refused),
    ("lastunit_runtime", "CREATE EXTENSION btree_gin", Refused),
    ("lastunit_runtime", "ALTER TABLE stock ADD COLUMN note text", Refused),
    ("lastunit_runtime", "ALTER TABLE stock DISABLE TRIGGER ALL", Refused),
    ("lastunit_runtime", "CREATE INDEX ON stock (on_hand)", Refused),
    ("lastunit_runtime", "DROP TABLE stock", Refused),
    ("lastunit_runtime", "COPY stock TO PROGRAM 'cat'", Refused),
    ("lastunit_runtime", "SELECT rolpassword FROM pg_authid", Refused),
    ("lastunit_reader", "SELECT count(*) FROM stock", Allowed),
    ("lastunit_reader", "SELECT count(*) FROM later", Allowed),
    ("lastunit_reader", "INSERT INTO later (n) VALUES (1)", Refused),
    ("lastunit_reader", "UPDATE stock SET on_hand = 1", Refused),
    ("lastunit_reader", "DELETE FROM sales_order", Refused),
    ("lastunit_reader", "TRUNCATE processed_event", Refused),
    ("lastunit_reader", "SELECT nextval('later_id_seq')", Refused),
    ("lastunit_reader", "CREATE TABLE another ()", Refused),
    ("lastunit_reader", "CREATE TEMPORARY TABLE another ()", Refused),
];

#[tokio::test]
async fn postgresql_allows_each_role_its_own_and_refuses_the_rest() {
    let ground = Ground::new().await;
    set_up(&ground).await;
    let owner = url(&ground, "lastunit_owner");
    let migrated = Launch::new(&ground).env("DATABASE_URL", owner.as_str()).run(&["migrate"]).await;
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    // What a later migration makes.
    let mut connection = PgConnection::connect(&owner).await.unwrap();
    let later = "CREATE TABLE later (id bigserial, n bigint)";
    sqlx::raw_sql(later).execute(&mut connection).await.unwrap();

    let mut attempts = Vec::new();
    for &(role, statement, expected) in TRIES {
        let answer = attempt(&url(&ground, role), statement).await;
        let role =
            ["lastunit_owner", "lastunit_runtime", "lastunit_reader"].into_iter().find(|one| *one == role).unwrap();
        attempts.push(Attempt { role, tried: format!("`{statement}`"), expected, answer });
    }
    conclude(&attempts);
}

/// Tries a statement, and leaves nothing of it.
async fn attempt(url: &str, statement: &'static str) -> Answer {
    let mut connection = PgConnection::connect(url).await.unwrap();
    // The habit of the reader's sessions is only a habit: anybody may begin otherwise.
    let mut transaction = connection.begin_with("BEGIN READ WRITE").await.unwrap();
    let tried = sqlx::raw_sql(statement).execute(&mut *transaction).await;
    transaction.rollback().await.unwrap();
    match tried {
        Ok(_) => Allowed,
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(NO_PRIVILEGE) => Refused,
        Err(error) => panic!("{statement}: {error}"),
    }
}

#[tokio::test]
async fn who_has_no_role_does_not_get_in() {
    let ground = Ground::new().await;
    set_up(&ground).await;
    let stranger = format!("stranger_{:016x}", fastrand::u64(..));
    let mut admin = PgConnection::connect(&ground.database_url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE ROLE {stranger} LOGIN"))).execute(&mut admin).await.unwrap();
    let error = PgConnection::connect(&url(&ground, &stranger)).await.unwrap_err();
    let code = error.as_database_error().and_then(|error| error.code().map(std::borrow::Cow::into_owned));
    assert_eq!(code.as_deref(), Some(NO_PRIVILEGE), "{error}");
    // And a reader's slip is refused before any privilege is asked.
    let mut reader = PgConnection::connect(&url(&ground, "lastunit_reader")).await.unwrap();
    let habit: String = sqlx::query_scalar("SHOW transaction_read_only").fetch_one(&mut reader).await.unwrap();
    assert_eq!(habit, "on");
}
