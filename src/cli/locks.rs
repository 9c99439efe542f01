//! `lastunit locks`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::print::List;
use super::{Exit, Stop, database};
use crate::config::Settings;
use crate::store::locks::{self, Session, Wait};

/// Say who holds or waits for which stock row, and for how long. A row that is locked and that nobody waits for cannot be told from any other; of a
/// session that has such rows it is only said that it has some.
#[derive(Debug, Args)]
pub struct Locks {
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

pub async fn run(command: &Locks, settings: &Settings) -> Result<Exit, Stop> {
    let pool = database::open(&settings.database).await?;
    let mut connection = pool.acquire().await.map_err(|error| database::stop(error.into()))?;
    let waits = locks::waits(&mut connection).await.map_err(database::stop)?;
    let pids: BTreeSet<i32> = waits.iter().flat_map(|wait| [wait.waiter, wait.behind]).collect();
    let pids: Vec<i32> = pids.into_iter().collect();
    let sessions = locks::sessions(&mut connection, &pids).await.map_err(database::stop)?;

    let rows = rows(&waits);
    let mut out = List::begin(command.json);
    for row in &rows {
        out.add_lines(&row.document(&sessions), || row.says(&sessions))?;
    }
    for session in sessions.iter().filter(|session| session.has_rows && !pids.contains(&session.pid)) {
        out.add_lines(&unseen_document(session), || unseen(session))?;
    }
    out.end(Some("nobody waits for a stock row, and no transaction has any"))?;
    Ok(Exit::Fine)
}

/// A row that is waited for.
struct Row {
    /// SKU and warehouse.
    name: Option<(String, String)>,
    /// Who waits, for how long, and behind whom.
    waiters: BTreeMap<i32, (Option<f64>, BTreeSet<i32>)>,
}

fn rows(waits: &[Wait]) -> Vec<Row> {
    let mut rows: BTreeMap<Option<(String, String)>, Row> = BTreeMap::new();
    for wait in waits {
        let name = wait.sku.clone().zip(wait.warehouse.clone());
        let row = rows.entry(name.clone()).or_insert_with(|| Row { name, waiters: BTreeMap::new() });
        let waiter = row.waiters.entry(wait.waiter).or_insert_with(|| (wait.waits_s, BTreeSet::new()));
        waiter.1.insert(wait.behind);
    }
    rows.into_values().collect()
}

impl Row {
    /// Who is waited for and does not wait for the row.
    fn holders(&self) -> BTreeSet<i32> {
        let behind = self.waiters.values().flat_map(|(_, behind)| behind.iter().copied());
        behind.filter(|pid| !self.waiters.contains_key(pid)).collect()
    }

    fn says(&self, sessions: &[Session]) -> String {
        let mut says = match &self.name {
            Some((sku, warehouse)) => format!("{sku} in {warehouse}:"),
            None => "a row that was changed while this was looked at:".to_owned(),
        };
        for pid in self.holders() {
            write!(says, "\n  has it: {}", described(pid, sessions)).expect("a string takes all");
        }
        for (pid, (waits_s, behind)) in &self.waiters {
            let waited = seconds(*waits_s);
            let behind: Vec<String> = behind.iter().map(ToString::to_string).collect();
            write!(says, "\n  has waited {waited} behind {}: {}", behind.join(", "), described(*pid, sessions))
                .expect("a string takes all");
        }
        says
    }

    fn document(&self, sessions: &[Session]) -> Value {
        let (sku, warehouse) = self.name.clone().unzip();
        let id =
            self.name.as_ref().map_or_else(|| "changed".to_owned(), |(sku, warehouse)| format!("{warehouse} {sku}"));
        let waiter = |(pid, (waits_s, behind)): (&i32, &(Option<f64>, BTreeSet<i32>))| json!({ "waits_s": waits_s, "behind": behind, "session": session_document(*pid, sessions) });
        json!({
            "id": id, "sku": sku, "warehouse": warehouse,
            "holders": self.holders().iter().map(|pid| session_document(*pid, sessions)).collect::<Vec<_>>(),
            "waiters": self.waiters.iter().map(waiter).collect::<Vec<_>>(),
        })
    }
}

fn seconds(span: Option<f64>) -> String {
    format!("{:.1} s", span.unwrap_or_default())
}

fn described(pid: i32, sessions: &[Session]) -> String {
    let Some(session) = sessions.iter().find(|session| session.pid == pid) else {
        return format!("pid {pid}, which has ended");
    };
    let Session { application, who, address, state, query, .. } = session;
    let open = seconds(session.transaction_s);
    format!(
        "pid {pid}, {application} as {who} from {address}, {state}, its transaction open for {open}: {}",
        first_line(query)
    )
}

fn first_line(query: &str) -> &str {
    query.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("--")).unwrap_or_default()
}

fn session_document(pid: i32, sessions: &[Session]) -> Value {
    let Some(session) = sessions.iter().find(|session| session.pid == pid) else {
        return json!({ "pid": pid });
    };
    json!({
        "pid": pid, "application": session.application, "user": session.who, "address": session.address, "state": session.state,
        "transaction_s": session.transaction_s, "query": session.query,
    })
}

fn unseen(session: &Session) -> String {
    let described = described(session.pid, std::slice::from_ref(session));
    format!("rows that nobody waits for, which cannot be seen:\n  has some: {described}")
}

fn unseen_document(session: &Session) -> Value {
    json!({
        "id": format!("pid {}", session.pid), "sku": null, "warehouse": null,
        "holders": [session_document(session.pid, std::slice::from_ref(session))], "waiters": [],
    })
}
