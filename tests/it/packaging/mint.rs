//! `ops/mint`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use nkeys::KeyPair;

use super::shipped;

/// Secrets as `ops/mint` makes them, once for all tests here.
pub fn minted() -> &'static Path {
    static MINTED: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, dir) = MINTED.get_or_init(|| {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("secrets");
        let made = Command::new(shipped("ops/mint")).arg(&dir).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        (scratch, dir)
    });
    dir
}

#[test]
fn every_user_gets_a_key_whose_public_half_the_broker_is_told() {
    let keys = fs::read_to_string(minted().join("keys.conf")).unwrap();
    let accounts = fs::read_to_string(shipped("ops/nats/accounts.conf")).unwrap();
    let users: Vec<_> = accounts.lines().filter_map(|line| line.trim().strip_prefix("nkey: $NKEY_")).collect();
    assert_eq!(users.len(), 8);
    for user in &users {
        let seed = fs::read_to_string(minted().join(user.to_lowercase() + ".nk")).unwrap();
        let public = KeyPair::from_seed(seed.trim()).unwrap().public_key();
        assert!(public.starts_with('U'), "{public}");
        assert!(keys.contains(&format!("NKEY_{user}: \"{public}\"\n")), "{user}");
    }
    assert_eq!(keys.lines().count(), users.len());
    assert!(!keys.contains("\"SU"));
    let example = fs::read_to_string(shipped("ops/nats/keys.conf.example")).unwrap();
    assert!(users.iter().all(|user| example.contains(&format!("NKEY_{user}: "))));
}

#[test]
fn secrets_are_kept_from_everybody_else_and_never_made_twice() {
    let mode = fs::metadata(minted()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let again = Command::new(shipped("ops/mint")).arg(minted()).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
}
