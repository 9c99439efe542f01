//! `ops/nats/nats.conf`, judged by nats-server itself.

use std::fs;
use std::process::Command;

use super::mint::minted;
use super::shipped;
use crate::support::binaries;

/// Since when nats-server knows `sync_interval`.
const SYNC_INTERVAL: (u32, u32) = (2, 10);

/// What `nats-server -t` says of the configuration.
async fn judged(edit: impl Fn(&str) -> String) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    let config = fs::read_to_string(shipped("ops/nats/nats.conf")).unwrap();
    let config = config.replace("/run/secrets", &minted().display().to_string());
    fs::write(dir.path().join("nats.conf"), edit(&config)).unwrap();
    fs::copy(shipped("ops/nats/accounts.conf"), dir.path().join("accounts.conf")).unwrap();
    fs::copy(minted().join("keys.conf"), dir.path().join("keys.conf")).unwrap();
    let server = &binaries().await.nats_server;
    let judged = Command::new(server).arg("-c").arg(dir.path().join("nats.conf")).arg("-t").output().unwrap();
    let said = String::from_utf8_lossy(&judged.stderr).into_owned();
    if judged.status.success() { Ok(()) } else { Err(said) }
}

async fn version() -> (u32, u32) {
    let told = Command::new(&binaries().await.nats_server).arg("--version").output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let mut numbers = told.rsplit_once('v').unwrap().1.split('.').map(|number| number.trim().parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[tokio::test]
async fn every_server_takes_it_but_for_the_one_key_that_an_old_one_does_not_know() {
    let as_it_is = judged(str::to_owned).await;
    if version().await >= SYNC_INTERVAL {
        assert_eq!(as_it_is, Ok(()));
    } else {
        assert!(as_it_is.unwrap_err().contains("unknown field \"sync_interval\""));
    }
    assert_eq!(judged(|config| config.replace("  sync_interval: always\n", "")).await, Ok(()));
}

#[tokio::test]
async fn its_cluster_is_one_once_it_has_certificates() {
    let dir = minted().display();
    let tls = format!("cert_file: \"{dir}/nats_cert\", key_file: \"{dir}/nats_key\", ca_file: \"{dir}/nats_ca\"");
    let clustered = |config: &str| {
        let (before, cluster) = config.split_once("# cluster {").unwrap();
        let cluster = format!("# cluster {{{cluster}").replace("\n# ", "\n").replacen("# ", "", 1);
        let cluster = cluster.replace("cert_file: …, key_file: …, ca_file: …", &tls);
        format!("{}\n{cluster}", before.replace("  sync_interval: always\n", ""))
    };
    assert_eq!(judged(clustered).await, Ok(()));
}
