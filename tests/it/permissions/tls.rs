//! The broker behind TLS.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::keys::Keys;
use crate::support::{Ground, Launch};

/// An authority of the test's own. Writes its certificate, and what it vouches for the broker with, into `dir`.
fn certify(dir: &Path) {
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(dir.join("ca.pem"), authority.self_signed(&key).unwrap().pem()).unwrap();
    let authority = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    fs::write(dir.join("cert.pem"), server.pem()).unwrap();
    fs::write(dir.join("key.pem"), key.serialize_pem()).unwrap();
}

fn trusting(launch: &Launch, dir: &Path) -> Launch {
    launch.clone().env("LASTUNIT_NATS__CA_FILE", dir.join("ca.pem").display().to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_speaks_tls_with_whom_its_authority_vouches_for_and_with_nobody_else() {
    let keys = Keys::mint();
    let [ours, others] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    certify(ours.path());
    certify(others.path());
    let dir = ours.path().display();
    let ground = keys.ground(&format!("tls {{ cert_file: \"{dir}/cert.pem\", key_file: \"{dir}/key.pem\" }}")).await;
    let launch = keys.launch(&ground, "service_applying", "_INBOX.service");

    let mut program = trusting(&launch, ours.path()).ready(&["run"]).await;
    assert_eq!(program.terminate().await, Some(0));
    let same = trusting(&launch, ours.path()).env("NATS_URL", ground.nats.url().replace("nats://", "tls://"));
    assert_eq!(same.run(&["streams", "diff"]).await.code, Some(0));

    for untrusting in [trusting(&launch, others.path()), launch] {
        let ended = untrusting.run(&["streams", "diff"]).await;
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.stderr.contains("NATS cannot be reached"), "{ended:?}");
    }
}

#[tokio::test]
async fn who_names_an_authority_says_nothing_in_the_clear() {
    let dir = tempfile::tempdir().unwrap();
    certify(dir.path());
    let ground = Ground::new().await;
    let ended = trusting(&Launch::new(&ground), dir.path()).run(&["streams", "diff"]).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
}
