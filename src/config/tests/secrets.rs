//! Secrets are read, and shown nowhere.

use super::*;

#[test]
fn secrets_are_read_and_never_shown() {
    let dir = TempDir::new().unwrap();
    let token = write(&dir, "token", "hush-http\n");
    let hook = write(&dir, "hook", "whsec_aHVzaC1ob29r\n");
    let file = format!(
        "[database]\nurl = 'postgres://u:hush-db@h/x'\n[nats]\nurl = 'nats://u:hush-nats@h'\n[http]\ntoken_file = {token:?}\n\
         [payments.stripe]\nwebhook_secret_file = {hook:?}\n[channels.wb]\nkind = 'wildberries'\n"
    );
    let variables = [
        ("LASTUNIT_CHANNELS__WB__TOKEN", "hush-wb"),
        ("LASTUNIT_PAYMENTS__PAY__WEBHOOK_SECRET", "aHVzaC1wYXk="),
        ("LASTUNIT_NATS__CREDS", "hush-creds"),
    ];
    let settings = load(&file, &variables).unwrap();
    let secret = |secret: &Option<secrecy::SecretString>| secret.as_ref().unwrap().expose_secret().to_owned();
    assert_eq!(secret(&settings.http.token), "hush-http");
    assert_eq!(secret(&settings.nats.creds), "hush-creds");
    assert_eq!(secret(&settings.channels["wb"].token), "hush-wb");
    assert_eq!(secret(&settings.payments.providers["stripe"].webhook_secret), "whsec_aHVzaC1ob29r");
    assert_eq!(secret(&settings.payments.providers["pay"].webhook_secret), "aHVzaC1wYXk=");

    let shown =
        [format!("{settings:?}"), toml::to_string(&settings).unwrap(), serde_json::to_string(&settings).unwrap()];
    for shown in shown {
        assert!(!shown.contains("hush") && !shown.contains("aHVzaC1"), "{shown}");
    }
    let text = toml::to_string(&settings).unwrap();
    assert!(text.contains("[payments.stripe]\n"), "{text}");
    assert!(text.contains("token = \"***\""), "{text}");
    assert!(text.contains("url = \"postgres://u:***@h/x\""), "{text}");
    assert!(text.contains("url = \"nats://u:***@h\""), "{text}");

    // Without the masks it is a file again.
    let is_plain = |line: &&str| !line.contains("***");
    let again: Vec<_> = text.lines().filter(is_plain).collect();
    load(&again.join("\n"), &[]).unwrap();
}

#[test]
fn secrets_that_are_no_secrets_are_told_without_their_text() {
    let variables = [
        ("LASTUNIT_HTTP__TOKEN", "hush hush"),
        ("LASTUNIT_NATS__TOKEN", " "),
        ("LASTUNIT_PAYMENTS__P__WEBHOOK_SECRET", "hush!"),
        ("LASTUNIT_CHANNELS__C__TOKEN", "hush"),
    ];
    assert_eq!(
        problems("", &variables),
        [
            "nats.token: the secret is empty",
            "channels.c.kind: is missing",
            "payments.p.webhook_secret: is not base64, with or without whsec_ before it, one secret a line",
            "http.token: holds more than visible ASCII characters",
        ]
    );
}

#[test]
fn passwords_and_seeds_are_read_from_files_and_never_shown() {
    let dir = TempDir::new().unwrap();
    let seed = nkeys::KeyPair::new_user().seed().unwrap();
    let (password, nkey) = (write(&dir, "password", "hush-db\n"), write(&dir, "nkey", &format!("{seed}\n")));
    let file = format!("[database]\npassword_file = {password:?}\n[nats]\nnkey_seed_file = {nkey:?}\n");
    let settings = load(&file, &[]).unwrap();
    assert_eq!(settings.database.password.as_ref().unwrap().expose_secret(), "hush-db");
    assert_eq!(settings.nats.nkey_seed.as_ref().unwrap().expose_secret(), seed);
    for shown in [format!("{settings:?}"), toml::to_string(&settings).unwrap()] {
        assert!(!shown.contains("hush") && !shown.contains(&seed), "{shown}");
    }
    let variables = [("LASTUNIT_DATABASE__PASSWORD", "hush"), ("LASTUNIT_NATS__NKEY_SEED", seed.as_str())];
    assert_eq!(load("", &variables).unwrap().database.password.unwrap().expose_secret(), "hush");
}
