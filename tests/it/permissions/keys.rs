//! A broker on the accounts of `ops/nats`, and keys that were minted for one test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lastunit::dev::NatsOptions;
use nkeys::KeyPair;

use crate::support::{Ground, Launch};

/// The users of `ops/nats/accounts.conf`, each with a fresh key.
pub struct Keys(BTreeMap<String, KeyPair>);

impl Keys {
    /// For every user that the file names.
    pub fn mint() -> Self {
        let accounts = fs::read_to_string(ops_nats().join("accounts.conf")).unwrap();
        let names = accounts.lines().filter_map(|line| line.trim().strip_prefix("nkey: $NKEY_"));
        Self(names.map(|name| (name.to_lowercase(), KeyPair::new_user())).collect())
    }

    /// A user's seed.
    pub fn seed(&self, user: &str) -> String {
        self.0[user].seed().unwrap()
    }

    /// A user's public key.
    pub fn public(&self, user: &str) -> String {
        self.0[user].public_key()
    }

    /// Ground whose broker knows these users and nobody else. `config` are further lines for it.
    pub async fn ground(&self, config: &str) -> Ground {
        let options = NatsOptions { config: format!("include \"accounts.conf\"\n{config}"), guarded: true, port: None };
        Ground::with_nats(options, |dir| self.install(dir)).await
    }

    /// The program as one of these users.
    pub fn launch(&self, ground: &Ground, user: &str, inbox: &str) -> Launch {
        let seed = ground.dir().join(format!("{user}.nk"));
        fs::write(&seed, self.seed(user) + "\n").unwrap();
        Launch::new(ground)
            .env("LASTUNIT_NATS__NKEY_SEED_FILE", seed.display().to_string())
            .env("LASTUNIT_NATS__INBOX_PREFIX", inbox)
    }

    fn install(&self, dir: &Path) {
        fs::copy(ops_nats().join("accounts.conf"), dir.join("accounts.conf")).unwrap();
        let line =
            |(name, key): (&String, &KeyPair)| format!("NKEY_{}: \"{}\"\n", name.to_uppercase(), key.public_key());
        fs::write(dir.join("keys.conf"), self.0.iter().map(line).collect::<String>()).unwrap();
    }
}

fn ops_nats() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/ops/nats"))
}
