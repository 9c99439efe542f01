//! What a newcomer needs to know: where everything is, and what to do with it.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::marketplaces::Marketplaces;
use crate::dev::Servers;

/// Where everything is but the HTTP port, which is known last.
pub(super) struct Greeting {
    postgres: String,
    nats: String,
    dir: PathBuf,
    marketplaces: Option<(String, String)>,
}

impl Greeting {
    /// Of these servers, and these marketplaces if there are any.
    pub(super) fn of(servers: &Servers, dir: &Path, marketplaces: Option<&Marketplaces>) -> Self {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let marketplaces = marketplaces.map(|there| (there.page(), there.names()));
        Self { postgres: servers.postgres.url(), nats: servers.nats.url(), dir, marketplaces }
    }

    /// Writes a file for a shell to read, after which other commands find all of it.
    pub(super) fn write_env(&self, of_marketplaces: Vec<(String, String)>) -> Result<()> {
        let servers = [("DATABASE_URL", &self.postgres), ("NATS_URL", &self.nats)]
            .map(|(name, url)| (name.to_owned(), url.clone()));
        let mut text = String::new();
        for (name, value) in servers.into_iter().chain(of_marketplaces) {
            writeln!(text, "export {name}={}", quoted(&value)).expect("a string takes all");
        }
        let path = self.env();
        fs::write(&path, text).with_context(|| path.display().to_string())
    }

    fn env(&self) -> PathBuf {
        self.dir.join("env")
    }

    pub(super) fn print(&self, http: SocketAddr) {
        let Self { postgres, nats, dir, marketplaces } = self;
        println!(
            "\n  PostgreSQL  {postgres}\n  NATS        {nats}\n  HTTP        http://{http}\n  Data        {}",
            dir.display()
        );
        if let Some((page, names)) = marketplaces {
            println!("  Simulated   {page} ({names}, which are not there: their channels speak to this)");
        }
        println!(
            r#"
To try from another terminal, after this, which tells it where everything is:

     . {env}

  1. One coffee grinder on the shelf, one order for it, and the answer (with the `nats` tool, github.com/nats-io/natscli)
     nats -s {nats} pub inventory.counted.main '{{"event_id":"c1","lines":[{{"sku":"COFFEE-GRINDER","on_hand":1}}]}}'
     nats -s {nats} pub order.created.web '{{"event_id":"o1","order_ref":"1001","lines":[{{"sku":"COFFEE-GRINDER","qty":1}}]}}'
     nats -s {nats} stream view RESERVATIONS

  2. What the tables say
     psql {postgres} -c 'TABLE stock' -c 'TABLE reservation' -c 'TABLE dead_letter'

  3. Whether it is well, and what it counts
     curl http://{http}/readyz http://{http}/metrics
"#,
            env = quoted(&self.env().display().to_string()),
        );
        if let Some((page, _)) = marketplaces {
            print_marketplaces(page);
        }
        println!("Ctrl-C ends it all; the data stays.\n");
    }
}

fn print_marketplaces(page: &str) {
    println!(
        r"  4. The grinder on a marketplace: what it should show, what it was told, and what it shows
     printf 'warehouse,channel,external_warehouse_id,priority,safety_stock\nmain,ozon,1001,,\n' | lastunit import warehouses /dev/stdin
     printf 'sku,channel,external_id\nCOFFEE-GRINDER,ozon,GRINDER\n' | lastunit import mappings /dev/stdin
     lastunit publisher status
     lastunit explain --point COFFEE-GRINDER ozon main
     curl {page}
     and a hand in Ozon's cabinet, which is found and set right within half a minute
     curl -X POST '{page}hand?kind=ozon&warehouse=1001&item=GRINDER&qty=3'
"
    );
}

/// One word to a shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
